/*
 * Who a stream is: asked on every checked allocation, so answered without the
 * machine's lock unless something is out of the ordinary.
 */
#include "sim_capture.h"
#include "sim_machine.h"
#include "sim_stream.h"

static bool has_implicit_capture(const gp_sim_thread *thread, cudaStream_t stream)
{
    return gp_sim_stream_is_legacy(stream) &&
           atomic_load_explicit(&gp_sim_blocking_captures[thread->device], memory_order_relaxed) !=
               0;
}

/* ---- capture state ---- */

static gp_sim_result is_capturing(gp_sim_thread *thread, cudaStream_t stream,
                                  gp_sim_capture_status *status)
{
    gp_sim_slot *slot = gp_sim_thread_slot(thread, stream);
    if (slot == NULL)
        return GP_SIM_INVALID_HANDLE;
    /* A per-thread stream that was never used exists as soon as it is named. */
    if (atomic_load_explicit(&slot->id, memory_order_acquire) == 0 &&
        stream != GP_SIM_STREAM_PER_THREAD) {
        gp_sim_machine_count_dead_handle();
        return GP_SIM_INVALID_HANDLE;
    }
    if (has_implicit_capture(thread, stream))
        return GP_SIM_CAPTURE_IMPLICIT;

    *status = (gp_sim_capture_status)atomic_load_explicit(&slot->capture, memory_order_relaxed);
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_stream_is_capturing(cudaStream_t stream, gp_sim_capture_status *status)
{
    gp_sim_thread *thread = NULL;
    if (status == NULL)
        return GP_SIM_INVALID_VALUE;
    if (gp_sim_enter_unlocked(&thread, GP_SIM_FN_STREAM_IS_CAPTURING))
        return is_capturing(thread, stream, status);

    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_STREAM_IS_CAPTURING);
    if (result == GP_SIM_SUCCESS)
        result = is_capturing(call.thread, stream, status);
    return gp_sim_leave(result);
}

/* Off the hot path, so asked under the lock, which keeps the capture where it is. */
static gp_sim_result get_capture_info(const gp_sim_call *call, cudaStream_t handle,
                                      gp_sim_capture_status *status, uint64_t *id)
{
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, handle, &stream);
    if (result == GP_SIM_SUCCESS)
        result = is_capturing(call->thread, handle, status);
    if (result == GP_SIM_SUCCESS && stream->capture != NULL)
        *id = stream->capture->number;
    return result;
}

gp_sim_result gp_sim_stream_get_capture_info(cudaStream_t stream, gp_sim_capture_status *status,
                                             uint64_t *id)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_STREAM_GET_CAPTURE_INFO);
    if (result == GP_SIM_SUCCESS)
        result = status != NULL && id != NULL ? get_capture_info(&call, stream, status, id)
                                              : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}

/* ---- id ---- */

/* The id if nothing speaks against reading it, else 0. */
static uint64_t plain_id(gp_sim_thread *thread, cudaStream_t stream)
{
    gp_sim_slot *slot = gp_sim_thread_slot(thread, stream);
    if (slot == NULL || has_implicit_capture(thread, stream) ||
        atomic_load_explicit(&slot->capture, memory_order_relaxed) != GP_SIM_CAPTURE_NONE)
        return 0;
    return atomic_load_explicit(&slot->id, memory_order_acquire);
}

static gp_sim_result find_eager(const gp_sim_call *call, cudaStream_t handle,
                                gp_sim_stream **stream)
{
    gp_sim_result result = gp_sim_stream_find(call, handle, stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if ((*stream)->capture != NULL)
        return gp_sim_capture_refuse((*stream)->capture);
    if (gp_sim_stream_is_legacy(handle) &&
        gp_sim_capture_refuse_legacy(call->machine, call->thread->device))
        return GP_SIM_CAPTURE_IMPLICIT;
    return GP_SIM_SUCCESS;
}

static gp_sim_result get_id_locked(cudaStream_t handle, uint64_t *id, gp_sim_function function)
{
    gp_sim_call call;
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_enter(&call, function);
    if (result == GP_SIM_SUCCESS)
        result = find_eager(&call, handle, &stream);
    if (result == GP_SIM_SUCCESS)
        *id = stream->id;
    return gp_sim_leave(result);
}

gp_sim_result gp_sim_stream_get_id(cudaStream_t stream, uint64_t *id)
{
    gp_sim_thread *thread = NULL;
    if (id == NULL)
        return GP_SIM_INVALID_VALUE;
    if (!gp_sim_enter_unlocked(&thread, GP_SIM_FN_STREAM_GET_ID))
        return get_id_locked(stream, id, GP_SIM_FN_STREAM_GET_ID);

    uint64_t found = plain_id(thread, stream);
    if (found == 0)
        return get_id_locked(stream, id, GP_SIM_FN_NONE); /* counted above */
    *id = found;
    return GP_SIM_SUCCESS;
}

/* ---- device ---- */

gp_sim_result gp_sim_stream_get_device(cudaStream_t stream, int *device)
{
    gp_sim_call call;
    gp_sim_stream *found = NULL;
    if (device == NULL)
        return GP_SIM_INVALID_VALUE;

    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_STREAM_GET_DEVICE);
    if (result == GP_SIM_SUCCESS)
        result = find_eager(&call, stream, &found);
    if (result == GP_SIM_SUCCESS)
        *device = found->device;
    return gp_sim_leave(result);
}
