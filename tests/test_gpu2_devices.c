/*
 * Two GPUs in one process: streams, events and accounts of each. Runs on the simulated device too.
 */
#include "gpu2_fixture.h"

/* C20: one thread, its per-thread stream on each device in turn. */
GPU2_TEST(gpu2_devices, per_thread_stream_is_another_one_on_each_device)
{
    for (int i = 0; i < 200; i++) {
        RUN(device->set_current(i % 2));
        void *block = alloc_on(i % 2, MIB(1), DEVICE_STREAM_PER_THREAD);
        RUN(device->fill(DEVICE_STREAM_PER_THREAD, block, MIB(1), (uint8_t)i));
        RUN(device->check(DEVICE_STREAM_PER_THREAD, block, MIB(1), (uint8_t)i));
        GP(gp_free_async(block, DEVICE_STREAM_PER_THREAD));
    }
    RUN(device->set_current(0));
    cr_assert(eq(u64, stats_of(0).frees, 100));
    cr_assert(eq(u64, stats_of(1).frees, 100));
}

/* C11: the handle of a destroyed stream is issued again on the other device. */
GPU2_TEST(gpu2_devices, stream_with_a_handle_of_the_other_device_is_not_the_old_one)
{
    cudaStream_t old = gpu_stream();
    void *block = alloc_on(0, MIB(16), old);
    RUN(device->touch(old, block, MIB(16), 100000000));
    GP(gp_free_async(block, old));
    RUN(device->stream_destroy(old));
    RUN(device->set_current(1));
    cudaStream_t new_stream = gpu_stream();
    for (int i = 0; i < 32 && new_stream != old; i++)
        new_stream = gpu_stream();

    void *none = NULL;
    cr_assert(eq(int, (int)gp_alloc_from_pool_async(&none, MIB(16), pool, new_stream),
                 (int)GP_ERR_WRONG_DEVICE));
    block = alloc_on(1, MIB(16), new_stream);
    RUN(device->fill(new_stream, block, MIB(16), 2));
    RUN(device->check(new_stream, block, MIB(16), 2));
    GP(gp_free_async(block, new_stream));
    RUN(device->set_current(0));
}

/* C55: the account is the block's pool's, whatever device is current at the free. */
GPU2_TEST(gpu2_devices, accounts_follow_the_block_and_not_the_current_device)
{
    cudaStream_t stream = gpu_stream();
    void *block = alloc_on(0, MIB(100), stream);
    RUN(device->set_current(1));

    GP(gp_free_async(block, stream));

    cr_assert(eq(u64, stats_of(0).live_bytes, 0));
    cr_assert(eq(u64, stats_of(0).frees, 1));
    cr_assert(eq(u64, stats_of(1).frees, 0));
    RUN(device->set_current(0));
}

typedef struct passer {
    gpu_thread thread;
    int number; /* of its device */
} passer;

static bool pass_on(int number, const cudaStream_t *streams, device_event event, unsigned round)
{
    void *block = NULL;
    cudaStream_t home = streams[round % 2];
    cudaStream_t user = streams[1 - round % 2];
    size_t bytes = KIB(64) << round % 8;
    return EXPECT_GP(gp_alloc_from_pool_async(&block, bytes, pool_of(number), home)) &&
           EXPECT_RUN(device->fill(home, block, bytes, (uint8_t)round)) &&
           EXPECT_RUN(device->event_record(event, home)) &&
           EXPECT_RUN(device->stream_wait(user, event)) &&
           EXPECT_RUN(device->check(user, block, bytes, (uint8_t)round)) &&
           EXPECT_GP(gp_record_use(block, user)) && EXPECT_GP(gp_free_async(block, home));
}

static void pass_many_on(void *argument)
{
    const passer *self = argument;
    cudaStream_t streams[2] = {NULL, NULL};
    device_event event = NULL;
    bool fine = EXPECT_RUN(device->set_current(self->number)) &&
                EXPECT_RUN(device->stream_create(&streams[0], true)) &&
                EXPECT_RUN(device->stream_create(&streams[1], true)) &&
                EXPECT_RUN(device->event_create(&event));
    for (unsigned round = 0; round < 1000 && fine; round++)
        fine = pass_on(self->number, streams, event, round);
    EXPECT_RUN(device->synchronize());
    EXPECT_RUN(device->event_destroy(event));
}

/* C56: one store of events for both devices. */
GPU2_TEST(gpu2_devices, events_of_two_devices_stay_apart)
{
    passer passers[4];
    for (int i = 0; i < 4; i++) {
        passers[i].number = i % 2;
        gpu_thread_start(&passers[i].thread, pass_many_on, &passers[i]);
    }
    for (int i = 0; i < 4; i++)
        gpu_thread_join(&passers[i].thread);
    gpu_settle();
    cr_assert(eq(u64, stats_of(0).live_bytes, 0));
    cr_assert(eq(u64, stats_of(1).live_bytes, 0));
}

/* C79: half of a collective runs and waits for the half that is not launched yet; meanwhile
 * both pools are trimmed, and one is asked for more than there is. */
GPU2_TEST(gpu2_devices, nothing_waits_for_half_a_collective)
{
    cudaStream_t here = gpu_stream();
    void *blocks[2] = {alloc_on(0, MIB(64), here), NULL};
    device_gate gate = gpu_close_gate(here);
    RUN(device->fill(here, blocks[0], MIB(64), 1));
    GP(gp_free_async(blocks[0], here));

    void *none = NULL;
    GP(gp_pool_trim_to(pool, 0));
    GP(gp_pool_trim_to(second, 0));
    cr_assert(eq(int, (int)gp_alloc_from_pool_async(&none, (size_t)1 << 45, pool, here),
                 (int)GP_ERR_OUT_OF_MEMORY));

    cr_assert(eq(int, device->stream_query(here), DEVICE_NOT_READY), "somebody waited for it");
    RUN(device->set_current(1));
    cudaStream_t there = gpu_stream();
    blocks[1] = alloc_on(1, MIB(64), there);
    gpu_pass(there);
    GP(gp_free_async(blocks[1], there));
    RUN(device->set_current(0));
    gpu_open_gate(gate);
    gpu_settle();
    gpu_destroy_gate(gate);
}
