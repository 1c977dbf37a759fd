/* The paper driver of fake_driver.h. With FAKE_OLD_DRIVER, one of CUDA 11.8. */
#include "fake_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define EXPORT(type, name, parameters)                                                             \
    __attribute__((visibility("default"))) type name parameters;                                   \
    type name parameters

enum { INVALID_DEVICE = 101, NOT_FOUND = 500, MAX_DEPTH = 8 };

static fake_driver driver = {
#ifdef FAKE_OLD_DRIVER
    .version = 11080,
#else
    .version = 13000,
#endif
    .device_count = FAKE_DEVICES,
    .pools_supported = 1,
    .primary = {{.device = 0}, {.device = 1}},
};

static _Thread_local gp_cu_context stack[MAX_DEPTH]; /* of current contexts */
static _Thread_local size_t depth;
static _Thread_local int capture_mode;

/* Handles that stand for something, and are never looked into. */
static char an_event, a_pool;
static struct CUstream_st a_stream = {.id = 99};

EXPORT(fake_driver *, fake_driver_get, (void))
{
    return &driver;
}

EXPORT(void, fake_driver_set_thread, (gp_cu_context context, int mode))
{
    stack[0] = context;
    depth = context != NULL ? 1 : 0;
    capture_mode = mode;
}

EXPORT(size_t, fake_driver_context_depth, (void))
{
    return depth;
}

EXPORT(int, fake_driver_capture_mode, (void))
{
    return capture_mode;
}

static int answer(const char *call)
{
    if (driver.log_length < FAKE_LOG_LENGTH)
        driver.log[driver.log_length++] = call;
    if (driver.fail_call != NULL && strcmp(driver.fail_call, call) == 0)
        return driver.fail_result;
    return GP_CU_SUCCESS;
}

/* For calls on the current context. */
static int answer_in_context(const char *call)
{
    int result = answer(call);
    if (depth == 0 || stack[depth - 1] == NULL)
        return GP_CU_INVALID_CONTEXT;
    return result;
}

/* For those of them that invalidate captures. */
static int answer_unsafe(const char *call)
{
    if (capture_mode != GP_CU_CAPTURE_MODE_RELAXED)
        driver.unsafe_call = call;
    return answer_in_context(call);
}

static int give(int result, void *output, const void *value, size_t bytes)
{
    if (result == GP_CU_SUCCESS)
        memcpy(output, value, bytes);
    return result;
}

/* ---- entry points ---- */

EXPORT(int, cuDriverGetVersion, (int *version))
{
    *version = driver.version;
    return GP_CU_SUCCESS;
}

#ifndef FAKE_OLD_DRIVER
EXPORT(int, cuGetProcAddress, (const char *symbol, void **entry, int version, uint64_t flags))
{
    if (driver.hides_entry_points || version > driver.version || flags != 0)
        return NOT_FOUND;

    char newest[64];
    snprintf(newest, sizeof(newest), "%s_v2", symbol);
    *entry = dlsym(RTLD_DEFAULT, newest);
    if (*entry == NULL)
        *entry = dlsym(RTLD_DEFAULT, symbol);
    return *entry != NULL ? GP_CU_SUCCESS : NOT_FOUND;
}
#endif

/* ---- devices and contexts ---- */

EXPORT(int, cuInit, (unsigned flags))
{
    return flags == 0 ? driver.init_result : NOT_FOUND;
}

EXPORT(int, cuDeviceGetCount, (int *count))
{
    return give(GP_CU_SUCCESS, count, &driver.device_count, sizeof(*count));
}

EXPORT(int, cuDeviceGet, (int *device, int ordinal))
{
    int result = ordinal >= 0 && ordinal < driver.device_count ? GP_CU_SUCCESS : INVALID_DEVICE;
    return give(result, device, &ordinal, sizeof(*device));
}

EXPORT(int, cuDeviceGetName, (char *name, int capacity, int device))
{
    snprintf(name, (size_t)capacity, "paper %d", device);
    return GP_CU_SUCCESS;
}

EXPORT(int, cuDeviceTotalMem_v2, (size_t * bytes, int device))
{
    const size_t total = (size_t)(device + 1) << 30;
    return give(GP_CU_SUCCESS, bytes, &total, sizeof(*bytes));
}

EXPORT(int, cuDeviceGetAttribute, (int *value, int attribute, int device))
{
    (void)device;
    int result = attribute == GP_CU_ATTRIBUTE_MEMORY_POOLS_SUPPORTED ? answer(__func__) : NOT_FOUND;
    return give(result, value, &driver.pools_supported, sizeof(*value));
}

EXPORT(int, cuDevicePrimaryCtxRetain, (gp_cu_context * context, int device))
{
    if (capture_mode != GP_CU_CAPTURE_MODE_RELAXED)
        driver.unsafe_call = __func__;
    int result = answer(__func__);
    if (result != GP_CU_SUCCESS)
        return result;
    driver.primary_holds[device]++;
    *context = &driver.primary[device];
    return GP_CU_SUCCESS;
}

EXPORT(int, cuDevicePrimaryCtxRelease_v2, (int device))
{
    driver.primary_holds[device]--;
    return answer(__func__);
}

EXPORT(int, cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active))
{
    *flags = 0;
    *active = driver.primary_holds[device] > 0;
    return answer(__func__);
}

EXPORT(int, cuCtxGetCurrent, (gp_cu_context * context))
{
    int result = answer(__func__);
    if (result == GP_CU_SUCCESS)
        *context = depth != 0 ? stack[depth - 1] : NULL;
    return result;
}

EXPORT(int, cuCtxGetDevice, (int *device))
{
    int result = answer_in_context(__func__);
    if (result == GP_CU_SUCCESS)
        *device = stack[depth - 1]->device;
    return result;
}

/* Asked before every other call, so not logged. */
EXPORT(int, cuCtxGetId, (gp_cu_context context, unsigned long long *id))
{
    *id = driver.resets * FAKE_DEVICES + (unsigned)context->device;
    return GP_CU_SUCCESS;
}

EXPORT(int, cuCtxPushCurrent_v2, (gp_cu_context context))
{
    int result = answer(__func__);
    if (result == GP_CU_SUCCESS)
        stack[depth++] = context;
    return result;
}

EXPORT(int, cuCtxPopCurrent_v2, (gp_cu_context * context))
{
    *context = stack[--depth];
    return answer(__func__);
}

EXPORT(int, cuCtxSynchronize, (void))
{
    return answer_unsafe(__func__);
}

EXPORT(int, cuThreadExchangeStreamCaptureMode, (int *mode))
{
    int result = answer(__func__);
    if (result != GP_CU_SUCCESS)
        return result;
    int previous = capture_mode;
    capture_mode = *mode;
    *mode = previous;
    return GP_CU_SUCCESS;
}

/* ---- streams and events ---- */

static bool is_special(cudaStream_t stream)
{
    return (uintptr_t)stream <= 2;
}

EXPORT(int, cuStreamCreate, (cudaStream_t * stream, unsigned flags))
{
    int result = answer_unsafe(__func__);
    driver.stream_flags = flags;
    if (result == GP_CU_SUCCESS)
        *stream = &a_stream;
    return result;
}

EXPORT(int, cuStreamDestroy_v2, (cudaStream_t stream))
{
    (void)stream;
    return answer_unsafe(__func__);
}

EXPORT(int, cuStreamGetCtx, (cudaStream_t stream, gp_cu_context *context))
{
    int result = answer(__func__);
    if (result == GP_CU_SUCCESS)
        *context = stream->context;
    return result;
}

EXPORT(int, cuStreamIsCapturing, (cudaStream_t stream, int *status))
{
    static const int none = GP_CU_CAPTURE_STATUS_NONE;
    if (is_special(stream))
        return give(answer_in_context(__func__), status, &none, sizeof(none));

    int result = answer(__func__);
    if (result == GP_CU_SUCCESS)
        result = stream->capture_result;
    return give(result, status, &stream->capture_status, sizeof(*status));
}

EXPORT(int, cuStreamGetCaptureInfo, (cudaStream_t stream, int *status, unsigned long long *id))
{
    int result = answer(__func__);
    if (result == GP_CU_SUCCESS)
        result = stream->capture_result;
    if (result == GP_CU_SUCCESS && stream->capture_status == GP_CU_CAPTURE_STATUS_ACTIVE)
        *id = stream->capture_id;
    return give(result, status, &stream->capture_status, sizeof(*status));
}

#ifndef FAKE_OLD_DRIVER
EXPORT(int, cuStreamGetId, (cudaStream_t stream, unsigned long long *id))
{
    static const unsigned long long special_id = 7;
    if (is_special(stream))
        return give(answer_in_context(__func__), id, &special_id, sizeof(*id));
    return give(answer(__func__), id, &stream->id, sizeof(*id));
}
#endif

EXPORT(int, cuStreamWaitEvent, (cudaStream_t stream, gp_cu_event event, unsigned flags))
{
    (void)stream;
    (void)event;
    return flags == 0 ? answer_in_context(__func__) : NOT_FOUND;
}

EXPORT(int, cuEventCreate, (gp_cu_event * event, unsigned flags))
{
    void *const created = &an_event;
    driver.event_flags = flags;
    return give(answer_unsafe(__func__), event, &created, sizeof(created));
}

EXPORT(int, cuEventDestroy_v2, (gp_cu_event event))
{
    (void)event;
    return answer_unsafe(__func__);
}

EXPORT(int, cuEventRecord, (gp_cu_event event, cudaStream_t stream))
{
    (void)event;
    (void)stream;
    return answer_in_context(__func__);
}

EXPORT(int, cuEventQuery, (gp_cu_event event))
{
    (void)event;
    return answer_unsafe(__func__);
}

EXPORT(int, cuStreamSynchronize, (cudaStream_t stream))
{
    (void)stream;
    return answer_unsafe(__func__);
}

EXPORT(int, cuStreamQuery, (cudaStream_t stream))
{
    (void)stream;
    return answer_unsafe(__func__);
}

/* ---- memory ---- */

EXPORT(int, cuMemGetInfo_v2, (size_t * free_bytes, size_t *total_bytes))
{
    static const size_t free_now = 1000;
    static const size_t total = 3000;
    int result = answer_unsafe(__func__);
    (void)give(result, free_bytes, &free_now, sizeof(free_now));
    return give(result, total_bytes, &total, sizeof(total));
}

EXPORT(int, cuMemPoolCreate, (cudaMemPool_t * pool, const gp_cu_pool_props *props))
{
    int result = answer_unsafe(__func__);
    void *const created = &a_pool;
    driver.props = *props;
    if (result == GP_CU_SUCCESS)
        driver.live_pools++;
    return give(result, pool, &created, sizeof(created));
}

EXPORT(int, cuMemPoolDestroy, (cudaMemPool_t pool))
{
    (void)pool;
    driver.live_pools--;
    return answer_unsafe(__func__);
}

EXPORT(int, cuMemPoolTrimTo, (cudaMemPool_t pool, size_t min_bytes_to_keep))
{
    (void)pool;
    driver.trimmed_to = min_bytes_to_keep;
    return answer_unsafe(__func__);
}

EXPORT(int, cuMemPoolSetAttribute, (cudaMemPool_t pool, int attribute, void *value))
{
    (void)pool;
    int result = answer_unsafe(__func__);
    if (attribute == GP_CU_POOL_RELEASE_THRESHOLD)
        return give(result, &driver.threshold, value, sizeof(driver.threshold));
    if (attribute == GP_CU_POOL_RESERVED_HIGH)
        return give(result, &driver.reserved_high, value, sizeof(driver.reserved_high));
    return NOT_FOUND;
}

EXPORT(int, cuMemPoolGetAttribute, (cudaMemPool_t pool, int attribute, void *value))
{
    (void)pool;
    uint64_t found = 100 * (uint64_t)attribute;
    if (attribute == GP_CU_POOL_RELEASE_THRESHOLD)
        found = driver.forgets_threshold ? 0 : driver.threshold;
    return give(answer_unsafe(__func__), value, &found, sizeof(found));
}

EXPORT(int, cuMemAllocFromPoolAsync,
       (gp_cu_address * address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream))
{
    static const gp_cu_address made = 0x7000;
    (void)bytes;
    (void)pool;
    (void)stream;
    return give(answer_unsafe(__func__), address, &made, sizeof(made));
}

EXPORT(int, cuMemFreeAsync, (gp_cu_address address, cudaStream_t stream))
{
    (void)address;
    (void)stream;
    return answer_unsafe(__func__);
}

EXPORT(int, cuMemAlloc_v2, (gp_cu_address * address, size_t bytes))
{
    static const gp_cu_address made = 0x8000;
    (void)bytes;
    return give(answer_unsafe(__func__), address, &made, sizeof(made));
}

EXPORT(int, cuMemFree_v2, (gp_cu_address address))
{
    (void)address;
    return answer_unsafe(__func__);
}

EXPORT(int, cuMemsetD8Async,
       (gp_cu_address address, unsigned char value, size_t bytes, cudaStream_t stream))
{
    (void)address;
    (void)value;
    (void)bytes;
    (void)stream;
    return answer_unsafe(__func__);
}

EXPORT(int, cuMemcpyDtoHAsync_v2,
       (void *host, gp_cu_address address, size_t bytes, cudaStream_t stream))
{
    (void)host;
    (void)address;
    (void)bytes;
    (void)stream;
    return answer_unsafe(__func__);
}

EXPORT(int, cuMemHostAlloc, (void **host, size_t bytes, unsigned flags))
{
    static char made[64];
    void *const found = made;
    (void)bytes;
    (void)flags;
    return give(answer_unsafe(__func__), host, &found, sizeof(found));
}

EXPORT(int, cuMemFreeHost, (void *host))
{
    (void)host;
    return answer_unsafe(__func__);
}
