/* gp's own lock: one thread at a time, and nobody sleeps through a release. */
#include "lock.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 200

static gp_lock lock;
static long guarded; /* no atomic: that is the point */

TestSuite(lock, .init = gp_asymmetric_init, .timeout = 60);

static void hold_for(long ns)
{
    const struct timespec time = {.tv_nsec = ns};
    (void)nanosleep(&time, NULL);
}

static void *count_up(void *rounds)
{
    for (long i = 0; i < *(long *)rounds; i++) {
        gp_lock_acquire(&lock);
        guarded++;
        gp_lock_release(&lock);
    }
    return NULL;
}

/* Longer than anybody spins, so that the others sleep. */
static void *count_up_slowly(void *rounds)
{
    for (long i = 0; i < *(long *)rounds; i++) {
        gp_lock_acquire(&lock);
        guarded++;
        hold_for(50000);
        gp_lock_release(&lock);
    }
    return NULL;
}

static void run(void *(*work)(void *), long rounds)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, work, &rounds), 0));
    for (int i = 0; i < THREADS; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
}

Test(lock, a_lock_that_is_held_cannot_be_tried)
{
    cr_assert(gp_lock_try(&lock));
    cr_assert(not(gp_lock_try(&lock)));

    gp_lock_release(&lock);
    cr_assert(gp_lock_try(&lock));
}

Test(lock, threads_that_hold_it_briefly_are_never_inside_together)
{
    run(count_up, 1000000);

    cr_assert(eq(long, guarded, THREADS * 1000000L));
}

Test(lock, threads_that_slept_for_it_are_woken)
{
    run(count_up_slowly, ROUNDS);

    cr_assert(eq(long, guarded, (long)THREADS *ROUNDS));
    cr_assert(eq(u32, atomic_load(&lock.sleepers), 0));
}

Test(lock, threads_that_slept_for_it_are_woken_without_membarrier)
{
    gp_asymmetric_needs_fence = true;

    run(count_up_slowly, ROUNDS);

    cr_assert(eq(long, guarded, (long)THREADS *ROUNDS));
}
