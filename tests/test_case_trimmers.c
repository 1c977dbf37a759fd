/* Trims in a tight loop beside threads that allocate: no request fails for it. */
#include "pool_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

TestSuite(case_trimmers, .init = pool_open, .fini = pool_close);

enum { TRIMMERS = 8, WORKERS = 8, ROUNDS = 200000 };

static atomic_bool stop;
static char text[WORKERS][512];

static void *trim_all_the_time(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop))
        (void)!gp_pool_trim_to(pool, 0);
    return NULL;
}

typedef struct worker {
    pthread_t id;
    int number;
    cudaStream_t stream;
    gp_status status;
} worker;

static void *allocate(void *started)
{
    worker *self = started;
    for (int i = 0; i < ROUNDS && self->status == GP_OK; i++) {
        void *block = NULL;
        self->status = gp_alloc_from_pool_async(&block, KIB(64) << i % 4, pool, self->stream);
        if (self->status == GP_OK)
            self->status = gp_free_async(block, self->stream);
    }
    (void)snprintf(text[self->number], sizeof(text[0]), "%s", gp_last_error());
    return NULL;
}

/* C73, C50: what was taken in for a request went back with a trim before the request had it. */
Test(case_trimmers, leave_each_request_what_was_taken_in_for_it)
{
    pthread_t trimmers[TRIMMERS];
    worker workers[WORKERS];
    for (int i = 0; i < TRIMMERS; i++)
        cr_assert(eq(int, pthread_create(&trimmers[i], NULL, trim_all_the_time, NULL), 0));
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.number = i, .stream = pool_attached_stream(), .status = GP_OK};
        cr_assert(eq(int, pthread_create(&workers[i].id, NULL, allocate, &workers[i]), 0));
    }
    for (int i = 0; i < WORKERS; i++)
        cr_assert(eq(int, pthread_join(workers[i].id, NULL), 0));
    atomic_store(&stop, true);
    for (int i = 0; i < TRIMMERS; i++)
        cr_assert(eq(int, pthread_join(trimmers[i], NULL), 0));
    for (int i = 0; i < WORKERS; i++)
        cr_assert(eq(int, (int)workers[i].status, (int)GP_OK), "%s", text[i]);
}
