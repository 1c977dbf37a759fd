/* gp's own lock: one thread at a time, and nobody sleeps through a release. */
#include "lock.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <signal.h>
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
        gp_lock_acquire(&lock, GP_RANK_STREAM);
        guarded++;
        gp_lock_release(&lock, GP_RANK_STREAM);
    }
    return NULL;
}

/* Longer than anybody spins, so that the others sleep. */
static void *count_up_slowly(void *rounds)
{
    for (long i = 0; i < *(long *)rounds; i++) {
        gp_lock_acquire(&lock, GP_RANK_STREAM);
        guarded++;
        hold_for(50000);
        gp_lock_release(&lock, GP_RANK_STREAM);
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
    cr_assert(gp_lock_try(&lock, GP_RANK_STREAM));
    cr_assert(not(gp_lock_try(&lock, GP_RANK_STREAM)));

    gp_lock_release(&lock, GP_RANK_STREAM);
    cr_assert(gp_lock_try(&lock, GP_RANK_STREAM));
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

#if GP_CHECKS >= 2

/* In builds without checks nothing happens. */
Test(lock, taken_against_the_order_is_caught, .signal = SIGABRT)
{
    gp_lock commons = {0};
    gp_lock_acquire(&commons, GP_RANK_COMMONS);

    gp_lock_acquire(&lock, GP_RANK_STREAM);
}

Test(lock, of_the_same_class_as_one_that_is_held_is_caught, .signal = SIGABRT)
{
    gp_lock other = {0};
    gp_lock_acquire(&lock, GP_RANK_STREAM);

    gp_lock_acquire(&other, GP_RANK_STREAM);
}

Test(lock, that_is_to_be_alone_is_caught_beside_another, .signal = SIGABRT)
{
    pthread_mutex_t growth = PTHREAD_MUTEX_INITIALIZER;
    gp_lock_acquire(&lock, GP_RANK_LEAF);

    gp_mutex_lock(&growth, GP_RANK_ALONE);
}

#endif

Test(lock, may_be_taken_in_order_and_let_go_in_any)
{
    pthread_mutex_t growth = PTHREAD_MUTEX_INITIALIZER;
    gp_lock commons = {0};
    gp_lock_acquire(&lock, GP_RANK_STREAM);
    gp_lock_acquire(&commons, GP_RANK_COMMONS);
    gp_lock_release(&lock, GP_RANK_STREAM);
    gp_lock_release(&commons, GP_RANK_COMMONS);

    gp_mutex_lock(&growth, GP_RANK_ALONE);
    gp_mutex_unlock(&growth, GP_RANK_ALONE);

    cr_assert(gp_lock_try(&lock, GP_RANK_STREAM));
    gp_lock_release(&lock, GP_RANK_STREAM);
}
