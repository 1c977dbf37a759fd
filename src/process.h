/*
 * The process gp lives in: whether native calls are still allowed, and the epoch
 * that makes every thread's cached look-ups stale at once.
 */
#ifndef GP_SRC_PROCESS_H
#define GP_SRC_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

#include "gp/status.h"

/*
 * Bumped when a look-up that some thread may have cached stops being true: a
 * pool is destroyed, a stream is attached, detached or starts to capture, the
 * process forks or exits. Read on the hot path; written rarely.
 */
extern _Atomic(uint32_t) gp_process_epoch;

static inline uint32_t gp_process_epoch_now(void)
{
    return atomic_load_explicit(&gp_process_epoch, memory_order_acquire);
}

/* Make every thread look its caches up again. */
void gp_process_bump_epoch(void);

/* Install the fork and exit handlers, once. Called before the first pool. */
void gp_process_watch(void);

/* GP_OK while native calls are allowed; else GP_ERR_WRONG_PROCESS (in a forked
 * child) or GP_ERR_SHUTDOWN (exit has begun), text set. */
gp_status gp_process_check(void);

/* The same without touching the error text. */
bool gp_process_is_running(void);

#endif
