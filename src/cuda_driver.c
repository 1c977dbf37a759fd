/* Finds the CUDA driver and takes its entry points. */
#include "cuda_driver.h"

#include "cuda_status.h"
#include "error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef GP_HAVE_CUDA_H
#include <cuda.h>

/* What cuda_driver.h declares is what the Toolkit declares. */
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is " #theirs)

SAME(sizeof(gp_cu_address), sizeof(CUdeviceptr));
SAME(sizeof(int), sizeof(CUdevice));
SAME(sizeof(int), sizeof(CUresult));
SAME(sizeof(int), sizeof(CUstreamCaptureMode));
SAME(sizeof(int), sizeof(CUstreamCaptureStatus));

SAME(sizeof(gp_cu_pool_props), sizeof(CUmemPoolProps));
SAME(offsetof(gp_cu_pool_props, handle_types), offsetof(CUmemPoolProps, handleTypes));
SAME(offsetof(gp_cu_pool_props, location_type), offsetof(CUmemPoolProps, location));
SAME(offsetof(gp_cu_pool_props, location_id),
     offsetof(CUmemPoolProps, location) + offsetof(CUmemLocation, id));
SAME(offsetof(gp_cu_pool_props, security_attributes),
     offsetof(CUmemPoolProps, win32SecurityAttributes));
#if CUDA_VERSION >= 12020
SAME(offsetof(gp_cu_pool_props, max_bytes), offsetof(CUmemPoolProps, maxSize));
#endif

SAME(GP_CU_SUCCESS, CUDA_SUCCESS);
SAME(GP_CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(GP_CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(GP_CU_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(GP_CU_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(GP_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(GP_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(GP_CU_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(GP_CU_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(GP_CU_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(GP_CU_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(GP_CU_HANDLE_NONE, CU_MEM_HANDLE_TYPE_NONE);
SAME(GP_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(GP_CU_POOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(GP_CU_POOL_RESERVED, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME(GP_CU_POOL_RESERVED_HIGH, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
SAME(GP_CU_POOL_USED, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);

#undef SAME
#endif

gp_cuda_driver gp_cuda;

static struct {
    pthread_once_t once;
    int version;
    gp_status status;
    char reason[256]; /* why status is not GP_OK */
} load = {.once = PTHREAD_ONCE_INIT};

GP_PRINTF(1, 2)
static gp_status refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(load.reason, sizeof(load.reason), format, arguments);
    va_end(arguments);
    return GP_ERR_UNSUPPORTED;
}

/* cuGetProcAddress as CUDA 11.3 made it; later drivers keep this symbol. */
typedef int (*get_proc_address)(const char *symbol, void **entry, int version, uint64_t flags);

typedef struct driver_library {
    void *handle;
    get_proc_address look_up; /* NULL: a driver older than it */
} driver_library;

/* POSIX makes dlsym's result a function's address; C has no cast for it. */
static void store_entry(void *field, void *entry)
{
    memcpy(field, &entry, sizeof(entry));
}

/*
 * The version pins the meaning an entry had then, whatever the driver has made
 * of it since. The flags 0 ask for NULL streams to be the legacy one, which
 * plain names mean too.
 */
static void *find_entry(const driver_library *library, const char *symbol, const char *suffix,
                        int version)
{
    void *entry = NULL;
    if (library->look_up != NULL && library->look_up(symbol, &entry, version, 0) == GP_CU_SUCCESS &&
        entry != NULL)
        return entry;

    char exported[64];
    snprintf(exported, sizeof(exported), "%s%s", symbol, suffix);
    return dlsym(library->handle, exported);
}

static gp_status take_entries(const driver_library *library)
{
    static const struct {
        size_t offset;
        const char *symbol;
        const char *suffix;
        int version;
    } wanted[] = {
#define GP_CUDA_ROW(field, symbol, suffix, version, parameters)                                    \
    {offsetof(gp_cuda_driver, field), symbol, suffix, version},
        GP_CUDA_ENTRIES(GP_CUDA_ROW)
#undef GP_CUDA_ROW
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *entry = find_entry(library, wanted[i].symbol, wanted[i].suffix, wanted[i].version);
        if (entry == NULL)
            return refuse("the CUDA driver (version %d.%d) lacks %s, which came with %d.%d",
                          load.version / 1000, load.version % 1000 / 10, wanted[i].symbol,
                          wanted[i].version / 1000, wanted[i].version % 1000 / 10);
        store_entry((char *)&gp_cuda + wanted[i].offset, entry);
    }
    return GP_OK;
}

static gp_status start_driver(void)
{
    int result = gp_cuda.init(0);
    if (result != GP_CU_SUCCESS)
        return refuse("cuInit: %s (%d)", gp_native_error_name(result), result);

    int count = 0;
    result = gp_cuda.device_get_count(&count);
    if (result != GP_CU_SUCCESS)
        return refuse("cuDeviceGetCount: %s (%d)", gp_native_error_name(result), result);
    if (count == 0)
        return refuse("the CUDA driver finds no device");
    return GP_OK;
}

/* Asked first, since it needs no initialised driver and belongs in every refusal. */
static void read_version(const driver_library *library)
{
    int (*get_version)(int *version) = NULL;
    store_entry(&get_version, dlsym(library->handle, "cuDriverGetVersion"));
    if (get_version != NULL)
        get_version(&load.version);
}

static gp_status load_driver(void)
{
    /* Never closed: threads of the driver outlive everything gp could wait for. */
    driver_library library = {.handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (library.handle == NULL)
        return refuse("no CUDA driver: %s", dlerror());

    store_entry(&library.look_up, dlsym(library.handle, "cuGetProcAddress"));
    read_version(&library);
    gp_status status = take_entries(&library);
    return status == GP_OK ? start_driver() : status;
}

static void load_once(void)
{
    load.status = load_driver();
}

gp_status gp_cuda_driver_load(void)
{
    pthread_once(&load.once, load_once);
    if (load.status != GP_OK)
        return gp_error_set(load.status, "%s", load.reason);
    return GP_OK;
}

int gp_cuda_driver_version(void)
{
    return load.version;
}
