/*
 * A stand-in for the CUDA driver, built as libcuda.so.1: the entry points that gp takes, over a
 * simulated device of its own. So the code that calls the driver runs where there is none, and is
 * held to the same rules: captures that are invalidated, order, capacity, calls that fail.
 *
 * It is stricter than a driver: whatever needs a context is refused without one. It exports no
 * cuGetProcAddress, as drivers did before CUDA 11.3; fake_driver.c does.
 */
#include "contexts.h"
#include "export.h"
#include "proof/device.h"
#include "sim_memory.h"
#include "sim_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_special(cudaStream_t stream)
{
    return (uintptr_t)stream <= 2;
}

static bool lacks_context(cudaStream_t stream)
{
    return is_special(stream) && !standin_has_context();
}

#define NEED_CONTEXT()                                                                             \
    do {                                                                                           \
        if (!standin_has_context())                                                                \
            return GP_CU_INVALID_CONTEXT;                                                          \
    } while (0)

/* ---- for the tests ---- */

STANDIN_EXPORT(const proof_device *, gp_standin_device, (void))
{
    static const proof_device device = {.backend = GP_BACKEND_CUDA,
                                        PROOF_DEVICE_ENTRIES.set_context = standin_set_context};
    return &device;
}

/* ---- the driver and its devices ---- */

STANDIN_EXPORT(int, cuDriverGetVersion, (int *version))
{
    *version = 13000;
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuInit, (unsigned flags))
{
    return flags == 0 ? GP_CU_SUCCESS : STANDIN_INVALID_VALUE;
}

STANDIN_EXPORT(int, cuDeviceGetCount, (int *count))
{
    *count = standin_device_count();
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuDeviceGet, (int *device, int ordinal))
{
    if (ordinal < 0 || ordinal >= standin_device_count())
        return STANDIN_INVALID_DEVICE;
    *device = ordinal;
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuDeviceGetName, (char *name, int capacity, int device))
{
    (void)snprintf(name, (size_t)capacity, "stand-in %d", device);
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuDeviceTotalMem_v2, (size_t * bytes, int device))
{
    const int current = gp_sim_get_device();
    size_t free_bytes = 0;
    int result = gp_sim_set_device(device);
    if (result == GP_CU_SUCCESS)
        result = gp_sim_mem_get_info(&free_bytes, bytes);
    (void)gp_sim_set_device(current);
    return result;
}

STANDIN_EXPORT(int, cuDeviceGetAttribute, (int *value, int attribute, int device))
{
    (void)device;
    if (attribute != GP_CU_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
        return STANDIN_INVALID_VALUE;
    *value = 1;
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuMemGetInfo_v2, (size_t * free_bytes, size_t *total_bytes))
{
    NEED_CONTEXT();
    return gp_sim_mem_get_info(free_bytes, total_bytes);
}

STANDIN_EXPORT(int, cuCtxSynchronize, (void))
{
    NEED_CONTEXT();
    return gp_sim_device_synchronize();
}

STANDIN_EXPORT(int, cuThreadExchangeStreamCaptureMode, (int *mode))
{
    gp_sim_capture_mode exchanged = (gp_sim_capture_mode)*mode;
    int result = gp_sim_exchange_capture_mode(&exchanged);
    if (result == GP_CU_SUCCESS)
        *mode = (int)exchanged;
    return result;
}

/* ---- streams ---- */

STANDIN_EXPORT(int, cuStreamCreate, (cudaStream_t * stream, unsigned flags))
{
    NEED_CONTEXT();
    return gp_sim_stream_create(stream, (flags & GP_CU_STREAM_NON_BLOCKING) != 0);
}

STANDIN_EXPORT(int, cuStreamDestroy_v2, (cudaStream_t stream))
{
    NEED_CONTEXT();
    return gp_sim_stream_destroy(stream);
}

STANDIN_EXPORT(int, cuStreamGetCtx, (cudaStream_t stream, gp_cu_context *context))
{
    int device = 0;
    if (lacks_context(stream))
        return GP_CU_INVALID_CONTEXT;
    int result = gp_sim_stream_get_device(stream, &device);
    if (result == GP_CU_SUCCESS)
        *context = standin_primary(device);
    return result;
}

STANDIN_EXPORT(int, cuStreamIsCapturing, (cudaStream_t stream, int *capture_status))
{
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    if (lacks_context(stream))
        return GP_CU_INVALID_CONTEXT;
    int result = gp_sim_stream_is_capturing(stream, &status);
    if (result == GP_CU_SUCCESS)
        *capture_status = (int)status;
    return result;
}

STANDIN_EXPORT(int, cuStreamGetCaptureInfo,
               (cudaStream_t stream, int *capture_status, unsigned long long *id))
{
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    uint64_t found = 0;
    if (lacks_context(stream))
        return GP_CU_INVALID_CONTEXT;
    int result = gp_sim_stream_get_capture_info(stream, &status, &found);
    if (result != GP_CU_SUCCESS)
        return result;
    *capture_status = (int)status;
    if (status != GP_SIM_CAPTURE_NONE)
        *id = found;
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuStreamGetId, (cudaStream_t stream, unsigned long long *id))
{
    uint64_t found = 0;
    if (lacks_context(stream))
        return GP_CU_INVALID_CONTEXT;
    int result = gp_sim_stream_get_id(stream, &found);
    if (result == GP_CU_SUCCESS)
        *id = found;
    return result;
}

STANDIN_EXPORT(int, cuStreamQuery, (cudaStream_t stream))
{
    NEED_CONTEXT();
    return gp_sim_stream_query(stream);
}

STANDIN_EXPORT(int, cuStreamSynchronize, (cudaStream_t stream))
{
    NEED_CONTEXT();
    return gp_sim_stream_synchronize(stream);
}

/* ---- events ---- */

static gp_sim_event event_of(gp_cu_event event)
{
    return (gp_sim_event)(void *)event;
}

STANDIN_EXPORT(int, cuStreamWaitEvent, (cudaStream_t stream, gp_cu_event event, unsigned flags))
{
    NEED_CONTEXT();
    return flags == 0 ? gp_sim_stream_wait_event(stream, event_of(event)) : STANDIN_INVALID_VALUE;
}

STANDIN_EXPORT(int, cuEventCreate, (gp_cu_event * event, unsigned flags))
{
    gp_sim_event created = NULL;
    (void)flags;
    NEED_CONTEXT();
    int result = gp_sim_event_create(&created);
    if (result == GP_CU_SUCCESS)
        *event = (gp_cu_event)(void *)created;
    return result;
}

STANDIN_EXPORT(int, cuEventDestroy_v2, (gp_cu_event event))
{
    NEED_CONTEXT();
    return gp_sim_event_destroy(event_of(event));
}

STANDIN_EXPORT(int, cuEventRecord, (gp_cu_event event, cudaStream_t stream))
{
    NEED_CONTEXT();
    return gp_sim_event_record(event_of(event), stream);
}

STANDIN_EXPORT(int, cuEventQuery, (gp_cu_event event))
{
    NEED_CONTEXT();
    return gp_sim_event_query(event_of(event));
}

/* ---- memory ---- */

STANDIN_EXPORT(int, cuMemPoolCreate, (cudaMemPool_t * pool, const gp_cu_pool_props *props))
{
    NEED_CONTEXT();
    if (props->allocation_type != GP_CU_ALLOCATION_PINNED ||
        props->location_type != GP_CU_LOCATION_DEVICE)
        return STANDIN_INVALID_VALUE;
    const int current = gp_sim_get_device();
    int result = gp_sim_set_device(props->location_id);
    if (result == GP_CU_SUCCESS)
        result = gp_sim_pool_create_limited(pool, props->max_bytes);
    (void)gp_sim_set_device(current);
    return result;
}

STANDIN_EXPORT(int, cuMemPoolDestroy, (cudaMemPool_t pool))
{
    return gp_sim_pool_destroy(pool);
}

STANDIN_EXPORT(int, cuMemPoolTrimTo, (cudaMemPool_t pool, size_t min_bytes_to_keep))
{
    return gp_sim_pool_trim_to(pool, min_bytes_to_keep);
}

STANDIN_EXPORT(int, cuMemPoolSetAttribute, (cudaMemPool_t pool, int attribute, void *value))
{
    uint64_t number = 0;
    memcpy(&number, value, sizeof(number));
    if (attribute == GP_CU_POOL_RELEASE_THRESHOLD)
        return gp_sim_pool_set_threshold(pool, number);
    if (attribute == GP_CU_POOL_RESERVED_HIGH && number == 0)
        return gp_sim_pool_reset_peak(pool);
    return STANDIN_INVALID_VALUE;
}

static uint64_t usage_of(const gp_sim_pool_usage *usage, int attribute)
{
    switch (attribute) {
    case GP_CU_POOL_RESERVED:
        return usage->reserved_bytes;
    case GP_CU_POOL_RESERVED_HIGH:
        return usage->reserved_bytes_high;
    default:
        return usage->used_bytes;
    }
}

STANDIN_EXPORT(int, cuMemPoolGetAttribute, (cudaMemPool_t pool, int attribute, void *value))
{
    gp_sim_pool_usage usage = {0};
    uint64_t number = 0;
    int result = attribute == GP_CU_POOL_RELEASE_THRESHOLD
                     ? gp_sim_pool_get_threshold(pool, &number)
                     : gp_sim_pool_get_usage(pool, &usage);
    if (result != GP_CU_SUCCESS)
        return result;
    if (attribute != GP_CU_POOL_RELEASE_THRESHOLD)
        number = usage_of(&usage, attribute);
    memcpy(value, &number, sizeof(number));
    return GP_CU_SUCCESS;
}

/* The simulated device has no memory beside its pools. */
STANDIN_EXPORT(int, cuMemAlloc_v2, (gp_cu_address * address, size_t bytes))
{
    (void)address;
    (void)bytes;
    return GP_SIM_NOT_SUPPORTED;
}

STANDIN_EXPORT(int, cuMemFree_v2, (gp_cu_address address))
{
    (void)address;
    return GP_SIM_INVALID_VALUE;
}

STANDIN_EXPORT(int, cuMemAllocFromPoolAsync,
               (gp_cu_address * address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream))
{
    void *found = NULL;
    NEED_CONTEXT();
    int result = gp_sim_malloc_async(&found, bytes, pool, stream);
    if (result == GP_CU_SUCCESS)
        *address = (uintptr_t)found;
    return result;
}

STANDIN_EXPORT(int, cuMemFreeAsync, (gp_cu_address address, cudaStream_t stream))
{
    NEED_CONTEXT();
    return gp_sim_free_async((void *)(uintptr_t)address, stream);
}

STANDIN_EXPORT(int, cuMemsetD8Async,
               (gp_cu_address address, unsigned char value, size_t bytes, cudaStream_t stream))
{
    NEED_CONTEXT();
    return gp_sim_memset_async((void *)(uintptr_t)address, value, bytes, stream);
}

STANDIN_EXPORT(int, cuMemcpyDtoHAsync_v2,
               (void *host, gp_cu_address address, size_t bytes, cudaStream_t stream))
{
    NEED_CONTEXT();
    return gp_sim_memcpy_to_host_async(host, (void *)(uintptr_t)address, bytes, stream);
}

STANDIN_EXPORT(int, cuMemHostAlloc, (void **host, size_t bytes, unsigned flags))
{
    (void)flags;
    NEED_CONTEXT();
    void *made = malloc(bytes);
    if (made == NULL)
        return GP_SIM_OUT_OF_MEMORY;
    *host = made;
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuMemFreeHost, (void *host))
{
    NEED_CONTEXT();
    free(host);
    return GP_CU_SUCCESS;
}
