/*
 * What a pool holds on a device, what it gives back and when, and what a call may take. Runs on
 * the simulated device too.
 */
#include "gpu_fixture.h"

static void use(size_t bytes, cudaStream_t stream)
{
    void *block = gpu_alloc(bytes, stream);
    RUN(device->touch(stream, block, bytes, 0));
    GP(gp_free_async(block, stream));
}

static void limit_pool(size_t bytes)
{
    gp_pool_config config = gpu_config();
    config.max_bytes = bytes;
    gpu_reopen(&config);
}

/* C33: zero bytes and NULL, beside a live block, in any order. */
GPU_TEST(gpu_case_memory, zero_bytes_are_null_and_alias_nothing)
{
    cudaStream_t stream = gpu_stream();
    void *none[2] = {&none, &none};
    void *block = gpu_alloc(512, stream);
    for (int i = 0; i < 2; i++) {
        GP(gp_alloc_from_pool_async(&none[i], 0, pool, stream));
        cr_assert(eq(ptr, none[i], NULL));
    }
    GP(gp_free_async(none[1], stream));
    RUN(device->fill(stream, block, 512, 3));
    GP(gp_free_async(none[0], stream));
    RUN(device->check(stream, block, 512, 3));
    cr_assert(eq(u64, gpu_stats().live_blocks, 1));
    GP(gp_free_async(block, stream));
    cr_assert(eq(u64, gpu_stats().requests, 1));
}

/* C39: a pool that keeps its memory needs no new mapping after a synchronisation. */
GPU_TEST(gpu_case_memory, stays_mapped_across_synchronisations)
{
    cudaStream_t stream = gpu_stream();
    use(MIB(256), stream);
    RUN(device->stream_synchronize(stream));
    gp_pool_stats first = gpu_stats();
    uint64_t worst = 0;

    for (int i = 0; i < 300; i++) {
        uint64_t begin = device->now_ns();
        void *block = gpu_alloc(MIB(256), stream);
        uint64_t took = device->now_ns() - begin;
        worst = took > worst ? took : worst;
        RUN(device->touch(stream, block, MIB(256), 0));
        GP(gp_free_async(block, stream));
        RUN(device->stream_synchronize(stream));
        cr_assert(eq(u64, gpu_stats().native_reserved_bytes, first.native_reserved_bytes));
    }

    cr_assert(eq(u64, gpu_stats().native_allocs, first.native_allocs));
    cr_assert(lt(u64, worst, 10000000), "%llu ns", (unsigned long long)worst);
}

/* C40: at its limit a pool must not give everything back in one call. */
GPU_TEST(gpu_case_memory, no_call_at_the_limit_takes_long)
{
    limit_pool(GIB(9));
    cudaStream_t stream = gpu_stream();
    uint64_t worst = 0;
    for (size_t i = 0; i < 109; i++) {
        size_t bytes = GIB(1) * (i < 9 ? i + 1 : i % 9 + 1);
        uint64_t begin = device->now_ns();
        void *block = gpu_alloc(bytes, stream);
        uint64_t took = device->now_ns() - begin;
        if (i >= 9 && took > worst)
            worst = took;
        GP(gp_free_async(block, stream));
        RUN(device->stream_synchronize(stream));
    }
    cr_assert(lt(u64, worst, 50000000), "%llu ns", (unsigned long long)worst);
}

/* C07: what the request needs is set free by the caller alone, after the call. */
GPU_TEST(gpu_case_memory, request_that_only_the_caller_could_help_returns)
{
    limit_pool(MIB(64));
    cudaStream_t stream = gpu_stream();
    cudaStream_t other = gpu_stream();
    void *held = gpu_alloc(MIB(32), stream);
    void *block = gpu_alloc(MIB(32), stream);
    void *none = NULL;
    device_gate gate = gpu_close_gate(stream);
    RUN(device->fill(stream, block, MIB(32), 1));
    GP(gp_free_async(block, stream));
    uint64_t begin = device->now_ns();

    gp_status status = gp_alloc_from_pool_async(&none, MIB(48), pool, other);

    uint64_t took = device->now_ns() - begin;
    gpu_open_gate(gate);
    gpu_settle();
    gpu_destroy_gate(gate);
    cr_assert(eq(int, (int)status, (int)GP_ERR_LIMIT));
    cr_assert(lt(u64, took, 5000000000u));
    GP(gp_free_async(held, stream));
    gpu_settle();
    use(MIB(48), other);
}

/* C45: asked for while the block that has to make room is still in use, and again after. */
GPU_TEST(gpu_case_memory, larger_request_succeeds_once_the_smaller_block_is_done_with)
{
    limit_pool(MIB(400));
    cudaStream_t stream = gpu_stream();
    void *block = gpu_alloc(MIB(256), stream);
    RUN(device->touch(stream, block, MIB(256), 50000000));
    GP(gp_free_async(block, stream));
    uint64_t begin = device->now_ns();

    gp_status status = gp_alloc_from_pool_async(&block, MIB(300), pool, stream);

    cr_assert(lt(u64, device->now_ns() - begin, 1000000000));
    cr_assert(status == GP_OK || status == GP_ERR_LIMIT, "%s", gp_last_error());
    if (status == GP_OK)
        GP(gp_free_async(block, stream));
    RUN(device->stream_synchronize(stream));
    use(MIB(300), stream);
}

/* C52: another allocator of the process needs what lies idle in the pool. */
GPU_TEST(gpu_case_memory, idle_memory_is_there_for_others_after_a_trim)
{
    cudaStream_t stream = gpu_stream();
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    void *plain = NULL;
    GP(gp_stream_attach(pool, stream));
    RUN(device->mem_info(&free_bytes, &total_bytes));
    size_t most = free_bytes / 5 * 3;
    use(most, stream);
    RUN(device->stream_synchronize(stream));
    cr_assert(eq(int, device->plain_alloc(&plain, most), DEVICE_OUT_OF_MEMORY));

    GP(gp_pool_trim_to(pool, 0));

    RUN(device->plain_alloc(&plain, most));
    RUN(device->plain_free(plain));
    GP(gp_stream_detach(pool, stream));
}

/* ---- ends ---- */

static void fill_cache(void *stream)
{
    void *blocks[100] = {NULL};
    for (int i = 0; i < 100; i++)
        EXPECT_GP(gp_alloc_from_pool_async(&blocks[i], KIB(64), pool, (cudaStream_t)stream));
    for (int i = 0; i < 100; i++)
        EXPECT_GP(gp_free_async(blocks[i], (cudaStream_t)stream));
}

/* C63: threads come and go; each leaves what it kept to the next. */
GPU_TEST(gpu_case_memory, threads_that_end_leave_their_caches_behind)
{
    cudaStream_t stream = gpu_stream();
    fill_cache(stream);
    uint64_t reserved = gpu_stats().reserved_bytes;

    for (int i = 0; i < 64; i++)
        gpu_in_thread(fill_cache, stream);

    cr_assert(le(u64, gpu_stats().reserved_bytes, reserved + MIB(32)));
    cr_assert(eq(u32, gpu_stats().threads, 1));
    cr_assert(eq(u64, gpu_stats().live_bytes, 0));
}

/* C64: the pool goes while blocks are live and their work is queued. */
GPU_TEST(gpu_case_memory, pool_may_go_before_its_blocks)
{
    gp_pool_config config = gpu_config();
    cudaStream_t stream = gpu_stream();
    void *blocks[10];
    for (int i = 0; i < 10; i++) {
        blocks[i] = gpu_alloc(KIB(64) << i, stream);
        RUN(device->touch(stream, blocks[i], KIB(64) << i, 100000));
    }
    for (int i = 0; i < 5; i++)
        GP(gp_free_async(blocks[i], stream));

    cr_assert(eq(int, (int)gp_pool_destroy(pool), (int)GP_ERR_BUSY));
    GP(gp_pool_destroy_forced(pool));
    GP(gp_pool_create(&pool, &config));

    for (int i = 5; i < 10; i++)
        cr_assert(eq(int, (int)gp_free_async(blocks[i], stream), (int)GP_ERR_NOT_OWNED));
    use(MIB(32), stream);
}
