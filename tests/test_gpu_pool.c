/* Memory of a pool, as the device sees it. Runs on the simulated device too. */
#include "gpu_fixture.h"

static const size_t usual_sizes[] = {1,      64,     65,      512,     513,     4096,    100000,
                                     262144, 700000, 1048576, 1048577, 5 << 20, 64 << 20};
enum { SIZE_COUNT = sizeof(usual_sizes) / sizeof(usual_sizes[0]) };

/* All at once, filled and compared to the last byte, so that blocks that overlap show. */
static void use_every_size(cudaStream_t stream)
{
    void *blocks[SIZE_COUNT];
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        size_t usable = 0;
        blocks[i] = gpu_alloc(usual_sizes[i], stream);
        GP(gp_usable_size(blocks[i], &usable));
        cr_assert(ge(sz, usable, usual_sizes[i]));
        cr_assert(eq(sz, (uintptr_t)blocks[i] % 512, 0));
        RUN(device->fill(stream, blocks[i], usable, (uint8_t)(i + 1)));
    }
    for (size_t i = 0; i < SIZE_COUNT; i++)
        RUN(device->check(stream, blocks[i], usual_sizes[i], (uint8_t)(i + 1)));
    for (size_t i = 0; i < SIZE_COUNT; i++)
        GP(gp_free_async(blocks[i], stream));
}

GPU_TEST(gpu_pool, gives_memory_that_can_be_written_on_every_kind_of_stream)
{
    cudaStream_t attached = gpu_stream();
    GP(gp_stream_attach(pool, attached));
    const cudaStream_t streams[] = {attached, gpu_stream(),         gpu_blocking_stream(),
                                    NULL,     DEVICE_STREAM_LEGACY, DEVICE_STREAM_PER_THREAD};

    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        for (int round = 0; round < 3; round++)
            use_every_size(streams[i]);
    }

    gpu_settle();
    gp_pool_stats stats = gpu_stats();
    cr_assert(eq(u64, stats.live_bytes, 0));
    cr_assert(eq(u64, stats.live_blocks, 0));
    cr_assert(lt(u64, 0, stats.l1_hits + stats.l2_hits));
    GP(gp_stream_detach(pool, attached));
}

GPU_TEST(gpu_pool, stands_on_a_native_pool_that_keeps_its_memory)
{
    cudaStream_t stream = gpu_stream();
    cudaMemPool_t native = NULL;
    uint64_t threshold = 0;
    device_pool_usage usage;
    GP(gp_pool_native_handle(pool, &native));

    void *block = gpu_alloc(MIB(100), stream);
    RUN(device->touch(stream, block, MIB(100), 0));
    RUN(device->pool_get_threshold(native, &threshold));
    RUN(device->pool_get_usage(native, &usage));
    GP(gp_free_async(block, stream));
    RUN(device->stream_synchronize(stream));

    gp_pool_stats stats = gpu_stats();
    cr_assert(eq(u64, threshold, UINT64_MAX));
    cr_assert(ge(u64, usage.used_bytes, MIB(100)));
    cr_assert(eq(u64, stats.native_reserved_bytes, usage.reserved_bytes));
    cr_assert(ge(u64, usage.reserved_bytes, stats.reserved_bytes));
}

GPU_TEST(gpu_pool, describes_the_device_it_stands_on)
{
    char name[128];
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    gp_device_info info = {.struct_bytes = sizeof(info)};
    RUN(device->get_name(0, name, sizeof(name)));
    RUN(device->mem_info(&free_bytes, &total_bytes));

    GP(gp_pool_get_device(pool, &info));

    cr_assert(eq(int, (int)info.backend, (int)device->kind));
    cr_assert(eq(int, info.device, 0));
    cr_assert(eq(str, info.name, name));
    cr_assert(ge(sz, info.total_bytes, total_bytes));
}

GPU_TEST(gpu_pool, gives_idle_memory_back_to_the_device_when_trimmed)
{
    cudaStream_t stream = gpu_stream();
    cudaMemPool_t native = NULL;
    device_pool_usage usage;
    size_t free_before = 0;
    size_t free_after = 0;
    size_t total_bytes = 0;
    GP(gp_pool_native_handle(pool, &native));
    GP(gp_stream_attach(pool, stream));
    void *small = gpu_alloc(KIB(10), stream);
    void *large = gpu_alloc(GIB(1), stream);
    GP(gp_free_async(large, stream));
    GP(gp_free_async(small, stream));
    RUN(device->stream_synchronize(stream));
    RUN(device->mem_info(&free_before, &total_bytes));

    /* What the first trim returns to the native pool in stream order, the second
     * returns to the device. */
    GP(gp_pool_trim_to(pool, 0));
    RUN(device->stream_synchronize(stream));
    GP(gp_pool_trim_to(pool, 0));

    RUN(device->mem_info(&free_after, &total_bytes));
    RUN(device->pool_get_usage(native, &usage));
    cr_assert(eq(u64, usage.reserved_bytes, 0));
    cr_assert(ge(sz, free_after, free_before + GIB(1)));
    cr_assert(eq(u64, gpu_stats().reserved_bytes, 0));
    GP(gp_stream_detach(pool, stream));
}

/* Each block is done with before it is freed: to a memory checker that is when its bytes end. */
GPU_TEST(gpu_pool, in_plain_memory_is_as_good_and_gives_it_back)
{
    cudaStream_t stream = gpu_stream();
    gp_pool_config config = gpu_config();
    config.annotate_memory = true;
    gpu_reopen(&config);
    GP(gp_stream_attach(pool, stream));

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < SIZE_COUNT; i++) {
            void *block = gpu_alloc(usual_sizes[i], stream);
            RUN(device->fill(stream, block, usual_sizes[i], (uint8_t)(i + 1)));
            RUN(device->check(stream, block, usual_sizes[i], (uint8_t)(i + 1)));
            RUN(device->stream_synchronize(stream));
            GP(gp_free_async(block, stream));
        }
    }
    gpu_settle();
    cr_assert(lt(u64, 0, gpu_stats().reserved_bytes));
    GP(gp_pool_trim_to(pool, 0));

    gp_pool_stats stats = gpu_stats();
    cr_assert(eq(u64, stats.reserved_bytes, 0));
    cr_assert(eq(u64, stats.native_allocs, stats.native_frees));
    if (device->kind == GP_BACKEND_CUDA)
        cr_assert(eq(u64, stats.native_reserved_bytes, 0)); /* it went past the native pool */
    GP(gp_stream_detach(pool, stream));
}

GPU_TEST(gpu_pool, says_that_the_device_is_full_and_goes_on)
{
    cudaStream_t stream = gpu_stream();
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    void *block = &block;
    RUN(device->mem_info(&free_bytes, &total_bytes));

    gp_status status = gp_alloc_from_pool_async(&block, total_bytes + GIB(1), pool, stream);

    cr_assert(eq(int, (int)status, (int)GP_ERR_OUT_OF_MEMORY));
    cr_assert(eq(ptr, block, &block));
    cr_assert(ne(str, (char *)gp_last_error(), ""));
    use_every_size(stream);
}

/* Another stream's idle memory is given back before a request fails for want of it. */
GPU_TEST(gpu_pool, lets_go_of_idle_memory_before_it_says_that_the_device_is_full)
{
    gp_pool_config config = gpu_config();
    config.share = GP_SHARE_NEVER;
    gpu_reopen(&config);
    cudaStream_t first = gpu_stream();
    cudaStream_t second = gpu_stream();
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    RUN(device->mem_info(&free_bytes, &total_bytes));
    size_t most = free_bytes / 5 * 3;
    void *idle = gpu_alloc(most, first);
    GP(gp_free_async(idle, first));
    RUN(device->stream_synchronize(first));

    void *block = gpu_alloc(most, second);

    RUN(device->fill(second, block, most, 3));
    RUN(device->check(second, block, most, 3));
    GP(gp_free_async(block, second));
}

/* C31: sizes around the powers of two that 32-bit arithmetic gets wrong. */
GPU_TEST(gpu_pool, gives_all_of_a_block_beyond_four_gigabytes)
{
    const size_t sizes[] = {((size_t)1 << 31) - 1,
                            (size_t)1 << 31,
                            ((size_t)1 << 31) + 1,
                            ((size_t)1 << 32) - 1,
                            (size_t)1 << 32,
                            ((size_t)1 << 32) + 1,
                            5 * GIB(1)};
    cudaStream_t stream = gpu_stream();

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t usable = 0;
        char *block = gpu_alloc(sizes[i], stream);
        GP(gp_usable_size(block, &usable));
        cr_assert(ge(sz, usable, sizes[i]));

        RUN(device->fill(stream, block, 1, 1));
        RUN(device->fill(stream, block + sizes[i] - 1, 1, 2));
        RUN(device->check(stream, block, 1, 1));
        RUN(device->check(stream, block + sizes[i] - 1, 1, 2));
        GP(gp_free_async(block, stream));
    }

    gpu_settle();
    cr_assert(eq(u64, gpu_stats().live_bytes, 0));
}
