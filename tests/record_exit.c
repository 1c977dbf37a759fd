/*
 * A program that records and just exits: its file is complete all the same.
 *
 *   record_exit FILE [thread]   thread: while another thread still allocates
 */
#include "gp/gp.h"
#include "gp/sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gp_pool *pool;
static cudaStream_t streams[2];

static void use(cudaStream_t stream)
{
    void *block = NULL;
    if (gp_alloc_from_pool_async(&block, 4096, pool, stream) == GP_OK &&
        gp_free_async(block, stream) != GP_OK)
        return;
}

static void *use_for_ever(void *argument)
{
    (void)argument;
    for (;;)
        use(streams[1]);
    return NULL;
}

static int fail(const char *call)
{
    (void)fprintf(stderr, "record_exit: %s: %s\n", call, gp_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    gp_pool_config config;
    gp_pool_config_init(&config);
    config.backend = GP_BACKEND_SIM;
    if (argc < 2 || gp_pool_create(&pool, &config) != GP_OK)
        return fail("gp_pool_create");
    for (int i = 0; i < 2; i++) {
        if (gp_sim_stream_create(&streams[i], true) != 0)
            return fail("gp_sim_stream_create");
    }
    if (gp_trace_start(pool, argv[1]) != GP_OK)
        return fail("gp_trace_start");
    if (argc > 2 && strcmp(argv[2], "thread") == 0 &&
        pthread_create(&thread, NULL, use_for_ever, NULL) != 0)
        return fail("pthread_create");
    for (int i = 0; i < 1000; i++)
        use(streams[0]);
    return 0;
}
