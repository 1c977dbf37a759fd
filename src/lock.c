#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tries before a thread sleeps, which costs it microseconds. */
#define SPINS 200

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool spin(gp_lock *lock)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) == GP_LOCK_FREE &&
            gp_lock_take(lock))
            return true;
        pause_briefly();
    }
    return false;
}

void gp_lock_wait(gp_lock *lock)
{
    if (spin(lock))
        return;
    const int error = errno; /* The caller's. */
    (void)atomic_fetch_add(&lock->sleepers, 1);
    gp_asymmetric_barrier();
    while (!gp_lock_take(lock))
        (void)syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, GP_LOCK_HELD, NULL, NULL, 0);
    (void)atomic_fetch_sub(&lock->sleepers, 1);
    errno = error;
}

void gp_lock_wake(gp_lock *lock)
{
    const int error = errno;
    (void)syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = error;
}

/* ---- the order ------------------------------------------------------------------ */

#if GP_CHECKS >= 2

/* What the thread holds: a bit for each rank, since it holds one of each at most. */
static _Thread_local unsigned held;

static unsigned bit_of(gp_lock_rank rank)
{
    return 1u << (unsigned)rank;
}

void gp_lock_order_enter(gp_lock_rank rank)
{
    /* All that is held stands before it, so is less than its bit; and one that is to be alone
     * finds nothing held, and is greater than any bit that comes after. */
    GP_ASSERT(rank == GP_RANK_ALONE ? held == 0 : held < bit_of(rank));
    held |= bit_of(rank);
}

void gp_lock_order_leave(gp_lock_rank rank)
{
    GP_ASSERT((held & bit_of(rank)) != 0);
    held &= ~bit_of(rank);
}

/* As if the thread held the last of all, after which none may be taken. */
void gp_lock_order_forbid(void)
{
    gp_lock_order_enter(GP_RANK_ALONE);
}

void gp_lock_order_allow(void)
{
    gp_lock_order_leave(GP_RANK_ALONE);
}

#endif
