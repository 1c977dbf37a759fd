#include "sim_event.h"

#include "sim_capture.h"
#include "sim_graph.h"
#include "sim_sync.h"

#include <stdlib.h>

typedef struct gp_sim_event_handle event_state;

/* ---- life ---- */

static void forget(event_state *event)
{
    gp_sim_stream_release(event->stream);
    gp_sim_order_release(event->moment.order);
    event->stream = NULL;
    event->moment = (gp_sim_moment){0};
    event->capture_number = 0;
}

void gp_sim_events_clear(gp_sim_machine *machine)
{
    for (uint32_t i = 0; i < machine->events.count; i++) {
        event_state *event = machine->events.slots[i].object;
        if (event != NULL)
            forget(event);
        free(event);
    }
    gp_sim_handles_clear(&machine->events);
}

static gp_sim_result event_create(const gp_sim_call *call, gp_sim_event *handle)
{
    event_state *event = calloc(1, sizeof(*event));
    if (event == NULL)
        return GP_SIM_OUT_OF_MEMORY;

    event->device = call->thread->device;
    uintptr_t value = gp_sim_handles_add(&call->machine->events, event);
    if (value == 0) {
        free(event);
        return GP_SIM_OUT_OF_MEMORY;
    }
    *handle = (gp_sim_event)value;
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_event_create(gp_sim_event *event)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_EVENT_CREATE);
    if (result == GP_SIM_SUCCESS)
        result = event != NULL ? event_create(&call, event) : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}

static event_state *find(const gp_sim_machine *machine, gp_sim_event handle)
{
    event_state *event = gp_sim_handles_find(&machine->events, (uintptr_t)handle);
    if (event == NULL && gp_sim_handles_is_dead(&machine->events, (uintptr_t)handle))
        gp_sim_machine_count_dead_handle();
    return event;
}

gp_sim_result gp_sim_event_destroy(gp_sim_event event)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_EVENT_DESTROY);
    if (result != GP_SIM_SUCCESS)
        return gp_sim_leave(result);
    event_state *state = find(call.machine, event);
    if (state == NULL)
        return gp_sim_leave(GP_SIM_INVALID_HANDLE);

    gp_sim_handles_remove(&call.machine->events, (uintptr_t)event);
    forget(state);
    free(state);
    return gp_sim_leave(GP_SIM_SUCCESS);
}

size_t gp_sim_live_events(void)
{
    gp_sim_machine *machine = gp_sim_machine_lock();
    size_t live = machine != NULL ? machine->events.live : 0;
    gp_sim_machine_unlock();
    return live;
}

/* ---- record ---- */

static gp_sim_result record_captured(event_state *event, gp_sim_stream *stream)
{
    if (stream->capture->is_invalidated)
        return GP_SIM_CAPTURE_WAS_INVALIDATED;

    forget(event);
    event->capture_number = stream->capture->number;
    event->lane = stream->lane;
    event->node = stream->capture->lanes[stream->lane].last_node;
    return GP_SIM_SUCCESS;
}

static gp_sim_result record_eager(gp_sim_machine *machine, event_state *event,
                                  gp_sim_stream *stream)
{
    gp_sim_result result = gp_sim_stream_prepare(machine, stream);
    if (result != GP_SIM_SUCCESS)
        return result;

    gp_sim_moment moment = gp_sim_stream_moment(stream);
    gp_sim_stream_retain(stream);
    (void)gp_sim_order_share(moment.order);
    forget(event);
    event->stream = stream;
    event->moment = moment;
    return GP_SIM_SUCCESS;
}

static gp_sim_result event_record(const gp_sim_call *call, gp_sim_event handle,
                                  cudaStream_t stream_handle)
{
    event_state *event = find(call->machine, handle);
    if (event == NULL)
        return GP_SIM_INVALID_HANDLE;
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, stream_handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (event->device != stream->device)
        return GP_SIM_INVALID_HANDLE;
    return stream->capture != NULL ? record_captured(event, stream)
                                   : record_eager(call->machine, event, stream);
}

gp_sim_result gp_sim_event_record(gp_sim_event event, cudaStream_t stream)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_EVENT_RECORD);
    if (result == GP_SIM_SUCCESS)
        result = event_record(&call, event, stream);
    return gp_sim_leave(result);
}

/* ---- ask and wait on the host ---- */

/* A captured event stands for no work: asking about it spoils its capture. */
static gp_sim_result refuse_captured(gp_sim_machine *machine, const event_state *event)
{
    gp_sim_capture *capture = gp_sim_capture_of_number(machine, event->capture_number);
    if (capture != NULL)
        (void)gp_sim_capture_refuse(capture);
    return GP_SIM_CAPTURED_EVENT;
}

static gp_sim_result find_eager(const gp_sim_call *call, gp_sim_event handle, event_state **event)
{
    *event = find(call->machine, handle);
    if (*event == NULL)
        return GP_SIM_INVALID_HANDLE;
    if (gp_sim_capture_forbids(call))
        return GP_SIM_CAPTURE_UNSUPPORTED;
    if ((*event)->capture_number != 0)
        return refuse_captured(call->machine, *event);
    return GP_SIM_SUCCESS;
}

static gp_sim_result event_query(const gp_sim_call *call, gp_sim_event handle)
{
    event_state *event = NULL;
    gp_sim_result result = find_eager(call, handle, &event);
    if (result != GP_SIM_SUCCESS || event->stream == NULL)
        return result;
    if (!gp_sim_stream_is_complete(call->machine, event->stream, event->moment.position))
        return GP_SIM_NOT_READY;

    gp_sim_observed_join(&call->machine->observed, &event->moment);
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_event_query(gp_sim_event event)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_EVENT_QUERY);
    if (result == GP_SIM_SUCCESS)
        result = event_query(&call, event);
    return gp_sim_leave(result);
}

gp_sim_result gp_sim_event_synchronize(gp_sim_event event)
{
    gp_sim_call call;
    event_state *state = NULL;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result == GP_SIM_SUCCESS)
        result = find_eager(&call, event, &state);
    if (result == GP_SIM_SUCCESS && state->stream != NULL)
        result = gp_sim_sync(&call, state->stream, &state->moment);
    return gp_sim_leave(result);
}

/* ---- wait on a stream ---- */

/* Waiting for a captured event takes the stream into the capture, or orders it
 * there if it is in already. */
static gp_sim_result wait_captured(gp_sim_machine *machine, gp_sim_stream *stream,
                                   const event_state *event)
{
    gp_sim_capture *capture = gp_sim_capture_of_number(machine, event->capture_number);
    if (capture == NULL)
        return GP_SIM_CAPTURED_EVENT;
    if (capture->is_invalidated)
        return GP_SIM_CAPTURE_WAS_INVALIDATED;
    if (stream == machine->devices[stream->device].legacy) {
        (void)gp_sim_capture_refuse(capture);
        return GP_SIM_CAPTURE_IMPLICIT;
    }
    if (stream->capture != NULL && stream->capture != capture) {
        (void)gp_sim_capture_refuse(capture);
        (void)gp_sim_capture_refuse(stream->capture);
        return GP_SIM_CAPTURE_MERGE;
    }
    return gp_sim_capture_wait(capture, stream, event->node);
}

static gp_sim_result wait_event(const gp_sim_call *call, cudaStream_t stream_handle,
                                gp_sim_event handle)
{
    event_state *event = find(call->machine, handle);
    if (event == NULL)
        return GP_SIM_INVALID_HANDLE;
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, stream_handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (event->capture_number != 0)
        return wait_captured(call->machine, stream, event);
    if (stream->capture != NULL) {
        (void)gp_sim_capture_refuse(stream->capture);
        return GP_SIM_CAPTURE_ISOLATION;
    }

    result = gp_sim_stream_prepare(call->machine, stream);
    if (result != GP_SIM_SUCCESS || event->stream == NULL)
        return result;
    return gp_sim_stream_wait_for(call->machine, stream, event->stream, &event->moment);
}

gp_sim_result gp_sim_stream_wait_event(cudaStream_t stream, gp_sim_event event)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_STREAM_WAIT);
    if (result == GP_SIM_SUCCESS)
        result = wait_event(&call, stream, event);
    return gp_sim_leave(result);
}
