/* The CUDA device of device.h, by driver calls. */
#include "cuda_device.h"

#include "device_error.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Values of the driver's enums, see cuda.h. */
enum {
    ATTRIBUTE_CLOCK_RATE = 13,
    STREAM_NON_BLOCKING = 1,
    EVENT_DISABLE_TIMING = 2,
    HOST_ALLOC_PORTABLE = 1,
    HOST_ALLOC_DEVICE_MAP = 2,
    ALLOCATION_PINNED = 1,
    LOCATION_DEVICE = 1,
    POOL_RELEASE_THRESHOLD = 4,
    POOL_RESERVED = 5,
    POOL_RESERVED_HIGH = 6,
    POOL_USED = 7
};

struct device_graph_handle {
    cuda_graph graph;
    cuda_graph_exec exec;
};

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER; /* of opening and closing */
static cuda_device devices[CUDA_MAX_DEVICES];
static _Thread_local cuda_device *current;

cuda_device *cuda_device_current(void)
{
    if (current == NULL)
        device_fail(DEVICE_UNAVAILABLE, "this thread has not called set_current()");
    return current;
}

/* ---- opening and closing ---- */

static device_result load_kernels(cuda_device *device)
{
    for (int i = 0; i < CUDA_KERNEL_COUNT; i++) {
        device_result result = cuda_result(
            cuda.module_load(&device->modules[i], cuda_kernels[i].ptx), "cuModuleLoadData");
        if (result == DEVICE_OK)
            result = cuda_result(
                cuda.module_function(&device->kernels[i], device->modules[i], cuda_kernels[i].name),
                "cuModuleGetFunction");
        if (result != DEVICE_OK)
            return result;
    }
    return DEVICE_OK;
}

static device_result share_words(cuda_device *device)
{
    void *words = NULL;
    device_result result = cuda_result(cuda.host_alloc(&words, sizeof(cuda_shared_words),
                                                       HOST_ALLOC_PORTABLE | HOST_ALLOC_DEVICE_MAP),
                                       "cuMemHostAlloc");
    if (result != DEVICE_OK)
        return result;
    device->shared = words;
    atomic_store(&device->shared->mismatches, 0);
    return DEVICE_OK;
}

static void tear_down(int ordinal)
{
    cuda_device *device = &devices[ordinal];
    for (int i = 0; i < CUDA_KERNEL_COUNT; i++) {
        if (device->modules[i] != NULL)
            cuda.module_unload(device->modules[i]);
        device->modules[i] = NULL;
    }
    if (device->shared != NULL)
        cuda.host_free(device->shared);
    device->shared = NULL;
    cuda.primary_release(ordinal);
}

static device_result make_current(int ordinal)
{
    device_result result =
        cuda_result(cuda.context_set(devices[ordinal].context), "cuCtxSetCurrent");
    if (result == DEVICE_OK)
        current = &devices[ordinal];
    return result;
}

static device_result set_up(int ordinal)
{
    cuda_device *device = &devices[ordinal];
    device_result result =
        cuda_result(cuda.primary_retain(&device->context, ordinal), "cuDevicePrimaryCtxRetain");
    if (result != DEVICE_OK)
        return result;

    int khz = 0;
    device->clock_khz = 1000000;
    if (cuda.device_attribute(&khz, ATTRIBUTE_CLOCK_RATE, ordinal) == DEVICE_OK && khz > 0)
        device->clock_khz = (uint64_t)khz;

    result = make_current(ordinal);
    if (result == DEVICE_OK)
        result = load_kernels(device);
    if (result == DEVICE_OK)
        result = share_words(device);
    if (result == DEVICE_OK)
        result = cuda_warm_up();
    if (result != DEVICE_OK) {
        tear_down(ordinal);
        current = NULL;
    }
    return result;
}

static device_result cuda_open(int ordinal)
{
    device_result result = cuda_load();
    if (result != DEVICE_OK)
        return result;
    int handle = 0;
    if (ordinal < 0 || ordinal >= CUDA_MAX_DEVICES || cuda.device_get(&handle, ordinal) != 0)
        return device_fail(DEVICE_UNAVAILABLE, "there is no CUDA device %d", ordinal);

    pthread_mutex_lock(&devices_lock);
    result = devices[ordinal].opens == 0 ? set_up(ordinal) : make_current(ordinal);
    if (result == DEVICE_OK)
        devices[ordinal].opens++;
    pthread_mutex_unlock(&devices_lock);
    return result;
}

static void cuda_close(int ordinal)
{
    pthread_mutex_lock(&devices_lock);
    if (--devices[ordinal].opens == 0) {
        tear_down(ordinal);
        current = NULL;
    }
    pthread_mutex_unlock(&devices_lock);
}

static device_result cuda_set_current(int ordinal)
{
    if (ordinal < 0 || ordinal >= CUDA_MAX_DEVICES || devices[ordinal].opens == 0)
        return device_fail(DEVICE_UNAVAILABLE, "device %d is not open", ordinal);
    return make_current(ordinal);
}

static void cuda_leave(void)
{
    cuda_gemm_leave();
    current = NULL;
}

static device_result cuda_get_name(int ordinal, char *name, size_t capacity)
{
    return cuda_result(cuda.device_name(name, (int)capacity, ordinal), "cuDeviceGetName");
}

static device_result cuda_mem_info(size_t *free_bytes, size_t *total_bytes)
{
    return cuda_result(cuda.mem_info(free_bytes, total_bytes), "cuMemGetInfo");
}

static device_result cuda_synchronize(void)
{
    return cuda_result(cuda.context_synchronize(), "cuCtxSynchronize");
}

/* ---- clocks and findings ---- */

static uint64_t cuda_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t cuda_native_call_ns(void)
{
    return 0;
}

static uint64_t cuda_mismatches(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < CUDA_MAX_DEVICES; i++) {
        if (devices[i].shared != NULL)
            sum += atomic_load(&devices[i].shared->mismatches);
    }
    return sum;
}

static int64_t cuda_hazards(void)
{
    return -1;
}

/* ---- streams and events ---- */

static cuda_event event_of(device_event event)
{
    return (cuda_event)(void *)event;
}

static device_result cuda_stream_create(cudaStream_t *stream, bool non_blocking)
{
    return cuda_result(cuda.stream_create(stream, non_blocking ? STREAM_NON_BLOCKING : 0),
                       "cuStreamCreate");
}

static device_result cuda_stream_destroy(cudaStream_t stream)
{
    return cuda_result(cuda.stream_destroy(stream), "cuStreamDestroy");
}

static device_result cuda_stream_synchronize(cudaStream_t stream)
{
    return cuda_result(cuda.stream_synchronize(stream), "cuStreamSynchronize");
}

static device_result cuda_stream_query(cudaStream_t stream)
{
    return cuda_result(cuda.stream_query(stream), "cuStreamQuery");
}

static device_result cuda_event_create(device_event *event)
{
    cuda_event created = NULL;
    device_result result =
        cuda_result(cuda.event_create(&created, EVENT_DISABLE_TIMING), "cuEventCreate");
    if (result == DEVICE_OK)
        *event = (device_event)(void *)created;
    return result;
}

static device_result cuda_event_destroy(device_event event)
{
    return cuda_result(cuda.event_destroy(event_of(event)), "cuEventDestroy");
}

static device_result cuda_event_record(device_event event, cudaStream_t stream)
{
    return cuda_result(cuda.event_record(event_of(event), stream), "cuEventRecord");
}

static device_result cuda_event_query(device_event event)
{
    return cuda_result(cuda.event_query(event_of(event)), "cuEventQuery");
}

static device_result cuda_event_synchronize(device_event event)
{
    return cuda_result(cuda.event_synchronize(event_of(event)), "cuEventSynchronize");
}

static device_result cuda_stream_wait(cudaStream_t stream, device_event event)
{
    return cuda_result(cuda.stream_wait(stream, event_of(event), 0), "cuStreamWaitEvent");
}

/* ---- captures ---- */

static device_result cuda_capture_begin(cudaStream_t stream, device_capture_mode mode)
{
    return cuda_result(cuda.capture_begin(stream, (int)mode), "cuStreamBeginCapture");
}

static device_result instantiate(cuda_graph graph, device_graph *ready)
{
    device_graph made = calloc(1, sizeof(*made));
    if (made == NULL)
        return device_fail(DEVICE_OUT_OF_MEMORY, "no host memory for a graph");
    made->graph = graph;
    device_result result =
        cuda_result(cuda.graph_instantiate(&made->exec, graph, 0), "cuGraphInstantiate");
    if (result == DEVICE_OK)
        *ready = made;
    else
        free(made);
    return result;
}

static device_result cuda_capture_end(cudaStream_t stream, device_graph *graph)
{
    cuda_graph captured = NULL;
    device_result result = cuda_result(cuda.capture_end(stream, &captured), "cuStreamEndCapture");
    if (result != DEVICE_OK)
        return result;
    result = instantiate(captured, graph);
    if (result != DEVICE_OK)
        cuda.graph_destroy(captured);
    return result;
}

static device_result cuda_capture_query(cudaStream_t stream, device_capture_status *status)
{
    int found = 0;
    device_result result = cuda_result(cuda.capture_query(stream, &found), "cuStreamIsCapturing");
    if (result == DEVICE_OK)
        *status = (device_capture_status)found;
    return result;
}

static device_result cuda_graph_launch(device_graph graph, cudaStream_t stream)
{
    return cuda_result(cuda.graph_launch(graph->exec, stream), "cuGraphLaunch");
}

static device_result cuda_graph_destroy(device_graph graph)
{
    device_result result = cuda_result(cuda.graph_exec_destroy(graph->exec), "cuGraphExecDestroy");
    device_result template_result = cuda_result(cuda.graph_destroy(graph->graph), "cuGraphDestroy");
    free(graph);
    return result != DEVICE_OK ? result : template_result;
}

/* ---- the native allocator ---- */

static device_result cuda_pool_set_threshold(cudaMemPool_t pool, uint64_t bytes)
{
    return cuda_result(cuda.pool_set(pool, POOL_RELEASE_THRESHOLD, &bytes),
                       "cuMemPoolSetAttribute");
}

static device_result cuda_pool_get_threshold(cudaMemPool_t pool, uint64_t *bytes)
{
    return cuda_result(cuda.pool_get(pool, POOL_RELEASE_THRESHOLD, bytes), "cuMemPoolGetAttribute");
}

static device_result cuda_pool_create(cudaMemPool_t *pool)
{
    const cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;

    const cuda_pool_props props = {.allocation_type = ALLOCATION_PINNED,
                                   .location_type = LOCATION_DEVICE,
                                   .location_id = (int)(device - devices)};
    cudaMemPool_t created = NULL;
    device_result result = cuda_result(cuda.pool_create(&created, &props), "cuMemPoolCreate");
    if (result != DEVICE_OK)
        return result;
    result = cuda_pool_set_threshold(created, UINT64_MAX);
    if (result != DEVICE_OK)
        cuda.pool_destroy(created);
    else
        *pool = created;
    return result;
}

static device_result cuda_pool_destroy(cudaMemPool_t pool)
{
    return cuda_result(cuda.pool_destroy(pool), "cuMemPoolDestroy");
}

static device_result cuda_pool_alloc(void **ptr, size_t bytes, cudaMemPool_t pool,
                                     cudaStream_t stream)
{
    cuda_address address = 0;
    int result = cuda.pool_alloc(&address, bytes, pool, stream);
    if (result == DEVICE_OK)
        *ptr = (void *)(uintptr_t)address;
    return cuda_result(result, "cuMemAllocFromPoolAsync");
}

static device_result cuda_pool_free(void *ptr, cudaStream_t stream)
{
    return cuda_result(cuda.pool_free((uintptr_t)ptr, stream), "cuMemFreeAsync");
}

static device_result cuda_pool_get_usage(cudaMemPool_t pool, device_pool_usage *usage)
{
    device_pool_usage found = {0};
    int result = cuda.pool_get(pool, POOL_RESERVED, &found.reserved_bytes);
    if (result == DEVICE_OK)
        result = cuda.pool_get(pool, POOL_RESERVED_HIGH, &found.reserved_bytes_high);
    if (result == DEVICE_OK)
        result = cuda.pool_get(pool, POOL_USED, &found.used_bytes);
    if (result == DEVICE_OK)
        *usage = found;
    return cuda_result(result, "cuMemPoolGetAttribute");
}

static device_result cuda_pool_reset_peak(cudaMemPool_t pool)
{
    uint64_t reset = 0;
    return cuda_result(cuda.pool_set(pool, POOL_RESERVED_HIGH, &reset), "cuMemPoolSetAttribute");
}

static device_result cuda_pool_trim_to(cudaMemPool_t pool, size_t min_bytes_to_keep)
{
    return cuda_result(cuda.pool_trim(pool, min_bytes_to_keep), "cuMemPoolTrimTo");
}

static device_result cuda_default_pool(int ordinal, cudaMemPool_t *pool)
{
    return cuda_result(cuda.device_default_pool(pool, ordinal), "cuDeviceGetDefaultMemPool");
}

static device_result cuda_current_pool(int ordinal, cudaMemPool_t *pool)
{
    return cuda_result(cuda.device_current_pool(pool, ordinal), "cuDeviceGetMemPool");
}

static device_result cuda_plain_alloc(void **ptr, size_t bytes)
{
    cuda_address address = 0;
    int result = cuda.mem_alloc(&address, bytes);
    if (result == DEVICE_OK)
        *ptr = (void *)(uintptr_t)address;
    return cuda_result(result, "cuMemAlloc");
}

static device_result cuda_plain_free(void *ptr)
{
    return cuda_result(cuda.mem_free((uintptr_t)ptr), "cuMemFree");
}

const device_ops *device_cuda(void)
{
    static const device_ops ops = {
        .name = "cuda",
        .kind = GP_BACKEND_CUDA,
        .open = cuda_open,
        .close = cuda_close,
        .set_current = cuda_set_current,
        .leave = cuda_leave,
        .get_name = cuda_get_name,
        .mem_info = cuda_mem_info,
        .synchronize = cuda_synchronize,
        .now_ns = cuda_now_ns,
        .native_call_ns = cuda_native_call_ns,
        .stream_create = cuda_stream_create,
        .stream_destroy = cuda_stream_destroy,
        .stream_synchronize = cuda_stream_synchronize,
        .stream_query = cuda_stream_query,
        .event_create = cuda_event_create,
        .event_destroy = cuda_event_destroy,
        .event_record = cuda_event_record,
        .event_query = cuda_event_query,
        .event_synchronize = cuda_event_synchronize,
        .stream_wait = cuda_stream_wait,
        .touch = cuda_touch,
        .compute = cuda_compute,
        .fill = cuda_fill,
        .check = cuda_check,
        .mismatches = cuda_mismatches,
        .hazards = cuda_hazards,
        .gate_create = cuda_gate_create,
        .gate_wait = cuda_gate_wait,
        .gate_open = cuda_gate_open,
        .gate_destroy = cuda_gate_destroy,
        .capture_begin = cuda_capture_begin,
        .capture_end = cuda_capture_end,
        .capture_query = cuda_capture_query,
        .graph_launch = cuda_graph_launch,
        .graph_destroy = cuda_graph_destroy,
        .pool_create = cuda_pool_create,
        .pool_destroy = cuda_pool_destroy,
        .pool_alloc = cuda_pool_alloc,
        .pool_free = cuda_pool_free,
        .pool_get_usage = cuda_pool_get_usage,
        .pool_reset_peak = cuda_pool_reset_peak,
        .pool_trim_to = cuda_pool_trim_to,
        .pool_set_threshold = cuda_pool_set_threshold,
        .pool_get_threshold = cuda_pool_get_threshold,
        .default_pool = cuda_default_pool,
        .current_pool = cuda_current_pool,
        .plain_alloc = cuda_plain_alloc,
        .plain_free = cuda_plain_free,
        .has_gemm = cuda_has_gemm,
        .gemm = cuda_gemm,
    };
    return &ops;
}
