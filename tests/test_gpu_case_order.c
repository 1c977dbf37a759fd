/*
 * Reuse and release beside work that is still queued: data must be right, and nobody waits for
 * who need not be waited for. Runs on the simulated device too.
 */
#include "gpu_fixture.h"

/* A use that lasts, where a thread ends: a memory checker waits for all streams there, and would
 * wait for ever behind a gate. */
#define LONG_NS 300000000u

static void open_sharing(gp_share_mode share)
{
    gp_pool_config config = gpu_config();
    config.share = share;
    gpu_reopen(&config);
}

static void use(size_t bytes, cudaStream_t stream, uint8_t value)
{
    void *block = gpu_alloc(bytes, stream);
    RUN(device->fill(stream, block, bytes, value));
    RUN(device->check(stream, block, bytes, value));
    GP(gp_free_async(block, stream));
}

/* ---- between streams ---- */

/* C04: the consumer frees what the producer allocated, and the producer goes on at once. */
GPU_TEST(gpu_case_order, producer_overwrites_nothing_that_its_consumer_reads)
{
    cudaStream_t producer = gpu_stream();
    cudaStream_t consumer = gpu_stream();
    void *result = gpu_alloc(MIB(32), consumer);
    void *message = gpu_alloc(MIB(32), producer);
    RUN(device->fill(producer, message, MIB(32), 5));
    gpu_order(producer, consumer);
    device_gate gate = gpu_close_gate(consumer);
    RUN(device->check(consumer, message, MIB(32), 5));
    RUN(device->compute(consumer, message, result, NULL, MIB(32), 0));
    GP(gp_free_async(message, consumer));

    for (int i = 0; i < 4; i++)
        use(MIB(32), producer, 9);

    gpu_open_gate(gate);
    gpu_settle();
    gpu_destroy_gate(gate);
    GP(gp_free_async(result, consumer));
}

/* C06: the host runs far ahead; each block's last use is on another stream. */
GPU_TEST(gpu_case_order, host_that_runs_ahead_needs_a_few_blocks_only)
{
    cudaStream_t home = gpu_stream();
    cudaStream_t user = gpu_stream();

    for (int i = 0; i < 200; i++) {
        void *block = gpu_alloc(MIB(64), home);
        RUN(device->fill(home, block, MIB(64), (uint8_t)i));
        gpu_order(home, user);
        RUN(device->check(user, block, MIB(64), (uint8_t)i));
        RUN(device->touch(user, block, MIB(64), 500000));
        GP(gp_free_async(block, user));
    }

    gpu_settle();
    cr_assert(le(u64, gpu_stats().reserved_bytes_high, 4 * MIB(64)));
}

static void trim_everything(void *unused)
{
    (void)unused;
    EXPECT_GP(gp_pool_trim_to(pool, 0));
}

/* C09: a wait on the device does not stop the host, which therefore gives back nothing that it
 * has not seen complete. */
GPU_TEST(gpu_case_order, trim_by_another_thread_leaves_memory_in_use_alone)
{
    cudaStream_t stream = gpu_stream();
    GP(gp_stream_attach(pool, stream));
    void *block = gpu_alloc(MIB(32), stream);
    RUN(device->fill(stream, block, MIB(32), 7));
    RUN(device->touch(stream, block, MIB(32), LONG_NS));
    GP(gp_free_async(block, stream));

    gpu_in_thread(trim_everything, NULL);

    cr_assert(eq(u64, gpu_stats().reserved_bytes, MIB(32)));
    gpu_settle();
    trim_everything(NULL);
    cr_assert(eq(u64, gpu_stats().reserved_bytes, 0));
    GP(gp_stream_detach(pool, stream));
}

/* C12: streams end, some with work still queued; their memory serves others afterwards. */
GPU_TEST(gpu_case_order, memory_of_dead_streams_serves_the_living)
{
    gp_pool_config config = gpu_config();
    config.max_bytes = MIB(256);
    gpu_reopen(&config);
    for (int i = 0; i < 32; i++) {
        cudaStream_t stream = gpu_stream();
        void *block = gpu_alloc(MIB(8), stream);
        RUN(device->touch(stream, block, MIB(8), i % 2 ? 1000000 : 0));
        GP(gp_free_async(block, stream));
        RUN(device->stream_destroy(stream));
    }
    gpu_settle();

    use(MIB(200), NULL, 12);
}

/* C19: freed on the legacy stream, which waits for blocking streams by itself but for no others:
 * for one that does not block, the free has to be ordered or its use recorded. */
GPU_TEST(gpu_case_order, free_on_the_legacy_stream_comes_after_the_work_it_stands_for)
{
    const cudaStream_t users[] = {gpu_blocking_stream(), gpu_stream()};
    cudaStream_t third = gpu_stream();
    void *blocks[2];
    for (int i = 0; i < 2; i++) {
        blocks[i] = gpu_alloc(MIB(64), users[i]);
        RUN(device->fill(users[i], blocks[i], MIB(64), 1));
        RUN(device->touch(users[i], blocks[i], MIB(64), 50000000));
    }
    GP(gp_record_use(blocks[1], users[1]));
    gpu_order(users[1], DEVICE_STREAM_LEGACY);
    for (int i = 0; i < 2; i++)
        GP(gp_free_async(blocks[i], NULL));

    void *again[4];
    for (int i = 0; i < 4; i++) {
        cudaStream_t stream = i % 2 ? third : NULL;
        again[i] = gpu_alloc(MIB(64), stream);
        RUN(device->fill(stream, again[i], MIB(64), (uint8_t)(2 + i)));
    }

    gpu_settle();
    for (int i = 0; i < 4; i++) {
        cudaStream_t stream = i % 2 ? third : NULL;
        RUN(device->check(stream, again[i], MIB(64), (uint8_t)(2 + i)));
        GP(gp_free_async(again[i], stream));
    }
}

/* C81: a fast stream beside one that lags, whose blocks are freed with uses on two streams. With
 * GP_SHARE_COMPLETED it is never made to wait. */
GPU_TEST(gpu_case_order, fast_stream_never_waits_for_a_slow_one_where_waits_are_not_allowed)
{
    open_sharing(GP_SHARE_COMPLETED);
    cudaStream_t fast = gpu_stream();
    cudaStream_t slow = gpu_stream();
    cudaStream_t other = gpu_stream();
    device_gate gate = gpu_close_gate(slow);
    for (int i = 0; i < 8; i++) {
        void *block = gpu_alloc(MIB(8), slow);
        RUN(device->fill(slow, block, MIB(8), 1));
        gpu_order(slow, other);
        RUN(device->check(other, block, MIB(8), 1));
        GP(gp_record_use(block, other));
        GP(gp_free_async(block, slow));
    }

    for (int i = 0; i < 8; i++)
        GP(gp_free_async(gpu_alloc(MIB(8), fast), fast));

    gpu_pass(fast);
    cr_assert(eq(int, device->stream_query(slow), DEVICE_NOT_READY));
    cr_assert(eq(u64, gpu_stats().shared_waits, 0));
    use(MIB(8), fast, 2);
    gpu_open_gate(gate);
    gpu_settle();
    gpu_destroy_gate(gate);
}

/* C95: more blocks come back than a cache keeps, while their stream is stopped: the surplus is
 * not given back from the host, and no other stream slows down. */
GPU_TEST(gpu_case_order, surplus_of_a_stopped_stream_holds_up_nobody)
{
    open_sharing(GP_SHARE_COMPLETED);
    cudaStream_t stopped = gpu_stream();
    cudaStream_t running = gpu_stream();
    void *blocks[10];
    device_gate gate = gpu_close_gate(stopped);
    for (int i = 0; i < 10; i++) {
        blocks[i] = gpu_alloc(MIB(8), stopped);
        RUN(device->fill(stopped, blocks[i], MIB(8), 1));
    }
    uint64_t begin = device->now_ns();
    for (int i = 0; i < 10; i++)
        GP(gp_free_async(blocks[i], stopped));
    uint64_t took = device->now_ns() - begin;

    for (int i = 0; i < 6; i++)
        blocks[i] = gpu_alloc(MIB(8), running);
    gpu_pass(running);
    cr_assert(eq(int, device->stream_query(stopped), DEVICE_NOT_READY));
    for (int i = 0; i < 6; i++)
        RUN(device->fill(running, blocks[i], MIB(8), 2));
    gpu_open_gate(gate);
    gpu_settle();
    gpu_destroy_gate(gate);
    for (int i = 0; i < 6; i++) {
        RUN(device->check(running, blocks[i], MIB(8), 2));
        GP(gp_free_async(blocks[i], running));
    }
    cr_assert(lt(u64, took, 10000000), "ten frees took %llu ns", (unsigned long long)took);
}

/* C94: copies only, freed on the stream that read; the stream that wrote is synchronised now and
 * then, when a native pool with the usual threshold gives memory back. */
GPU_TEST(gpu_case_order, no_round_of_copies_loses_a_byte)
{
    static const size_t sizes[] = {KIB(64), MIB(1), MIB(4), MIB(64)};
    for (int share = GP_SHARE_WAIT; share <= GP_SHARE_NEVER; share++) {
        open_sharing((gp_share_mode)share);
        cudaStream_t a = gpu_stream();
        cudaStream_t b = gpu_stream();
        for (int round = 0; round < 600; round++) {
            size_t bytes = sizes[round % 4];
            void *block = gpu_alloc(bytes, a);
            RUN(device->fill(a, block, bytes, (uint8_t)round));
            gpu_order(a, b);
            RUN(device->check(b, block, bytes, (uint8_t)round));
            GP(gp_free_async(block, b));
            if (round % 3 == 0)
                RUN(device->stream_synchronize(a));
        }
        gpu_settle();
    }
}
