/*
 * What a program may do with a block, or to the device, behind gp's back: export, reset, host
 * functions, the end of the process. Needs CUDA.
 */
#include "gpu_fixture.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take_symbol(const char *name, void *function)
{
    void *entry = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    cr_assert(ne(ptr, entry, NULL), "%s", name);
    memcpy(function, &entry, sizeof(entry));
}

/* ---- export ---- */

/* C59, C60: a handle of a block inside a larger allocation opened at the start of that, so that
 * the other process read its neighbour. Memory of native pools has no such handle: the driver
 * says so, and gp offers no export of its own. */
GPU_TEST(gpu_case_driver, block_cannot_be_exported_by_the_legacy_handle)
{
    enum { HANDLE_BYTES = 64, INVALID_VALUE = 1 };
    int (*get_handle)(void *handle, uintptr_t ptr) = NULL;
    unsigned char handle[HANDLE_BYTES];
    cudaStream_t stream = gpu_stream();
    void *blocks[4];
    take_symbol("cuIpcGetMemHandle", &get_handle);
    for (int i = 0; i < 4; i++) {
        blocks[i] = gpu_alloc(MIB(1), stream);
        RUN(device->fill(stream, blocks[i], MIB(1), (uint8_t)(i + 1)));
    }
    RUN(device->stream_synchronize(stream));

    for (int i = 0; i < 4; i++)
        cr_assert(eq(int, get_handle(handle, (uintptr_t)blocks[i]), INVALID_VALUE));

    for (int i = 0; i < 4; i++) {
        RUN(device->check(stream, blocks[i], MIB(1), (uint8_t)(i + 1)));
        GP(gp_free_async(blocks[i], stream));
    }
}

/* ---- host functions ---- */

enum { BLOCKS = 100 };

typedef struct parcel {
    void *block;
    cudaStream_t stream;
} parcel;

static atomic_int freed;
static atomic_int refused;

static void free_in_host_function(void *argument)
{
    const parcel *sent = argument;
    if (gp_free_async(sent->block, sent->stream) == GP_OK)
        atomic_fetch_add(&freed, 1);
    else
        atomic_fetch_add(&refused, 1);
}

/* C76: freed inside a function that the stream runs, where no driver call is allowed, while the
 * main thread grows and trims the pool. On an attached stream a free of a small block makes none.
 */
GPU_TEST(gpu_case_driver, free_in_a_host_function_of_an_attached_stream_hangs_nobody)
{
    int (*launch)(cudaStream_t stream, void (*function)(void *), void *argument) = NULL;
    static parcel parcels[BLOCKS];
    cudaStream_t stream = gpu_stream();
    cudaStream_t other = gpu_stream();
    take_symbol("cuLaunchHostFunc", &launch);
    GP(gp_stream_attach(pool, stream));
    for (int i = 0; i < BLOCKS; i++)
        parcels[i] = (parcel){.block = gpu_alloc(KIB(4), stream), .stream = stream};
    (void)alarm(30);

    for (int i = 0; i < BLOCKS; i++) {
        RUN(device->touch(stream, parcels[i].block, KIB(4), 10000));
        cr_assert(eq(int, launch(stream, free_in_host_function, &parcels[i]), 0));
        void *miss = gpu_alloc(MIB(3) + MIB(1) * (size_t)i, other);
        GP(gp_free_async(miss, other));
        if (i % 10 == 0)
            GP(gp_pool_trim_to(pool, 0));
    }

    RUN(device->synchronize());
    (void)alarm(0);
    cr_assert(eq(int, atomic_load(&freed), BLOCKS));
    cr_assert(eq(int, atomic_load(&refused), 0));
    cr_assert(eq(u64, gpu_stats().live_blocks, 0));
    GP(gp_stream_detach(pool, stream));
}

/* ---- the device is reset ---- */

/* C65: another library resets the device. The old pool's calls fail, none hangs or crashes, it
 * can be destroyed, and a new pool works. Streams went with the context: to name one is a fault
 * of the caller's, which the driver does not survive. */
Test(gpu_case_driver, pool_of_a_device_that_was_reset_fails_and_goes)
{
    int (*reset)(int device) = NULL;
    void *none = NULL;
    gpu_open();
    take_symbol("cuDevicePrimaryCtxReset_v2", &reset);
    cudaStream_t stream = gpu_stream();
    void *block = gpu_alloc(MIB(64), stream);
    void *small = gpu_alloc(KIB(4), stream);
    GP(gp_free_async(block, stream));
    RUN(device->stream_synchronize(stream));

    cr_assert(eq(int, reset(0), 0));

    cr_assert(ne(int, (int)gp_alloc_from_pool_async(&none, MIB(64), pool, NULL), (int)GP_OK));
    cr_assert(ne(int, (int)gp_alloc_from_pool_async(&none, GIB(1), pool, NULL), (int)GP_OK));
    cr_assert(ne(int, (int)gp_free_async(small, NULL), (int)GP_OK));
    (void)!gp_pool_trim_to(pool, 0);
    GP(gp_pool_destroy_forced(pool));

    gp_pool_config config = gpu_config();
    GP(gp_pool_create(&pool, &config));
    block = gpu_alloc(MIB(64), NULL);
    GP(gp_free_async(block, NULL));
    GP(gp_pool_destroy(pool));
}

/* ---- the process ends ---- */

enum { ENDED_AS_MEANT = 17 };

static void leave_everything_behind(void)
{
    gpu_open();
    for (int i = 0; i < 4; i++) {
        cudaStream_t stream = gpu_stream();
        if (i % 2 == 0)
            GP(gp_stream_attach(pool, stream));
        for (size_t bytes = KIB(4); bytes <= MIB(16); bytes *= 64) {
            void *block = gpu_alloc(bytes, stream);
            RUN(device->touch(stream, block, bytes, 1000000));
            GP(gp_free_async(block, stream));
        }
        (void)gpu_alloc(KIB(64), stream);
    }
}

/* C62: main returns with a pool that has cached, pending and live blocks on four streams. The
 * test's own process is the one that ends: a tool that watches it does not reach into forks. */
Test(gpu_case_driver, process_may_end_with_a_pool_in_use, .exit_code = ENDED_AS_MEANT)
{
    leave_everything_behind();
    exit(ENDED_AS_MEANT);
}
