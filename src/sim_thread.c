#include "sim_thread.h"

#include "sim_machine.h"
#include "sim_stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static atomic_bool key_is_made;
static _Thread_local gp_sim_thread *self;

/* Under the machine's lock. */
static gp_sim_thread *threads;
static uint64_t last_number;
static uint64_t ended_calls[GP_SIM_FN_COUNT];

static void unlink_thread(gp_sim_thread *thread)
{
    if (thread->previous != NULL)
        thread->previous->next = thread->next;
    else
        threads = thread->next;
    if (thread->next != NULL)
        thread->next->previous = thread->previous;
}

/* Runs as the thread ends. Its default streams are destroyed, as any stream is:
 * work they hold still runs to its end. */
static void end_thread(void *value)
{
    gp_sim_thread *thread = value;
    gp_sim_machine *machine = gp_sim_machine_lock();
    if (machine != NULL && machine->epoch == thread->epoch) {
        for (int device = 0; device < GP_SIM_MAX_DEVICES; device++)
            gp_sim_stream_retire(machine, thread->own_streams[device].stream);
    }
    for (int i = 0; i < GP_SIM_FN_COUNT; i++)
        ended_calls[i] += atomic_load_explicit(&thread->calls[i], memory_order_relaxed);
    unlink_thread(thread);
    gp_sim_machine_unlock();

    self = NULL;
    free(thread);
}

/* At exit() and when the library is unloaded: a thread that lives on must not end in code
 * that is gone. */
static void forget_key(void)
{
    if (atomic_exchange(&key_is_made, false))
        (void)pthread_key_delete(key);
}

static void make_key(void)
{
    atomic_store(&key_is_made, pthread_key_create(&key, end_thread) == 0);
    (void)atexit(forget_key);
}

static gp_sim_thread *make_self(void)
{
    pthread_once(&key_once, make_key);
    gp_sim_thread *thread = calloc(1, sizeof(*thread));
    if (thread == NULL || !atomic_load(&key_is_made) || pthread_setspecific(key, thread) != 0) {
        free(thread);
        return NULL;
    }

    (void)gp_sim_machine_lock();
    thread->number = ++last_number;
    thread->next = threads;
    if (threads != NULL)
        threads->previous = thread;
    threads = thread;
    gp_sim_machine_unlock();
    self = thread;
    return thread;
}

gp_sim_thread *gp_sim_thread_self(void)
{
    return self != NULL ? self : make_self();
}

void gp_sim_thread_refresh(gp_sim_thread *thread, uint64_t epoch)
{
    if (thread->epoch == epoch)
        return;

    thread->epoch = epoch;
    thread->device = 0;
    thread->mode = GP_SIM_CAPTURE_GLOBAL;
    thread->pending_ns = 0;
    thread->native_ns = 0;
    for (int device = 0; device < GP_SIM_MAX_DEVICES; device++)
        gp_sim_slot_unbind(&thread->own_streams[device]);
}

uint64_t gp_sim_thread_sum_calls(gp_sim_function function)
{
    uint64_t sum = ended_calls[function];
    for (gp_sim_thread *thread = threads; thread != NULL; thread = thread->next)
        sum += atomic_load_explicit(&thread->calls[function], memory_order_relaxed);
    return sum;
}

/* A count is written by its own thread alone, so what is cleared is what all
 * threads had so far: it is taken off through the ended ones. */
void gp_sim_thread_clear_calls(void)
{
    for (int i = 0; i < GP_SIM_FN_COUNT; i++)
        ended_calls[i] -= gp_sim_thread_sum_calls((gp_sim_function)i);
}
