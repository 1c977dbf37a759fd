/*
 * The CUDA device. The only file that calls CUDA, with cuda_driver.c, which
 * finds it, and cuda_context.c, which frames the calls.
 *
 * Driver calls only: they leave cudaGetLastError() alone, which reports the
 * runtime's own calls, and cost about a third of them.
 *
 * Streams of the devices' primary contexts are served, which is where the
 * runtime's streams live; streams of other contexts are refused with a text.
 * Before CUDA 12 cudaSetDevice() made a device current only at the next runtime
 * call; until then gp takes the thread to be on device 0.
 */
#include "backend.h"

#include "clock.h"
#include "cuda_context.h"
#include "cuda_driver.h"
#include "cuda_status.h"
#include "error.h"

#include <stdlib.h>

typedef struct cuda_backend {
    gp_backend base;
    gp_cu_context context; /* the device's primary one, retained */
    unsigned long long context_id;
} cuda_backend;

/* A reset of the device takes the context along, with all that is in it, and the driver makes the
 * next one under the same handle; it does not survive a handle of a thing that was in the old one.
 */
static gp_status check_life(const cuda_backend *self)
{
    unsigned long long id = 0;
    if (gp_cuda.context_get_id(self->context, &id) == GP_CU_SUCCESS && id == self->context_id)
        return GP_OK;
    return gp_error_set(GP_ERR_SHUTDOWN,
                        "device %d was reset, or the driver shut down, since the pool was made",
                        self->base.device);
}

static gp_status enter(gp_backend *backend, gp_cuda_frame *frame)
{
    const cuda_backend *self = (const cuda_backend *)backend;
    gp_status status = check_life(self);
    return status == GP_OK ? gp_cuda_frame_enter(frame, self->context) : status;
}

/* Leave the frame first, so that nothing comes between the failure and its text. */
static gp_status leave(gp_cuda_frame *frame, int result, const char *call)
{
    gp_cuda_frame_leave(frame);
    return gp_status_from_native(result, call);
}

static gp_cu_event event_of(gp_native_event event)
{
    return (gp_cu_event)(void *)event;
}

/* ---- streams ---- */

static const char stream_questions[] = "cuStreamIsCapturing, cuStreamGetId";

static int ask_stream(cudaStream_t stream, gp_stream_view *view)
{
    int capture = GP_CU_CAPTURE_STATUS_NONE;
    int result = gp_cuda.stream_is_capturing(stream, &capture);
    if (result == GP_CU_STREAM_CAPTURE_IMPLICIT) {
        view->capture = GP_CAPTURE_STATE_IMPLICIT;
        return GP_CU_SUCCESS;
    }
    if (result != GP_CU_SUCCESS)
        return result;
    if (capture != GP_CU_CAPTURE_STATUS_NONE) {
        view->capture = GP_CAPTURE_STATE_ACTIVE;
        return GP_CU_SUCCESS;
    }

    /* Only now: asking a capturing stream for its id invalidates the capture. */
    unsigned long long id = 0;
    result = gp_cuda.stream_get_id(stream, &id);
    if (result == GP_CU_SUCCESS)
        *view = (gp_stream_view){.capture = GP_CAPTURE_STATE_NONE, .id = id};
    return result;
}

/* A thread that has chosen no device works on device 0, as with the runtime. */
static gp_status ask_without_context(cudaStream_t stream, gp_stream_view *view)
{
    gp_cu_context context = NULL;
    gp_status status = gp_cuda_context_default(&context);
    if (status != GP_OK)
        return status;

    gp_cuda_frame frame;
    status = gp_cuda_frame_enter(&frame, context);
    if (status != GP_OK)
        return status;
    int result = ask_stream(stream, view);
    return leave(&frame, result, stream_questions);
}

static bool has_context(void)
{
    gp_cu_context current = NULL;
    return gp_cuda.context_get_current(&current) == GP_CU_SUCCESS && current != NULL;
}

static gp_status cuda_stream_inspect(cudaStream_t stream, gp_stream_view *view)
{
    int result = ask_stream(stream, view);
    if (result == GP_CU_SUCCESS)
        return GP_OK;
    if (result == GP_CU_INVALID_CONTEXT || (gp_stream_is_special(stream) && !has_context()))
        return ask_without_context(stream, view);
    return gp_status_from_native(result, stream_questions);
}

/* One of the questions that a capturing stream may be asked. */
static gp_status cuda_capture_id(cudaStream_t stream, uint64_t *id)
{
    int capture = GP_CU_CAPTURE_STATUS_NONE;
    unsigned long long found = 0;
    int result = gp_cuda.stream_get_capture_info(stream, &capture, &found);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuStreamGetCaptureInfo");
    if (capture != GP_CU_CAPTURE_STATUS_ACTIVE)
        return gp_error_set(GP_ERR_CAPTURE, "the stream's capture is over, or was invalidated");
    *id = found;
    return GP_OK;
}

static gp_status cuda_current_device(int *device)
{
    gp_cu_context current = NULL;
    int result = gp_cuda.context_get_current(&current);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuCtxGetCurrent");
    if (current == NULL) {
        *device = 0;
        return GP_OK;
    }
    return gp_cuda_context_device(current, device);
}

static gp_status cuda_stream_device(cudaStream_t stream, int *device)
{
    if (gp_stream_is_special(stream))
        return cuda_current_device(device);

    gp_cu_context context = NULL;
    int result = gp_cuda.stream_get_context(stream, &context);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuStreamGetCtx");
    return gp_cuda_context_device(context, device);
}

static gp_status cuda_stream_create(gp_backend *backend, cudaStream_t *stream)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    cudaStream_t created = NULL;
    int result = gp_cuda.stream_create(&created, GP_CU_STREAM_NON_BLOCKING);
    status = leave(&frame, result, "cuStreamCreate");
    if (status == GP_OK)
        *stream = created;
    return status;
}

static void cuda_stream_destroy(gp_backend *backend, cudaStream_t stream)
{
    gp_cuda_frame frame;
    if (enter(backend, &frame) != GP_OK)
        return;
    (void)gp_cuda.stream_destroy(stream);
    gp_cuda_frame_leave(&frame);
}

/* While a stream captures, the driver refuses to wait for all of them. */
static gp_status cuda_synchronize(gp_backend *backend)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.context_synchronize();
    return leave(&frame, result, "cuCtxSynchronize");
}

/* ---- events ---- */

static gp_status cuda_event_create(gp_backend *backend, gp_native_event *event)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    gp_cu_event created = NULL;
    int result = gp_cuda.event_create(&created, GP_CU_EVENT_DISABLE_TIMING);
    status = leave(&frame, result, "cuEventCreate");
    if (status == GP_OK)
        *event = (gp_native_event)(void *)created;
    return status;
}

static void cuda_event_destroy(gp_backend *backend, gp_native_event event)
{
    gp_cuda_frame frame;
    if (enter(backend, &frame) != GP_OK)
        return;
    (void)gp_cuda.event_destroy(event_of(event));
    gp_cuda_frame_leave(&frame);
}

/*
 * Recording and waiting are stream operations, which the driver allows during
 * other streams' captures, so the capture mode stays as it is.
 */
static gp_status cuda_event_record(gp_backend *backend, gp_native_event event, cudaStream_t stream)
{
    const cuda_backend *self = (const cuda_backend *)backend;
    gp_status status = check_life(self);
    if (status != GP_OK)
        return status;
    bool pushed = false;
    int result = gp_cuda_context_enter(self->context, &pushed);
    if (result == GP_CU_SUCCESS)
        result = gp_cuda.event_record(event_of(event), stream);
    gp_cuda_context_leave(pushed);
    return gp_status_from_native(result, "cuEventRecord");
}

static gp_status cuda_stream_wait(gp_backend *backend, cudaStream_t stream, gp_native_event event)
{
    const cuda_backend *self = (const cuda_backend *)backend;
    gp_status status = check_life(self);
    if (status != GP_OK)
        return status;
    bool pushed = false;
    int result = gp_cuda_context_enter(self->context, &pushed);
    if (result == GP_CU_SUCCESS)
        result = gp_cuda.stream_wait_event(stream, event_of(event), 0);
    gp_cuda_context_leave(pushed);
    return gp_status_from_native(result, "cuStreamWaitEvent");
}

static gp_status cuda_stream_query(gp_backend *backend, cudaStream_t stream, bool *complete)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    int result = gp_cuda.stream_query(stream);
    gp_cuda_frame_leave(&frame);
    if (result != GP_CU_SUCCESS && result != GP_CU_NOT_READY)
        return gp_status_from_native(result, "cuStreamQuery");
    *complete = result == GP_CU_SUCCESS;
    return GP_OK;
}

static gp_status cuda_stream_synchronize(gp_backend *backend, cudaStream_t stream, bool *complete)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    int result = gp_cuda.stream_synchronize(stream);
    gp_cuda_frame_leave(&frame);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuStreamSynchronize");
    *complete = true;
    return GP_OK;
}

static gp_status cuda_event_query(gp_backend *backend, gp_native_event event, bool *complete)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    int result = gp_cuda.event_query(event_of(event));
    gp_cuda_frame_leave(&frame);
    if (result != GP_CU_SUCCESS && result != GP_CU_NOT_READY)
        return gp_status_from_native(result, "cuEventQuery");
    *complete = result == GP_CU_SUCCESS;
    return GP_OK;
}

/* ---- memory ---- */

static gp_status cuda_alloc(gp_backend *backend, void **ptr, size_t bytes, cudaMemPool_t pool,
                            cudaStream_t stream)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    gp_cu_address address = 0;
    int result = gp_cuda.alloc_from_pool(&address, bytes, pool, stream);
    status = leave(&frame, result, "cuMemAllocFromPoolAsync");
    if (status == GP_OK)
        *ptr = (void *)(uintptr_t)address;
    return status;
}

static gp_status cuda_free(gp_backend *backend, void *ptr, cudaStream_t stream)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.free_async((uintptr_t)ptr, stream);
    return leave(&frame, result, "cuMemFreeAsync");
}

static gp_status cuda_alloc_plain(gp_backend *backend, void **ptr, size_t bytes)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    gp_cu_address address = 0;
    int result = gp_cuda.alloc(&address, bytes);
    status = leave(&frame, result, "cuMemAlloc");
    if (status == GP_OK)
        *ptr = (void *)(uintptr_t)address;
    return status;
}

static gp_status cuda_free_plain(gp_backend *backend, void *ptr)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.free((uintptr_t)ptr);
    return leave(&frame, result, "cuMemFree");
}

static gp_status cuda_fill(gp_backend *backend, void *ptr, unsigned char value, size_t bytes,
                           cudaStream_t stream)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.memset_async((uintptr_t)ptr, value, bytes, stream);
    return leave(&frame, result, "cuMemsetD8Async");
}

static gp_status cuda_copy_to_host(gp_backend *backend, void *host, const void *ptr, size_t bytes,
                                   cudaStream_t stream)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.copy_to_host_async(host, (uintptr_t)ptr, bytes, stream);
    return leave(&frame, result, "cuMemcpyDtoHAsync");
}

static gp_status cuda_host_alloc(gp_backend *backend, void **host, size_t bytes)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    void *made = NULL;
    int result = gp_cuda.host_alloc(&made, bytes, 0);
    status = leave(&frame, result, "cuMemHostAlloc");
    if (status == GP_OK)
        *host = made;
    return status;
}

static void cuda_host_free(gp_backend *backend, void *host)
{
    gp_cuda_frame frame;
    if (enter(backend, &frame) != GP_OK)
        return;
    (void)gp_cuda.host_free(host);
    gp_cuda_frame_leave(&frame);
}

static gp_status cuda_mem_info(gp_backend *backend, size_t *free_bytes, size_t *total_bytes)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    size_t free_now = 0;
    size_t total = 0;
    int result = gp_cuda.mem_get_info(&free_now, &total);
    status = leave(&frame, result, "cuMemGetInfo");
    if (status == GP_OK) {
        *free_bytes = free_now;
        *total_bytes = total;
    }
    return status;
}

/* ---- pools ---- */

/*
 * The driver's own limit is a second line of defence behind gp's, which is
 * exact. Pools grow in steps of 32 MiB: a limit between two steps would stop the
 * pool short of what gp may reserve.
 */
static size_t native_limit(size_t max_bytes)
{
    const size_t step = (size_t)32 << 20;
    const int first_version_with_limit = 12020;
    if (gp_cuda_driver_version() < first_version_with_limit || max_bytes > SIZE_MAX - step)
        return 0;
    return (max_bytes + step - 1) / step * step;
}

/* Unlimited, and read back: on a default of 0 every synchronisation would give
 * the idle memory back behind gp's back. */
static gp_status keep_everything(cudaMemPool_t pool)
{
    uint64_t threshold = UINT64_MAX;
    int result = gp_cuda.pool_set_attribute(pool, GP_CU_POOL_RELEASE_THRESHOLD, &threshold);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuMemPoolSetAttribute");

    threshold = 0;
    result = gp_cuda.pool_get_attribute(pool, GP_CU_POOL_RELEASE_THRESHOLD, &threshold);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuMemPoolGetAttribute");
    if (threshold != UINT64_MAX)
        return gp_error_set(GP_ERR_UNSUPPORTED,
                            "the native pool did not take an unlimited release threshold");
    return GP_OK;
}

/*
 * The reuse attributes stay as the driver sets them, all on: drivers whose
 * opportunistic reuse was at fault (before 470.60) are older than any that
 * cuda_driver.c accepts.
 */
static gp_status make_pool(int device, size_t max_bytes, cudaMemPool_t *pool)
{
    const gp_cu_pool_props props = {.allocation_type = GP_CU_ALLOCATION_PINNED,
                                    .handle_types = GP_CU_HANDLE_NONE,
                                    .location_type = GP_CU_LOCATION_DEVICE,
                                    .location_id = device,
                                    .max_bytes = native_limit(max_bytes)};
    cudaMemPool_t created = NULL;
    int result = gp_cuda.pool_create(&created, &props);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuMemPoolCreate");

    gp_status status = keep_everything(created);
    if (status != GP_OK)
        (void)gp_cuda.pool_destroy(created);
    else
        *pool = created;
    return status;
}

static gp_status cuda_pool_create(gp_backend *backend, size_t max_bytes, cudaMemPool_t *pool)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    status = make_pool(backend->device, max_bytes, pool);
    gp_cuda_frame_leave(&frame);
    return status;
}

static gp_status cuda_pool_destroy(gp_backend *backend, cudaMemPool_t pool)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.pool_destroy(pool);
    return leave(&frame, result, "cuMemPoolDestroy");
}

static gp_status cuda_pool_trim(gp_backend *backend, cudaMemPool_t pool, size_t min_bytes_to_keep)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.pool_trim_to(pool, min_bytes_to_keep);
    return leave(&frame, result, "cuMemPoolTrimTo");
}

static int read_usage(cudaMemPool_t pool, gp_native_usage *usage)
{
    int result = gp_cuda.pool_get_attribute(pool, GP_CU_POOL_RESERVED, &usage->reserved_bytes);
    if (result == GP_CU_SUCCESS)
        result =
            gp_cuda.pool_get_attribute(pool, GP_CU_POOL_RESERVED_HIGH, &usage->reserved_bytes_high);
    if (result == GP_CU_SUCCESS)
        result = gp_cuda.pool_get_attribute(pool, GP_CU_POOL_USED, &usage->used_bytes);
    return result;
}

static gp_status cuda_pool_usage(gp_backend *backend, cudaMemPool_t pool, gp_native_usage *usage)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    gp_native_usage found = {0};
    int result = read_usage(pool, &found);
    status = leave(&frame, result, "cuMemPoolGetAttribute");
    if (status == GP_OK)
        *usage = found;
    return status;
}

static gp_status cuda_pool_reset_peak(gp_backend *backend, cudaMemPool_t pool)
{
    gp_cuda_frame frame;
    gp_status status = enter(backend, &frame);
    if (status != GP_OK)
        return status;

    uint64_t reset = 0; /* the only value the driver takes: down to the present one */
    int result = gp_cuda.pool_set_attribute(pool, GP_CU_POOL_RESERVED_HIGH, &reset);
    return leave(&frame, result, "cuMemPoolSetAttribute");
}

/* ---- the device ---- */

static gp_status check_pools_supported(int device)
{
    int supported = 0;
    int result =
        gp_cuda.device_get_attribute(&supported, GP_CU_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuDeviceGetAttribute");
    if (supported == 0)
        return gp_error_set(GP_ERR_UNSUPPORTED,
                            "CUDA device %d has no memory pools: cudaDevAttrMemoryPoolsSupported "
                            "is 0, as on some virtual GPUs",
                            device);
    return GP_OK;
}

static gp_status cuda_open(int device, gp_backend **backend)
{
    gp_status status = gp_cuda_driver_load();
    if (status != GP_OK)
        return status;
    gp_cu_context context = NULL;
    status = gp_cuda_context_retain(device, &context);
    if (status != GP_OK)
        return status;

    status = check_pools_supported(device);
    if (status != GP_OK)
        goto release_context;
    unsigned long long context_id = 0;
    int result = gp_cuda.context_get_id(context, &context_id);
    if (result != GP_CU_SUCCESS) {
        status = gp_status_from_native(result, "cuCtxGetId");
        goto release_context;
    }
    cuda_backend *opened = malloc(sizeof(*opened));
    if (opened == NULL) {
        status = gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for the CUDA backend");
        goto release_context;
    }

    *opened = (cuda_backend){.base = {.ops = gp_backend_cuda(), .device = device},
                             .context = context,
                             .context_id = context_id};
    *backend = &opened->base;
    return GP_OK;

release_context:
    gp_cuda_context_release(device);
    return status;
}

static void cuda_close(gp_backend *backend)
{
    gp_cuda_context_release(backend->device);
    free(backend);
}

static uint64_t cuda_now_ns(gp_backend *backend)
{
    (void)backend;
    return gp_clock_ns();
}

static void cuda_describe(gp_backend *backend, gp_device_info *info)
{
    if (gp_cuda.device_get_name(info->name, sizeof(info->name), backend->device) != GP_CU_SUCCESS)
        info->name[0] = '\0';
    if (gp_cuda.device_total_mem(&info->total_bytes, backend->device) != GP_CU_SUCCESS)
        info->total_bytes = 0;
}

const gp_backend_ops *gp_backend_cuda(void)
{
    static const gp_backend_ops ops = {
        .name = "cuda",
        .kind = GP_BACKEND_CUDA,
        .probe = gp_cuda_driver_load,
        .stream_device = cuda_stream_device,
        .current_device = cuda_current_device,
        .stream_inspect = cuda_stream_inspect,
        .capture_id = cuda_capture_id,
        .open = cuda_open,
        .close = cuda_close,
        .describe = cuda_describe,
        .pool_create = cuda_pool_create,
        .pool_destroy = cuda_pool_destroy,
        .pool_trim = cuda_pool_trim,
        .pool_usage = cuda_pool_usage,
        .pool_reset_peak = cuda_pool_reset_peak,
        .alloc = cuda_alloc,
        .alloc_plain = cuda_alloc_plain,
        .free_plain = cuda_free_plain,
        .free = cuda_free,
        .fill = cuda_fill,
        .copy_to_host = cuda_copy_to_host,
        .host_alloc = cuda_host_alloc,
        .host_free = cuda_host_free,
        .event_create = cuda_event_create,
        .event_destroy = cuda_event_destroy,
        .event_record = cuda_event_record,
        .event_query = cuda_event_query,
        .stream_query = cuda_stream_query,
        .stream_synchronize = cuda_stream_synchronize,
        .stream_wait = cuda_stream_wait,
        .stream_create = cuda_stream_create,
        .stream_destroy = cuda_stream_destroy,
        .synchronize = cuda_synchronize,
        .mem_info = cuda_mem_info,
        .now_ns = cuda_now_ns,
    };
    return &ops;
}
