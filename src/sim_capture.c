#include "sim_capture.h"

#include "sim_graph.h"

#include <stdlib.h>

static uint64_t last_number; /* under the machine's lock */

/* ---- lanes ---- */

static void set_slot(const gp_sim_stream *stream, gp_sim_capture_status status)
{
    if (stream->slot != NULL)
        atomic_store_explicit(&stream->slot->capture, status, memory_order_relaxed);
}

static bool lane_add(gp_sim_capture *capture, gp_sim_stream *stream)
{
    size_t count = capture->lane_count + 1;
    gp_sim_lane *lanes = realloc(capture->lanes, count * sizeof(*lanes));
    if (lanes == NULL)
        return false;

    lanes[capture->lane_count] = (gp_sim_lane){.stream = stream, .last_node = GP_SIM_NO_NODE};
    stream->capture = capture;
    stream->lane = capture->lane_count;
    capture->lanes = lanes;
    capture->lane_count = count;
    capture->graph->lane_count = count;
    set_slot(stream, GP_SIM_CAPTURE_ACTIVE);
    if (stream->is_blocking)
        atomic_fetch_add_explicit(&gp_sim_blocking_captures[stream->device], 1,
                                  memory_order_relaxed);
    return true;
}

static void lane_leave(gp_sim_lane *lane)
{
    gp_sim_stream *stream = lane->stream;
    if (stream == NULL)
        return;

    lane->stream = NULL;
    stream->capture = NULL;
    set_slot(stream, GP_SIM_CAPTURE_NONE);
    if (stream->is_blocking)
        atomic_fetch_sub_explicit(&gp_sim_blocking_captures[stream->device], 1,
                                  memory_order_relaxed);
}

gp_sim_result gp_sim_capture_wait(gp_sim_capture *capture, gp_sim_stream *stream, size_t node)
{
    if (stream->capture == NULL && !lane_add(capture, stream))
        return GP_SIM_OUT_OF_MEMORY;
    return gp_sim_capture_append(capture, stream,
                                 (gp_sim_graph_node){.kind = GP_SIM_NODE_WAIT, .after = node});
}

/* ---- life ---- */

static void capture_end(gp_sim_machine *machine, gp_sim_capture *capture)
{
    for (size_t i = 0; i < capture->lane_count; i++)
        lane_leave(&capture->lanes[i]);
    if (capture->previous != NULL)
        capture->previous->next = capture->next;
    else
        machine->captures = capture->next;
    if (capture->next != NULL)
        capture->next->previous = capture->previous;
    if (capture->graph != NULL)
        gp_sim_graph_free(machine, capture->graph);
    free(capture->lanes);
    free(capture);
}

void gp_sim_captures_clear(gp_sim_machine *machine)
{
    while (machine->captures != NULL)
        capture_end(machine, machine->captures);
}

gp_sim_capture *gp_sim_capture_of_number(gp_sim_machine *machine, uint64_t number)
{
    gp_sim_capture *capture = machine->captures;
    while (capture != NULL && capture->number != number)
        capture = capture->next;
    return capture;
}

static gp_sim_result capture_begin(const gp_sim_call *call, cudaStream_t handle,
                                   gp_sim_capture_mode mode)
{
    gp_sim_machine *machine = call->machine;
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (stream == machine->devices[stream->device].legacy)
        return GP_SIM_CAPTURE_UNSUPPORTED;
    if (stream->capture != NULL)
        return GP_SIM_ILLEGAL_STATE;

    gp_sim_capture *capture = calloc(1, sizeof(*capture));
    if (capture == NULL)
        return GP_SIM_OUT_OF_MEMORY;
    capture->next = machine->captures;
    if (machine->captures != NULL)
        machine->captures->previous = capture;
    machine->captures = capture;
    capture->number = ++last_number;
    capture->mode = mode;
    capture->thread_number = call->thread->number;
    capture->graph = gp_sim_graph_make(stream->device);
    if (capture->graph == NULL || !lane_add(capture, stream)) {
        capture_end(machine, capture);
        return GP_SIM_OUT_OF_MEMORY;
    }
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_begin_capture(cudaStream_t stream, gp_sim_capture_mode mode)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result == GP_SIM_SUCCESS)
        result = (unsigned)mode <= GP_SIM_CAPTURE_RELAXED ? capture_begin(&call, stream, mode)
                                                          : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}

static gp_sim_result may_end(const gp_sim_call *call, const gp_sim_stream *stream)
{
    const gp_sim_capture *capture = stream->capture;
    if (capture == NULL)
        return GP_SIM_ILLEGAL_STATE;
    if (capture->lanes[0].stream != stream)
        return GP_SIM_CAPTURE_UNMATCHED;
    if (capture->mode != GP_SIM_CAPTURE_RELAXED && capture->thread_number != call->thread->number)
        return GP_SIM_CAPTURE_WRONG_THREAD;
    return GP_SIM_SUCCESS;
}

static gp_sim_result capture_finish(const gp_sim_call *call, cudaStream_t handle,
                                    gp_sim_graph *graph)
{
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, handle, &stream);
    if (result == GP_SIM_SUCCESS)
        result = may_end(call, stream);
    if (result != GP_SIM_SUCCESS)
        return result;

    gp_sim_capture *capture = stream->capture;
    if (capture->is_invalidated)
        result = GP_SIM_CAPTURE_WAS_INVALIDATED;
    else if (!gp_sim_graph_is_joined(capture))
        result = GP_SIM_CAPTURE_UNJOINED;
    else
        result = gp_sim_graph_publish(call->machine, capture->graph, graph);
    if (result == GP_SIM_SUCCESS)
        capture->graph = NULL;
    capture_end(call->machine, capture);
    return result;
}

gp_sim_result gp_sim_end_capture(cudaStream_t stream, gp_sim_graph *graph)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result == GP_SIM_SUCCESS)
        result = graph != NULL ? capture_finish(&call, stream, graph) : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}

/* ---- what spoils a capture ---- */

static void invalidate(gp_sim_capture *capture)
{
    capture->is_invalidated = true;
    for (size_t i = 0; i < capture->lane_count; i++) {
        if (capture->lanes[i].stream != NULL)
            set_slot(capture->lanes[i].stream, GP_SIM_CAPTURE_INVALIDATED);
    }
}

gp_sim_result gp_sim_capture_refuse(gp_sim_capture *capture)
{

    invalidate(capture);
    return GP_SIM_CAPTURE_UNSUPPORTED;
}

static bool forbids(const gp_sim_capture *capture, const gp_sim_thread *thread)
{
    bool is_own = capture->thread_number == thread->number;
    switch (thread->mode) {
    case GP_SIM_CAPTURE_RELAXED:
        return false;
    case GP_SIM_CAPTURE_THREAD_LOCAL:
        return is_own && capture->mode != GP_SIM_CAPTURE_RELAXED;
    case GP_SIM_CAPTURE_GLOBAL:
        return capture->mode == GP_SIM_CAPTURE_GLOBAL ||
               (is_own && capture->mode != GP_SIM_CAPTURE_RELAXED);
    }
    return false;
}

bool gp_sim_capture_forbids(const gp_sim_call *call)
{
    bool any = false;
    for (gp_sim_capture *capture = call->machine->captures; capture != NULL;
         capture = capture->next) {
        if (forbids(capture, call->thread)) {
            invalidate(capture);
            any = true;
        }
    }
    return any;
}

static bool has_lane(const gp_sim_capture *capture, int device, bool only_blocking)
{
    for (size_t i = 0; i < capture->lane_count; i++) {
        const gp_sim_stream *stream = capture->lanes[i].stream;
        if (stream != NULL && stream->device == device && (stream->is_blocking || !only_blocking))
            return true;
    }
    return false;
}

static bool refuse_lanes(gp_sim_machine *machine, int device, bool only_blocking)
{
    bool any = false;
    for (gp_sim_capture *capture = machine->captures; capture != NULL; capture = capture->next) {
        if (has_lane(capture, device, only_blocking)) {
            invalidate(capture);
            any = true;
        }
    }
    return any;
}

bool gp_sim_capture_refuse_legacy(gp_sim_machine *machine, int device)
{
    return refuse_lanes(machine, device, true);
}

bool gp_sim_capture_refuse_device(gp_sim_machine *machine, int device)
{
    return refuse_lanes(machine, device, false);
}

void gp_sim_capture_drop_stream(gp_sim_machine *machine, gp_sim_stream *stream)
{
    gp_sim_capture *capture = stream->capture;
    bool was_origin = stream->lane == 0;
    invalidate(capture);
    lane_leave(&capture->lanes[stream->lane]);
    /* Nobody could end it any more. */
    if (was_origin)
        capture_end(machine, capture);
}

/* ---- a thread's mode ---- */

/* The mode is the thread's own, so no lock is needed. */
static gp_sim_result exchange_mode(gp_sim_thread *thread, gp_sim_capture_mode *mode)
{
    gp_sim_capture_mode before = thread->mode;
    if ((unsigned)*mode > GP_SIM_CAPTURE_RELAXED)
        return GP_SIM_INVALID_VALUE;

    thread->mode = *mode;
    *mode = before;
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_exchange_capture_mode(gp_sim_capture_mode *mode)
{
    gp_sim_thread *thread = NULL;
    if (mode == NULL)
        return GP_SIM_INVALID_VALUE;
    if (gp_sim_enter_unlocked(&thread, GP_SIM_FN_EXCHANGE_CAPTURE_MODE))
        return exchange_mode(thread, mode);

    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_EXCHANGE_CAPTURE_MODE);
    if (result == GP_SIM_SUCCESS)
        result = exchange_mode(call.thread, mode);
    return gp_sim_leave(result);
}
