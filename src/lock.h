/*
 * A lock for what is held for tens of nanoseconds, as all of gp's on the way of a request.
 *
 * Taken by one exchange, let go by a plain store: an uncontended pair costs a third of what a
 * pthread mutex does, which a request past L1 would pay three times. Who finds it taken spins for
 * about as long as a holder keeps it, then sleeps (futex):
 *
 *     Holder:  state = free; read sleepers; wake one if there are any
 *     Sleeper: sleepers + 1; barrier in every thread; try; sleep while state is held
 *
 * One of the two sees the other's store, and it is the sleeper who pays for the barrier
 * (asymmetric.h).
 */
#ifndef GP_SRC_LOCK_H
#define GP_SRC_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "asymmetric.h"
#include "compiler.h"

#define GP_LOCK_FREE 0u
#define GP_LOCK_HELD 1u

/*
 * The classes of locks, in the order in which they may be taken: a thread takes one only while
 * all that it holds stand before it, and never two of a class (docs/locking.md). Builds with
 * GP_CHECKS 2 keep account of what each thread holds, and end the process where it does not.
 */
typedef enum gp_lock_rank {
    GP_RANK_REGISTRY,
    GP_RANK_REVOCATION,
    GP_RANK_STREAM,
    GP_RANK_COMMONS,
    GP_RANK_LEAF,
    GP_RANK_ALONE /* With no other, before or after. */
} gp_lock_rank;

#if GP_CHECKS >= 2
void gp_lock_order_enter(gp_lock_rank rank);
void gp_lock_order_leave(gp_lock_rank rank);

/* Between the two the thread is in a function of the user's: it holds no lock and takes none. */
void gp_lock_order_forbid(void);
void gp_lock_order_allow(void);
#else
static inline void gp_lock_order_enter(gp_lock_rank rank)
{
    (void)rank;
}

static inline void gp_lock_order_leave(gp_lock_rank rank)
{
    (void)rank;
}

static inline void gp_lock_order_forbid(void)
{
}

static inline void gp_lock_order_allow(void)
{
}
#endif

/* ---- locks of gp's own ---------------------------------------------------------- */

/* All zero: free. */
typedef struct gp_lock {
    _Atomic(uint32_t) state;
    _Atomic(uint32_t) sleepers; /* Threads that sleep until it is free, or are about to. */
} gp_lock;

/* Out of line: the lock is taken by another thread. */
void gp_lock_wait(gp_lock *lock);
void gp_lock_wake(gp_lock *lock);

static inline bool gp_lock_take(gp_lock *lock)
{
    uint32_t state = GP_LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(&lock->state, &state, GP_LOCK_HELD,
                                                   memory_order_acquire, memory_order_relaxed);
}

static inline bool gp_lock_try(gp_lock *lock, gp_lock_rank rank)
{
    if (!gp_lock_take(lock))
        return false;
    gp_lock_order_enter(rank);
    return true;
}

static inline void gp_lock_acquire(gp_lock *lock, gp_lock_rank rank)
{
    gp_lock_order_enter(rank);
    if (GP_UNLIKELY(!gp_lock_take(lock)))
        gp_lock_wait(lock);
}

static inline void gp_lock_release(gp_lock *lock, gp_lock_rank rank)
{
    gp_lock_order_leave(rank);
    gp_asymmetric_store(&lock->state, GP_LOCK_FREE);
    if (GP_UNLIKELY(atomic_load_explicit(&lock->sleepers, memory_order_relaxed) > 0))
        gp_lock_wake(lock);
}

/* ---- mutexes, where threads may wait for long ------------------------------------- */

static inline void gp_mutex_lock(pthread_mutex_t *mutex, gp_lock_rank rank)
{
    gp_lock_order_enter(rank);
    (void)pthread_mutex_lock(mutex);
}

static inline void gp_mutex_unlock(pthread_mutex_t *mutex, gp_lock_rank rank)
{
    gp_lock_order_leave(rank);
    (void)pthread_mutex_unlock(mutex);
}

#endif
