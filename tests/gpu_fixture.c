/* Opens the device under a GPU test and looks back at what happened on it. */
#include "gpu_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

const device_ops *device;
gp_pool *pool;

static atomic_bool failed;
static char first_failure[512];

void gpu_open(void)
{
    const char *name = getenv("GP_TEST_DEVICE");
    device = device_open(name != NULL ? name : "cuda", 0);
    cr_assert(ne(ptr, (void *)device, NULL), "%s", device_error());

    gp_pool_config config = gpu_config();
    GP(gp_pool_create(&pool, &config));
}

void gpu_close(void)
{
    gpu_settle();
    GP(gp_pool_check(pool));
    GP(gp_pool_destroy(pool));
    device->close(0);
}

void gpu_reopen(const gp_pool_config *config)
{
    GP(gp_pool_destroy(pool));
    GP(gp_pool_create(&pool, config));
}

gp_pool_config gpu_config(void)
{
    gp_pool_config config;
    gp_pool_config_init(&config);
    config.backend = device->kind;
    config.headroom_fraction = 0; /* tests fill the device on purpose */
    return config;
}

void gpu_settle(void)
{
    RUN(device->synchronize());
    cr_assert(eq(u64, device->mismatches(), 0), "bytes were overwritten");
    cr_assert(le(i64, device->hazards(), 0), "accesses were out of order");
    cr_assert(not(atomic_load(&failed)), "%s", first_failure);
}

bool gpu_expect(bool holds, const char *what, const char *error)
{
    if (!holds && !atomic_exchange(&failed, true))
        snprintf(first_failure, sizeof(first_failure), "%s: %s", what, error);
    return holds;
}

cudaStream_t gpu_stream(void)
{
    cudaStream_t stream = NULL;
    RUN(device->stream_create(&stream, true));
    return stream;
}

cudaStream_t gpu_blocking_stream(void)
{
    cudaStream_t stream = NULL;
    RUN(device->stream_create(&stream, false));
    return stream;
}

device_gate gpu_close_gate(cudaStream_t stream)
{
    device_gate gate = NULL;
    RUN(device->gate_create(&gate));
    RUN(device->gate_wait(stream, gate));
    return gate;
}

void gpu_open_gate(device_gate gate)
{
    RUN(device->gate_open(gate));
}

void gpu_destroy_gate(device_gate gate)
{
    RUN(device->gate_destroy(gate));
}

void gpu_order(cudaStream_t earlier, cudaStream_t later)
{
    device_event event = NULL;
    RUN(device->event_create(&event));
    RUN(device->event_record(event, earlier));
    RUN(device->stream_wait(later, event));
    RUN(device->event_destroy(event));
}

void gpu_pass(cudaStream_t stream)
{
    device_event passed = NULL;
    RUN(device->event_create(&passed));
    RUN(device->event_record(passed, stream));
    device_result result = DEVICE_NOT_READY;
    while (result == DEVICE_NOT_READY)
        result = device->event_query(passed);
    RUN(result);
    RUN(device->event_destroy(passed));
}

void *gpu_alloc(size_t bytes, cudaStream_t stream)
{
    void *ptr = NULL;
    GP(gp_alloc_from_pool_async(&ptr, bytes, pool, stream));
    return ptr;
}

gp_pool_stats gpu_stats(void)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    GP(gp_pool_get_stats(pool, &stats));
    return stats;
}

static void *run_thread(void *started)
{
    const gpu_thread *thread = started;
    if (EXPECT_RUN(device->set_current(0)))
        thread->function(thread->argument);
    device->leave();
    return NULL;
}

void gpu_thread_start(gpu_thread *thread, void (*function)(void *), void *argument)
{
    *thread = (gpu_thread){.function = function, .argument = argument};
    cr_assert(eq(int, pthread_create(&thread->id, NULL, run_thread, thread), 0));
}

void gpu_thread_join(gpu_thread *thread)
{
    cr_assert(eq(int, pthread_join(thread->id, NULL), 0));
}

void gpu_in_thread(void (*function)(void *), void *argument)
{
    gpu_thread thread;
    gpu_thread_start(&thread, function, argument);
    gpu_thread_join(&thread);
}
