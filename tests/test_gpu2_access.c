/*
 * Access of one GPU to memory of another's pool. It is the driver's to grant, per native pool; gp
 * hands out the native pool's handle. Needs CUDA.
 */
#include "gpu2_fixture.h"

#include <dlfcn.h>
#include <string.h>

typedef struct access_desc { /* CUmemAccessDesc */
    int location_type, location_id, flags;
} access_desc;
enum { LOCATION_DEVICE = 1, ACCESS_NONE = 0, ACCESS_READ_WRITE = 3 };

static void take_symbol(const char *name, void *function)
{
    void *entry = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    cr_assert(ne(ptr, entry, NULL), "%s", name);
    memcpy(function, &entry, sizeof(entry));
}

static int grant_access(int accessor)
{
    int (*set_access)(cudaMemPool_t native, const access_desc *list, size_t count) = NULL;
    const access_desc peer = {LOCATION_DEVICE, accessor, ACCESS_READ_WRITE};
    cudaMemPool_t native = NULL;
    take_symbol("cuMemPoolSetAccess", &set_access);
    GP(gp_pool_native_handle(pool, &native));
    return set_access(native, &peer, 1);
}

static int access_of(int accessor)
{
    int (*get_access)(int *flags, cudaMemPool_t native, int *location) = NULL;
    int location[2] = {LOCATION_DEVICE, accessor};
    int flags = -1;
    cudaMemPool_t native = NULL;
    take_symbol("cuMemPoolGetAccess", &get_access);
    GP(gp_pool_native_handle(pool, &native));
    cr_assert(eq(int, get_access(&flags, native, location), 0));
    return flags;
}

/* Where the devices cannot reach each other, the driver has to say so. */
static bool can_access_peer(void)
{
    int (*can_access)(int *can, int accessor, int peer) = NULL;
    int can = 0;
    take_symbol("cuDeviceCanAccessPeer", &can_access);
    cr_assert(eq(int, can_access(&can, 1, 0), 0));
    if (can == 0)
        cr_assert(ne(int, grant_access(1), 0));
    return can != 0;
}

/* C57: access holds for blocks handed out before and after, cached ones included; bytes are
 * compared, not only return codes. */
GPU2_TEST(gpu2_access, access_that_the_caller_grants_holds_for_every_block)
{
    static const size_t sizes[] = {KIB(32), MIB(64)};
    if (!can_access_peer())
        return;
    cudaStream_t here = gpu_stream();
    void *early[2];
    for (int i = 0; i < 2; i++) {
        early[i] = alloc_on(0, sizes[i], here);
        GP(gp_free_async(alloc_on(0, sizes[i], here), here)); /* cached before */
    }

    cr_assert(eq(int, grant_access(1), 0));

    RUN(device->set_current(1));
    cudaStream_t there = gpu_stream();
    RUN(device->set_current(0));
    for (int i = 0; i < 4; i++) {
        void *block = i < 2 ? early[i] : alloc_on(0, sizes[i % 2], here);
        RUN(device->fill(here, block, sizes[i % 2], (uint8_t)(i + 1)));
        RUN(device->stream_synchronize(here));
        RUN(device->set_current(1));
        RUN(device->check(there, block, sizes[i % 2], (uint8_t)(i + 1)));
        RUN(device->fill(there, block, sizes[i % 2], (uint8_t)(i + 100)));
        RUN(device->stream_synchronize(there));
        RUN(device->set_current(0));
        RUN(device->check(here, block, sizes[i % 2], (uint8_t)(i + 100)));
        GP(gp_free_async(block, here));
    }
}

/* C58: a new pool inherits no access from one whose handle it got. */
GPU2_TEST(gpu2_access, access_ends_with_the_pool_it_was_granted_for)
{
    if (!can_access_peer())
        return;
    for (int i = 0; i < 20; i++) {
        gp_pool_config config = gpu_config();
        cr_assert(eq(int, grant_access(1), 0));
        cr_assert(eq(int, access_of(1), ACCESS_READ_WRITE));

        gpu_reopen(&config);

        cr_assert(eq(int, access_of(1), ACCESS_NONE));
    }
}
