#include "jitter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* One in so many. A pause takes as long as some steps of the others. */
enum { PAUSE_ONE_IN = 64 };

/* The linker's names for the caller's pthread_mutex_unlock() and the system's. */
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);

static atomic_bool is_on;
static _Thread_local uint64_t state;

void proof_jitter_start(void)
{
    atomic_store(&is_on, true);
}

static bool is_due(void)
{
    if (state == 0)
        state = (uint64_t)(uintptr_t)&state | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % PAUSE_ONE_IN == 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int result = __real_pthread_mutex_unlock(mutex);
    if (atomic_load_explicit(&is_on, memory_order_relaxed) && is_due())
        (void)nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
    return result;
}
