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
            gp_lock_try(lock))
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
    while (!gp_lock_try(lock))
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
