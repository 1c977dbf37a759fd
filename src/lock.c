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
    /* Whoever slept cannot know whether others still do, so it keeps the mark. */
    while (atomic_exchange_explicit(&lock->state, GP_LOCK_AWAITED, memory_order_acquire) !=
           GP_LOCK_FREE)
        (void)syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, GP_LOCK_AWAITED, NULL, NULL, 0);
    errno = error;
}

void gp_lock_wake(gp_lock *lock)
{
    const int error = errno;
    (void)syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = error;
}
