#include "crew.h"

#include <pthread.h>
#include <stdlib.h>

struct bench_crew {
    pthread_mutex_t lock; /* Guards all below. */
    pthread_cond_t posted, done;
    bench_crew_job job;
    void *argument;
    unsigned long round; /* Jobs posted so far. */
    size_t busy;         /* Members that have not finished the present job. */
    bool dismissed;
    size_t started; /* Members whose thread runs; written by the owner only. */
    struct member {
        bench_crew *crew;
        size_t index;
        pthread_t thread;
    } members[];
};

/* Wait for the job after `round`; false when the crew is dismissed. */
static bool await_job(bench_crew *crew, unsigned long round, bench_crew_job *job, void **argument)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->round == round && !crew->dismissed)
        pthread_cond_wait(&crew->posted, &crew->lock);
    bool working = !crew->dismissed;
    *job = crew->job;
    *argument = crew->argument;
    pthread_mutex_unlock(&crew->lock);
    return working;
}

static void report_done(bench_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    if (--crew->busy == 0)
        pthread_cond_signal(&crew->done);
    pthread_mutex_unlock(&crew->lock);
}

static void *serve(void *pointer)
{
    struct member *self = pointer;
    bench_crew_job job = NULL;
    void *argument = NULL;
    for (unsigned long round = 0; await_job(self->crew, round, &job, &argument); round++) {
        job(argument, self->index);
        report_done(self->crew);
    }
    return NULL;
}

bool bench_crew_create(bench_crew **crew, size_t count)
{
    *crew = NULL;
    bench_crew *made = calloc(1, sizeof(*made) + count * sizeof(made->members[0]));
    if (made == NULL)
        return false;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->posted, NULL);
    pthread_cond_init(&made->done, NULL);

    for (; made->started < count; made->started++) {
        struct member *member = &made->members[made->started];
        member->crew = made;
        member->index = made->started;
        if (pthread_create(&member->thread, NULL, serve, member) != 0) {
            bench_crew_destroy(made);
            return false;
        }
    }
    *crew = made;
    return true;
}

void bench_crew_run(bench_crew *crew, bench_crew_job job, void *argument)
{
    pthread_mutex_lock(&crew->lock);
    crew->job = job;
    crew->argument = argument;
    crew->busy = crew->started;
    crew->round++;
    pthread_cond_broadcast(&crew->posted);
    while (crew->busy > 0)
        pthread_cond_wait(&crew->done, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

void bench_crew_destroy(bench_crew *crew)
{
    if (crew == NULL)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->dismissed = true;
    pthread_cond_broadcast(&crew->posted);
    pthread_mutex_unlock(&crew->lock);

    for (size_t i = 0; i < crew->started; i++)
        pthread_join(crew->members[i].thread, NULL);
    pthread_cond_destroy(&crew->done);
    pthread_cond_destroy(&crew->posted);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}
