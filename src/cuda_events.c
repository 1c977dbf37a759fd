/* Events, and the waits for them. */
#include "cuda_backend.h"

gp_status gp_cuda_event_create(gp_backend *backend, gp_native_event *event)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    gp_cu_event created = NULL;
    int result = gp_cuda.event_create(&created, GP_CU_EVENT_DISABLE_TIMING);
    status = gp_cuda_leave(&frame, result, "cuEventCreate");
    if (status == GP_OK)
        *event = (gp_native_event)(void *)created;
    return status;
}

void gp_cuda_event_destroy(gp_backend *backend, gp_native_event event)
{
    gp_cuda_frame frame;
    if (gp_cuda_enter(backend, &frame) != GP_OK)
        return;
    (void)gp_cuda.event_destroy(gp_cuda_event_of(event));
    gp_cuda_frame_leave(&frame);
}

/*
 * Recording and waiting are stream operations, which the driver allows during
 * other streams' captures, so the capture mode stays as it is.
 */
gp_status gp_cuda_event_record(gp_backend *backend, gp_native_event event, cudaStream_t stream)
{
    const gp_cuda_backend *self = (const gp_cuda_backend *)backend;
    gp_status status = gp_cuda_check_life(self);
    if (status != GP_OK)
        return status;
    bool pushed = false;
    int result = gp_cuda_context_enter(self->context, &pushed);
    if (result == GP_CU_SUCCESS)
        result = gp_cuda.event_record(gp_cuda_event_of(event), stream);
    gp_cuda_context_leave(pushed);
    return gp_status_from_native(result, "cuEventRecord");
}

gp_status gp_cuda_stream_wait(gp_backend *backend, cudaStream_t stream, gp_native_event event)
{
    const gp_cuda_backend *self = (const gp_cuda_backend *)backend;
    gp_status status = gp_cuda_check_life(self);
    if (status != GP_OK)
        return status;
    bool pushed = false;
    int result = gp_cuda_context_enter(self->context, &pushed);
    if (result == GP_CU_SUCCESS)
        result = gp_cuda.stream_wait_event(stream, gp_cuda_event_of(event), 0);
    gp_cuda_context_leave(pushed);
    return gp_status_from_native(result, "cuStreamWaitEvent");
}

gp_status gp_cuda_event_query(gp_backend *backend, gp_native_event event, bool *complete)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    int result = gp_cuda.event_query(gp_cuda_event_of(event));
    return gp_cuda_leave_question(&frame, result, "cuEventQuery", complete);
}
