/*
 * The CUDA device: its ops and its life. What they call is in cuda_streams.c, cuda_events.c,
 * cuda_memory.c and cuda_pools.c; cuda_driver.c finds the driver, and cuda_context.c frames the
 * calls.
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
#include "cuda_backend.h"

#include <stdlib.h>

/* ---- the frame of a call ---- */

/* A reset of the device takes the context along, with all that is in it, and the driver makes the
 * next one under the same handle; it does not survive a handle of a thing that was in the old one.
 */
gp_status gp_cuda_check_life(const gp_cuda_backend *self)
{
    unsigned long long id = 0;
    if (gp_cuda.context_get_id(self->context, &id) == GP_CU_SUCCESS && id == self->context_id)
        return GP_OK;
    return gp_error_set(GP_ERR_SHUTDOWN,
                        "device %d was reset, or the driver shut down, since the pool was made",
                        self->base.device);
}

gp_status gp_cuda_enter(gp_backend *backend, gp_cuda_frame *frame)
{
    const gp_cuda_backend *self = (const gp_cuda_backend *)backend;
    gp_status status = gp_cuda_check_life(self);
    return status == GP_OK ? gp_cuda_frame_enter(frame, self->context) : status;
}

/* Leave the frame first, so that nothing comes between the failure and its text. */
gp_status gp_cuda_leave(gp_cuda_frame *frame, int result, const char *call)
{
    gp_cuda_frame_leave(frame);
    return gp_status_from_native(result, call);
}

gp_status gp_cuda_leave_question(gp_cuda_frame *frame, int result, const char *call, bool *complete)
{
    gp_status status =
        gp_cuda_leave(frame, result == GP_CU_NOT_READY ? GP_CU_SUCCESS : result, call);
    if (status == GP_OK)
        *complete = result == GP_CU_SUCCESS;
    return status;
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
    gp_cuda_backend *opened = malloc(sizeof(*opened));
    if (opened == NULL) {
        status = gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for the CUDA backend");
        goto release_context;
    }

    *opened = (gp_cuda_backend){.base = {.ops = gp_backend_cuda(), .device = device},
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
        .stream_device = gp_cuda_stream_device,
        .current_device = gp_cuda_current_device,
        .stream_inspect = gp_cuda_stream_inspect,
        .capture_id = gp_cuda_capture_id,
        .open = cuda_open,
        .close = cuda_close,
        .describe = cuda_describe,
        .pool_create = gp_cuda_pool_create,
        .pool_destroy = gp_cuda_pool_destroy,
        .pool_trim = gp_cuda_pool_trim,
        .pool_usage = gp_cuda_pool_usage,
        .pool_reset_peak = gp_cuda_pool_reset_peak,
        .alloc = gp_cuda_alloc,
        .alloc_plain = gp_cuda_alloc_plain,
        .free_plain = gp_cuda_free_plain,
        .free = gp_cuda_free,
        .fill = gp_cuda_fill,
        .copy_to_host = gp_cuda_copy_to_host,
        .host_alloc = gp_cuda_host_alloc,
        .host_free = gp_cuda_host_free,
        .event_create = gp_cuda_event_create,
        .event_destroy = gp_cuda_event_destroy,
        .event_record = gp_cuda_event_record,
        .event_query = gp_cuda_event_query,
        .stream_query = gp_cuda_stream_query,
        .stream_synchronize = gp_cuda_stream_synchronize,
        .stream_wait = gp_cuda_stream_wait,
        .stream_create = gp_cuda_stream_create,
        .stream_destroy = gp_cuda_stream_destroy,
        .synchronize = gp_cuda_synchronize,
        .mem_info = gp_cuda_mem_info,
        .now_ns = cuda_now_ns,
    };
    return &ops;
}
