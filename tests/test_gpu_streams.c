/*
 * Blocks that pass from stream to stream, while a gate, or a long kernel, keeps their last
 * use from completing: whoever gets the block early overwrites it, or is overwritten.
 * Runs on the simulated device too.
 */
#include "gpu_fixture.h"

/* A use that lasts, where a stream or a thread ends: a memory checker waits for all streams
 * there, and would wait for ever behind a gate. */
#define LONG_NS 300000000u

/* C02: freed on a stream that knows of the last use, asked for on one that does not. */
static void pass_through_a_third_stream(gp_share_mode share)
{
    gp_pool_config config = gpu_config();
    config.share = share;
    gpu_reopen(&config);
    cudaStream_t home = gpu_stream();
    cudaStream_t user = gpu_stream();
    cudaStream_t freer = gpu_stream();
    void *a = gpu_alloc(MIB(64), home);
    RUN(device->fill(home, a, MIB(64), 1));
    gpu_order(home, freer);
    gpu_order(freer, user);
    device_gate gate = gpu_close_gate(user);
    RUN(device->fill(user, a, MIB(64), 2));
    gpu_order(user, freer);
    GP(gp_free_async(a, freer));

    void *b = gpu_alloc(MIB(64), home);

    RUN(device->fill(home, b, MIB(64), 3));
    gpu_open_gate(gate);
    gpu_settle();
    RUN(device->check(home, b, MIB(64), 3));
    GP(gp_free_async(b, home));
    gpu_settle();
    gpu_destroy_gate(gate);
}

GPU_TEST(gpu_streams, reuses_nothing_before_the_last_use_on_another_stream)
{
    pass_through_a_third_stream(GP_SHARE_WAIT);
    pass_through_a_third_stream(GP_SHARE_COMPLETED);
    pass_through_a_third_stream(GP_SHARE_NEVER);
}

/* C03, with the use recorded: the stream of the free knows nothing of it. */
GPU_TEST(gpu_streams, waits_for_a_recorded_use_before_it_hands_the_block_out_again)
{
    cudaStream_t user = gpu_stream();
    cudaStream_t idle = gpu_stream();
    void *p = gpu_alloc(MIB(16), user);
    gpu_order(user, idle);
    device_gate gate = gpu_close_gate(user);
    RUN(device->fill(user, p, MIB(16), 0x11));
    GP(gp_record_use(p, user));
    GP(gp_free_async(p, idle));

    void *q = gpu_alloc(MIB(16), idle);

    RUN(device->fill(idle, q, MIB(16), 0x22));
    gpu_open_gate(gate);
    gpu_settle();
    RUN(device->check(idle, q, MIB(16), 0x22));
    GP(gp_free_async(q, idle));
    gpu_settle();
    gpu_destroy_gate(gate);
}

/* C11: the driver gives the handle of a destroyed stream to the next one. */
GPU_TEST(gpu_streams, knows_a_new_stream_from_the_old_one_with_its_handle)
{
    enum { TRIES = 32 };
    cudaStream_t old = gpu_stream();
    void *p = gpu_alloc(MIB(16), old);
    RUN(device->touch(old, p, MIB(16), LONG_NS));
    GP(gp_free_async(p, old));
    RUN(device->stream_destroy(old));
    cudaStream_t new_stream = gpu_stream();
    for (int i = 0; i < TRIES && new_stream != old; i++)
        new_stream = gpu_stream();

    void *q = gpu_alloc(MIB(16), new_stream);

    RUN(device->fill(new_stream, q, MIB(16), 2));
    gpu_settle();
    RUN(device->check(new_stream, q, MIB(16), 2));
    GP(gp_free_async(q, new_stream));
    cr_assert(eq(ptr, new_stream, old), "no stream got the old handle: nothing was tried");
    gpu_settle();
}

static void use_for_long_and_free(void *unused)
{
    void *p = NULL;
    (void)unused;
    EXPECT_GP(gp_alloc_from_pool_async(&p, MIB(8), pool, DEVICE_STREAM_PER_THREAD));
    EXPECT_RUN(device->touch(DEVICE_STREAM_PER_THREAD, p, MIB(8), LONG_NS));
    EXPECT_GP(gp_free_async(p, DEVICE_STREAM_PER_THREAD));
}

/* C17: the per-thread handle is another stream in each thread. */
GPU_TEST(gpu_streams, keeps_the_per_thread_streams_of_two_threads_apart)
{
    gpu_in_thread(use_for_long_and_free, NULL);

    void *q = gpu_alloc(MIB(8), DEVICE_STREAM_PER_THREAD);

    RUN(device->fill(DEVICE_STREAM_PER_THREAD, q, MIB(8), 2));
    gpu_settle();
    RUN(device->check(DEVICE_STREAM_PER_THREAD, q, MIB(8), 2));
    GP(gp_free_async(q, DEVICE_STREAM_PER_THREAD));
    gpu_settle();
}

static void free_on_own_stream(void *block)
{
    EXPECT_GP(gp_free_async(block, DEVICE_STREAM_PER_THREAD));
}

GPU_TEST(gpu_streams, takes_a_block_back_from_a_thread_that_frees_it_on_its_own_stream)
{
    void *p = gpu_alloc(MIB(8), DEVICE_STREAM_PER_THREAD);
    RUN(device->fill(DEVICE_STREAM_PER_THREAD, p, MIB(8), 1));
    RUN(device->check(DEVICE_STREAM_PER_THREAD, p, MIB(8), 1));
    RUN(device->stream_synchronize(DEVICE_STREAM_PER_THREAD));

    gpu_in_thread(free_on_own_stream, p);

    void *q = gpu_alloc(MIB(8), DEVICE_STREAM_PER_THREAD);
    RUN(device->fill(DEVICE_STREAM_PER_THREAD, q, MIB(8), 2));
    RUN(device->check(DEVICE_STREAM_PER_THREAD, q, MIB(8), 2));
    GP(gp_free_async(q, DEVICE_STREAM_PER_THREAD));
    gpu_settle();
    cr_assert(eq(u64, gpu_stats().live_blocks, 0));
}

/* C94 in short: copies from stream to stream with frees in between, over and over. */
GPU_TEST(gpu_streams, keeps_every_byte_over_many_rounds_of_handing_on)
{
    enum { ROUNDS = 300 };
    cudaStream_t a = gpu_stream();
    cudaStream_t b = gpu_stream();
    for (size_t bytes = KIB(64); bytes <= MIB(16); bytes *= 16) {
        void *result = gpu_alloc(bytes, b);
        for (int round = 0; round < ROUNDS; round++) {
            uint8_t value = (uint8_t)round;
            void *p = gpu_alloc(bytes, a);
            RUN(device->fill(a, p, bytes, value));
            gpu_order(a, b);
            RUN(device->check(b, p, bytes, value));
            RUN(device->compute(b, p, result, NULL, bytes, 0));
            GP(gp_free_async(p, b));
            if (round % 3 == 0)
                RUN(device->stream_synchronize(a));
        }
        GP(gp_free_async(result, b));
        gpu_settle();
    }
}
