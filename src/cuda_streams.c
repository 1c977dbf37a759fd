/* What gp asks the CUDA driver about streams, and its own ones. */
#include "cuda_backend.h"

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
    return gp_cuda_leave(&frame, result, stream_questions);
}

static bool has_context(void)
{
    gp_cu_context current = NULL;
    return gp_cuda.context_get_current(&current) == GP_CU_SUCCESS && current != NULL;
}

gp_status gp_cuda_stream_inspect(cudaStream_t stream, gp_stream_view *view)
{
    int result = ask_stream(stream, view);
    if (result == GP_CU_SUCCESS)
        return GP_OK;
    if (result == GP_CU_INVALID_CONTEXT || (gp_stream_is_special(stream) && !has_context()))
        return ask_without_context(stream, view);
    return gp_status_from_native(result, stream_questions);
}

/* One of the questions that a capturing stream may be asked. */
gp_status gp_cuda_capture_id(cudaStream_t stream, uint64_t *id)
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

gp_status gp_cuda_current_device(int *device)
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

gp_status gp_cuda_stream_device(cudaStream_t stream, int *device)
{
    if (gp_stream_is_special(stream))
        return gp_cuda_current_device(device);

    gp_cu_context context = NULL;
    int result = gp_cuda.stream_get_context(stream, &context);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuStreamGetCtx");
    return gp_cuda_context_device(context, device);
}

gp_status gp_cuda_stream_create(gp_backend *backend, cudaStream_t *stream)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    cudaStream_t created = NULL;
    int result = gp_cuda.stream_create(&created, GP_CU_STREAM_NON_BLOCKING);
    status = gp_cuda_leave(&frame, result, "cuStreamCreate");
    if (status == GP_OK)
        *stream = created;
    return status;
}

void gp_cuda_stream_destroy(gp_backend *backend, cudaStream_t stream)
{
    gp_cuda_frame frame;
    if (gp_cuda_enter(backend, &frame) != GP_OK)
        return;
    (void)gp_cuda.stream_destroy(stream);
    gp_cuda_frame_leave(&frame);
}

/* While a stream captures, the driver refuses to wait for all of them. */
gp_status gp_cuda_synchronize(gp_backend *backend)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.context_synchronize();
    return gp_cuda_leave(&frame, result, "cuCtxSynchronize");
}

gp_status gp_cuda_stream_query(gp_backend *backend, cudaStream_t stream, bool *complete)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    int result = gp_cuda.stream_query(stream);
    return gp_cuda_leave_question(&frame, result, "cuStreamQuery", complete);
}

gp_status gp_cuda_stream_synchronize(gp_backend *backend, cudaStream_t stream, bool *complete)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    int result = gp_cuda.stream_synchronize(stream);
    return gp_cuda_leave_question(&frame, result, "cuStreamSynchronize", complete);
}
