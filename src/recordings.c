#include "recordings.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static gp_recorder *first;

static void lock(void)
{
    (void)pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

static gp_recorder **find_pool_locked(const gp_pool *pool)
{
    gp_recorder **link = &first;
    while (*link != NULL && (*link)->pool != pool)
        link = &(*link)->next;
    return link;
}

static gp_recorder **find_locked(const gp_recorder *recorder)
{
    gp_recorder **link = &first;
    while (*link != NULL && *link != recorder)
        link = &(*link)->next;
    return link;
}

/* Out of a place of the list, if what stands there is attached. */
static gp_recorder *take_locked(gp_recorder **link)
{
    gp_recorder *recorder = *link;
    if (recorder == NULL || !recorder->attached)
        return NULL;
    *link = recorder->next;
    return recorder;
}

bool gp_recordings_enter(gp_recorder *recorder)
{
    lock();
    gp_recorder **link = find_pool_locked(recorder->pool);
    const bool is_new = *link == NULL;
    if (is_new)
        *link = recorder;
    unlock();
    return is_new;
}

void gp_recordings_confirm(gp_recorder *recorder)
{
    lock();
    recorder->attached = true;
    unlock();
}

void gp_recordings_cancel(gp_recorder *recorder)
{
    lock();
    gp_recorder **link = find_locked(recorder);
    if (*link != NULL)
        *link = recorder->next;
    unlock();
}

gp_recorder *gp_recordings_take_of(const gp_pool *pool)
{
    lock();
    gp_recorder *recorder = take_locked(find_pool_locked(pool));
    unlock();
    return recorder;
}

bool gp_recordings_take(const gp_recorder *recorder)
{
    lock();
    const bool taken = take_locked(find_locked(recorder)) != NULL;
    unlock();
    return taken;
}

static gp_recorder *take_any(void)
{
    lock();
    gp_recorder **link = &first;
    while (*link != NULL && !(*link)->attached)
        link = &(*link)->next;
    gp_recorder *recorder = take_locked(link);
    unlock();
    return recorder;
}

void gp_recordings_finish_all(void)
{
    gp_recorder *recorder;
    while ((recorder = take_any()) != NULL)
        gp_recorder_finish(recorder);
}
