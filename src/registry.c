#include "registry.h"

#include <pthread.h>
#include <sched.h>

#include "error.h"
#include "lock.h"
#include "pool.h"
#include "process.h"

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static gp_pool *all_pools;
static gp_pool *default_pools[GP_MAX_DEVICES];

void gp_registry_lock(void)
{
    gp_mutex_lock(&registry_mutex, GP_RANK_REGISTRY);
}

void gp_registry_unlock(void)
{
    gp_mutex_unlock(&registry_mutex, GP_RANK_REGISTRY);
}

static void add_locked(gp_pool *pool)
{
    pool->next = all_pools;
    all_pools = pool;
}

void gp_registry_add(gp_pool *pool)
{
    gp_registry_lock();
    add_locked(pool);
    gp_registry_unlock();
}

static gp_pool **find_link(const gp_pool *pool)
{
    gp_pool **link = &all_pools;
    while (*link != NULL && *link != pool)
        link = &(*link)->next;
    return link;
}

bool gp_registry_has_locked(const gp_pool *pool)
{
    return pool != NULL && *find_link(pool) != NULL;
}

/* ---- visits -------------------------------------------------------------------- */

static bool is_neighbour(const gp_pool *pool, const gp_pool *other)
{
    return other != pool && other->backend->ops->kind == pool->backend->ops->kind &&
           other->backend->device == pool->backend->device;
}

size_t gp_registry_visit_others(const gp_pool *pool, gp_pool **others, size_t most)
{
    size_t count = 0;
    gp_registry_lock();
    for (gp_pool *other = all_pools; other != NULL && count < most; other = other->next) {
        if (!is_neighbour(pool, other))
            continue;
        other->visitors++;
        others[count++] = other;
    }
    gp_registry_unlock();
    return count;
}

void gp_registry_leave(gp_pool *pool)
{
    gp_registry_lock();
    pool->visitors--;
    gp_registry_unlock();
}

static void wait_for_visitors(const gp_pool *pool)
{
    for (;;) {
        gp_registry_lock();
        const uint32_t visitors = pool->visitors;
        gp_registry_unlock();
        if (visitors == 0)
            return;
        (void)sched_yield();
    }
}

bool gp_registry_remove(gp_pool *pool)
{
    gp_registry_lock();
    gp_pool **link = find_link(pool);
    bool found = pool != NULL && *link != NULL && !pool->is_default;
    if (found)
        *link = pool->next;
    gp_registry_unlock();
    if (found)
        wait_for_visitors(pool);
    return found;
}

gp_status gp_registry_check(const gp_pool *pool)
{
    /* First: in a forked child the lock may be held by a thread that is not there. */
    gp_status status = gp_process_check();
    if (status != GP_OK)
        return status;
    gp_registry_lock();
    bool found = gp_registry_has_locked(pool);
    gp_registry_unlock();
    if (found)
        return GP_OK;
    return gp_error_set(GP_ERR_INVALID_POOL, "%p is not a pool, or was destroyed",
                        (const void *)pool);
}

gp_pool *gp_registry_find(bool (*matches)(gp_pool *pool, const void *what), const void *what)
{
    gp_registry_lock();
    gp_pool *pool = all_pools;
    while (pool != NULL && !matches(pool, what))
        pool = pool->next;
    gp_registry_unlock();
    return pool;
}

/* ---- default pools ---------------------------------------------------------- */

static gp_pool *get_default(int device)
{
    gp_registry_lock();
    gp_pool *pool = default_pools[device];
    gp_registry_unlock();
    return pool;
}

/* Two threads may have made one each; the first to get here wins. */
static gp_pool *set_default(int device, gp_pool *made)
{
    gp_registry_lock();
    gp_pool *pool = default_pools[device];
    if (pool == NULL) {
        made->is_default = true;
        default_pools[device] = made;
        add_locked(made);
        pool = made;
    }
    gp_registry_unlock();
    return pool;
}

gp_status gp_registry_default_pool(int device, gp_pool **pool)
{
    gp_status status = gp_process_check();
    if (status != GP_OK)
        return status;
    if (device < 0 || device >= GP_MAX_DEVICES)
        return gp_error_set(GP_ERR_UNSUPPORTED, "device %d does not exist", device);

    gp_pool *found = get_default(device);
    if (found == NULL) {
        gp_pool_config config;
        gp_pool_config_init(&config);
        config.device = device;
        gp_pool *made;
        status = gp_pool_build(&made, &config);
        if (status != GP_OK)
            return status;
        found = set_default(device, made);
        if (found != made)
            gp_pool_tear_down(made);
    }
    *pool = found;
    return GP_OK;
}
