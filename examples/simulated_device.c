/*
 * How to test the stream order of a pipeline without a GPU: run it on the
 * simulated device, launch what a kernel would touch, and ask for hazards.
 *
 * The pipeline here hands a block from a producer's stream to a consumer's, and
 * frees it there. Once it forgets that the consumer has to wait, once it does not.
 */
#include "gp/gp.h"
#include "gp/sim.h"

#include <stdio.h>
#include <stdlib.h>

#define BLOCK_BYTES ((size_t)1 << 20)
#define KERNEL_NS 5000

static void expect(int failed, const char *what)
{
    if (failed) {
        (void)fprintf(stderr, "%s failed: %s\n", what, gp_last_error());
        exit(1);
    }
}

#define EXPECT(call) expect((call) != 0, #call)

static void launch(cudaStream_t stream, const void *block, bool writes)
{
    const gp_sim_access access = {.base = block, .bytes = BLOCK_BYTES, .writes = writes};
    EXPECT(gp_sim_launch(stream, &access, 1, KERNEL_NS));
}

static void wait_for(cudaStream_t consumer, cudaStream_t producer)
{
    gp_sim_event produced;
    EXPECT(gp_sim_event_create(&produced));
    EXPECT(gp_sim_event_record(produced, producer));
    EXPECT(gp_sim_stream_wait_event(consumer, produced));
    EXPECT(gp_sim_event_destroy(produced));
}

/* The pipeline under test. */
static void hand_over(gp_pool *pool, cudaStream_t producer, cudaStream_t consumer, bool waits)
{
    void *block;
    EXPECT(gp_alloc_from_pool_async(&block, BLOCK_BYTES, pool, producer));
    launch(producer, block, true);
    if (waits)
        wait_for(consumer, producer);
    launch(consumer, block, false);
    EXPECT(gp_free_async(block, consumer));
}

static uint64_t count_hazards(bool waits)
{
    gp_pool *pool;
    gp_pool_config config;
    cudaStream_t producer;
    cudaStream_t consumer;
    EXPECT(gp_sim_reset(NULL)); /* A new machine, without a hazard so far. */
    gp_pool_config_init(&config);
    config.backend = GP_BACKEND_SIM;
    EXPECT(gp_pool_create(&pool, &config));
    EXPECT(gp_sim_stream_create(&producer, true));
    EXPECT(gp_sim_stream_create(&consumer, true));

    hand_over(pool, producer, consumer, waits);

    EXPECT(gp_pool_destroy(pool));
    return gp_sim_hazard_count();
}

static void print_hazards(void)
{
    gp_sim_hazard hazards[8];
    char text[400];
    size_t count = gp_sim_get_hazards(hazards, sizeof(hazards) / sizeof(hazards[0]));
    for (size_t i = 0; i < count; i++) {
        (void)gp_sim_describe_hazard(&hazards[i], text, sizeof(text));
        printf("    %s\n", text);
    }
}

int main(void)
{
    uint64_t careless = count_hazards(false);
    printf("without the wait: %llu hazards\n", (unsigned long long)careless);
    print_hazards();
    uint64_t careful = count_hazards(true);
    printf("with the wait: %llu hazards\n", (unsigned long long)careful);
    return careless == 0 || careful != 0;
}
