/* The harness's threads: all do each job once, and meet where they should. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "crew.h"
#include "rendezvous.h"

#include <pthread.h>

#define MEMBERS 4
#define MEETINGS 2000

static int done[MEMBERS];
static pthread_t threads[MEMBERS];
static bench_rendezvous meeting;
static atomic_int arrived;
static atomic_int early; /* Members that left a meeting before all had come. */

static void count_job(void *argument, size_t member)
{
    int *counts = argument;
    counts[member]++;
    threads[member] = pthread_self();
}

Test(crew, does_each_job_once_a_member)
{
    bench_crew *crew = NULL;
    cr_assert(bench_crew_create(&crew, MEMBERS));

    bench_crew_run(crew, count_job, done);
    bench_crew_run(crew, count_job, done);
    bench_crew_destroy(crew);

    for (int i = 0; i < MEMBERS; i++)
        cr_assert(eq(int, done[i], 2));
}

Test(crew, keeps_its_threads_between_jobs)
{
    bench_crew *crew = NULL;
    cr_assert(bench_crew_create(&crew, 1));

    bench_crew_run(crew, count_job, done);
    pthread_t first = threads[0];
    bench_crew_run(crew, count_job, done);

    cr_assert(pthread_equal(first, threads[0]));
    bench_crew_destroy(crew);
}

Test(crew, may_be_dismissed_without_a_job)
{
    bench_crew *crew = NULL;
    cr_assert(bench_crew_create(&crew, MEMBERS));

    bench_crew_destroy(crew);
    bench_crew_destroy(NULL);
}

static void meet_job(void *argument, size_t member)
{
    (void)argument;
    (void)member;
    for (int i = 1; i <= MEETINGS; i++) {
        atomic_fetch_add(&arrived, 1);
        bench_rendezvous_wait(&meeting);
        if (atomic_load(&arrived) < i * MEMBERS)
            atomic_fetch_add(&early, 1);
    }
}

Test(rendezvous, lets_nobody_leave_before_all_have_come)
{
    bench_crew *crew = NULL;
    cr_assert(bench_crew_create(&crew, MEMBERS));
    bench_rendezvous_init(&meeting, MEMBERS);

    bench_crew_run(crew, meet_job, NULL);
    bench_crew_destroy(crew);

    cr_assert(eq(int, atomic_load(&arrived), MEMBERS *MEETINGS));
    cr_assert(eq(int, atomic_load(&early), 0));
}
