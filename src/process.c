#include "process.h"

#include <pthread.h>
#include <stdlib.h>

#include "error.h"
#include "recordings.h"
#include "thread.h"

enum { RUNNING, FORKED_CHILD, EXITING };

_Atomic(uint32_t) gp_process_epoch = 1;

static _Atomic(int) process_state = RUNNING;

void gp_process_bump_epoch(void)
{
    atomic_fetch_add_explicit(&gp_process_epoch, 1, memory_order_acq_rel);
}

/* The child shares no device context with its parent, so whatever the caches
 * hold is not memory there. A handler costs nothing, getpid() 123 ns a call. */
static void enter_child(void)
{
    atomic_store(&process_state, FORKED_CHILD);
    gp_process_bump_epoch();
}

/* Runs at exit() and when the library is unloaded. What the pools hold is leaked
 * on purpose: the driver may go first, and then even an event query crashes. */
static void enter_exit(void)
{
    const bool was_running = atomic_load(&process_state) == RUNNING;
    if (was_running)
        atomic_store(&process_state, EXITING);
    gp_process_bump_epoch();
    /* Their writers are threads, which a library that goes must not leave behind. */
    if (was_running)
        gp_recordings_finish_all();
    gp_thread_forget_key();
}

static void install_handlers(void)
{
    /* Both fail only for want of memory; gp then works but for fork and exit. */
    (void)pthread_atfork(NULL, NULL, enter_child);
    (void)atexit(enter_exit);
}

void gp_process_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_handlers);
}

bool gp_process_is_running(void)
{
    return atomic_load_explicit(&process_state, memory_order_relaxed) == RUNNING;
}

gp_status gp_process_check(void)
{
    switch (atomic_load_explicit(&process_state, memory_order_relaxed)) {
    case RUNNING:
        return GP_OK;
    case FORKED_CHILD:
        return gp_error_set(GP_ERR_WRONG_PROCESS,
                            "this process was forked after gp was first used in its parent");
    default:
        return gp_error_set(GP_ERR_SHUTDOWN, "the process is exiting");
    }
}
