#include "sim_sync.h"

#include "sim_capture.h"
#include "sim_memory.h"

/* Bring the clock to the end of an operation; 600 if that is not allowed, 400 if
 * the machine was thrown away meanwhile. */
static gp_sim_result wait_for_end(const gp_sim_call *call, gp_sim_stream *stream, uint64_t position)
{
    gp_sim_machine *machine = call->machine;
    bool is_manual = machine->config.clock == GP_SIM_CLOCK_MANUAL;
    uint64_t end_ns = 0;

    while (!gp_sim_queue_end(&stream->queue, position, &end_ns)) {
        if (is_manual)
            return GP_SIM_NOT_READY;
        if (!gp_sim_machine_wait(machine))
            return GP_SIM_INVALID_HANDLE;
    }
    if (end_ns > machine->now_ns) {
        if (is_manual)
            return GP_SIM_NOT_READY;
        machine->now_ns = end_ns;
    }
    gp_sim_queue_settle(&stream->queue, machine->now_ns);
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_sync(const gp_sim_call *call, gp_sim_stream *stream,
                          const gp_sim_moment *moment)
{
    gp_sim_machine *machine = call->machine;
    gp_sim_moment kept = *moment; /* while the lock is given up, events may go */
    (void)gp_sim_order_share(kept.order);
    gp_sim_stream_retain(stream);

    gp_sim_result result = wait_for_end(call, stream, kept.position);
    if (result == GP_SIM_SUCCESS) {
        gp_sim_observed_join(&machine->observed, &kept);
        gp_sim_memory_synchronized(call, stream->device);
    }
    /* A machine that was thrown away has freed its streams, but not the order,
     * of which one reference is held here. */
    if (result != GP_SIM_INVALID_HANDLE)
        gp_sim_stream_release(stream);
    gp_sim_order_release(kept.order);
    return result;
}

/* A stream that the host may ask about; its implicit order is brought in. */
static gp_sim_result find_askable(const gp_sim_call *call, cudaStream_t handle,
                                  gp_sim_stream **stream)
{
    gp_sim_result result = gp_sim_stream_find(call, handle, stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if ((*stream)->capture != NULL)
        return gp_sim_capture_refuse((*stream)->capture);
    if (gp_sim_capture_forbids(call))
        return GP_SIM_CAPTURE_UNSUPPORTED;
    return gp_sim_stream_prepare(call->machine, *stream);
}

gp_sim_result gp_sim_stream_synchronize(cudaStream_t stream)
{
    gp_sim_call call;
    gp_sim_stream *found = NULL;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result == GP_SIM_SUCCESS)
        result = find_askable(&call, stream, &found);
    if (result == GP_SIM_SUCCESS) {
        gp_sim_moment moment = gp_sim_stream_moment(found);
        result = gp_sim_sync(&call, found, &moment);
    }
    return gp_sim_leave(result);
}

static gp_sim_result stream_query(gp_sim_machine *machine, gp_sim_stream *stream)
{
    gp_sim_moment moment = gp_sim_stream_moment(stream);
    if (!gp_sim_stream_is_complete(machine, stream, moment.position))
        return GP_SIM_NOT_READY;

    gp_sim_observed_join(&machine->observed, &moment);
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_stream_query(cudaStream_t stream)
{
    gp_sim_call call;
    gp_sim_stream *found = NULL;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_STREAM_QUERY);
    if (result == GP_SIM_SUCCESS)
        result = find_askable(&call, stream, &found);
    if (result == GP_SIM_SUCCESS)
        result = stream_query(call.machine, found);
    return gp_sim_leave(result);
}

/* A stream of the device whose work is not known to be complete by the host. */
static gp_sim_stream *next_unobserved(gp_sim_machine *machine, int device)
{
    for (gp_sim_stream *stream = machine->streams; stream != NULL; stream = stream->next) {
        if (stream->device == device &&
            gp_sim_queue_position(&stream->queue) >
                gp_sim_observed_position(&machine->observed, stream->id))
            return stream;
    }
    return NULL;
}

static gp_sim_result device_synchronize(const gp_sim_call *call)
{
    gp_sim_machine *machine = call->machine;
    if (gp_sim_capture_forbids(call) || gp_sim_capture_refuse_device(machine, call->thread->device))
        return GP_SIM_CAPTURE_UNSUPPORTED;

    gp_sim_stream *stream = next_unobserved(machine, call->thread->device);
    while (stream != NULL) {
        gp_sim_moment moment = gp_sim_stream_moment(stream);
        gp_sim_result result = gp_sim_sync(call, stream, &moment);
        if (result != GP_SIM_SUCCESS)
            return result;
        stream = next_unobserved(machine, call->thread->device);
    }
    gp_sim_streams_observe_departed(machine, call->thread->device);
    gp_sim_memory_synchronized(call, call->thread->device);
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_device_synchronize(void)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_DEVICE_SYNCHRONIZE);
    if (result == GP_SIM_SUCCESS)
        result = device_synchronize(&call);
    return gp_sim_leave(result);
}
