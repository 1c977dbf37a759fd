/*
 * Debug aids on the device: what they write is there in time, and what a program writes where it
 * must not is found. Runs on the simulated device too, which knows of contents what was filled.
 */
#include "gpu_fixture.h"

#include <string.h>

/* C89 */
GPU_TEST(gpu_aids, fresh_block_holds_poison_for_whoever_comes_after_the_allocation)
{
    gp_pool_config config = gpu_config();
    config.poison = true;
    gpu_reopen(&config);
    cudaStream_t home = gpu_stream();
    cudaStream_t other = gpu_stream();

    for (int i = 0; i < 20; i++) {
        void *block = gpu_alloc(MIB(8), home);
        gpu_order(home, other);
        RUN(device->check(other, block, MIB(8), GP_POISON_FRESH));
        RUN(device->fill(other, block, MIB(8), (uint8_t)i));
        RUN(device->check(other, block, MIB(8), (uint8_t)i));
        gpu_order(other, home);
        GP(gp_free_async(block, home));
    }
    gpu_settle();
}

/* C87 */
GPU_TEST(gpu_aids, write_behind_a_block_is_found_after_its_free)
{
    gp_pool_config config = gpu_config();
    config.guard_bytes = 512;
    gpu_reopen(&config);
    cudaStream_t stream = gpu_stream();
    for (unsigned i = 0; i < 20; i++) {
        void *block = gpu_alloc(KIB(1), stream);
        RUN(device->fill(stream, block, i == 13 ? KIB(1) + 16 : KIB(1), 1));
        GP(gp_free_async(block, stream));
    }
    gpu_settle();

    gp_status status = gp_pool_check(pool);

    cr_assert(eq(int, (int)status, (int)GP_ERR_CORRUPTED));
    cr_assert(ne(ptr, strstr(gp_last_error(), "written 0 bytes past the end of"), NULL), "%s",
              gp_last_error());
    cr_assert(eq(u64, gpu_stats().overruns, 1));
    cr_assert(eq(u64, gpu_stats().unchecked_blocks, 0));
    GP(gp_pool_check(pool));
}

GPU_TEST(gpu_aids, write_before_a_live_block_is_found_in_a_check)
{
    gp_pool_config config = gpu_config();
    config.guard_bytes = 512;
    gpu_reopen(&config);
    cudaStream_t stream = gpu_stream();
    char *block = gpu_alloc(MIB(1), stream);
    RUN(device->fill(stream, block - 16, MIB(1), 1));
    gpu_settle();

    gp_status status = gp_pool_check(pool);

    cr_assert(eq(int, (int)status, (int)GP_ERR_CORRUPTED));
    cr_assert(ne(ptr, strstr(gp_last_error(), "written 16 bytes before the start of"), NULL), "%s",
              gp_last_error());
    GP(gp_free_async(block, stream));
    gpu_settle();
    cr_assert(eq(int, (int)gp_pool_check(pool), (int)GP_ERR_CORRUPTED), "it is freed so");
}
