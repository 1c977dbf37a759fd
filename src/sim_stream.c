#include "sim_stream.h"

#include "sim_capture.h"

#include <stdlib.h>

/* Ids go on over machines, so that nothing that remembers one is ever misled. */
static uint64_t last_id; /* under the machine's lock */

/* ---- life ---- */

static void link_stream(gp_sim_machine *machine, gp_sim_stream *stream)
{
    stream->next = machine->streams;
    if (machine->streams != NULL)
        machine->streams->previous = stream;
    machine->streams = stream;
}

static void unlink_stream(gp_sim_machine *machine, gp_sim_stream *stream)
{
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        machine->streams = stream->next;
    if (stream->next != NULL)
        stream->next->previous = stream->previous;
}

static gp_sim_stream *stream_make(gp_sim_machine *machine, int device, bool is_blocking)
{
    gp_sim_stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL || !gp_sim_observed_reserve(&machine->observed, last_id + 1)) {
        free(stream);
        return NULL;
    }
    stream->id = ++last_id;
    stream->device = device;
    stream->is_blocking = is_blocking;
    link_stream(machine, stream);
    return stream;
}

static void stream_free(gp_sim_machine *machine, gp_sim_stream *stream)
{
    unlink_stream(machine, stream);
    gp_sim_queue_clear(&stream->queue);
    gp_sim_order_release(stream->order);
    free(stream);
}

static void bind_slot(gp_sim_stream *stream, gp_sim_slot *slot)
{
    stream->slot = slot;
    gp_sim_slot_bind(slot, stream, stream->id, stream->device);
}

bool gp_sim_stream_open_device(gp_sim_machine *machine, int device)
{
    gp_sim_stream *legacy = stream_make(machine, device, false);
    if (legacy == NULL)
        return false;

    bind_slot(legacy, &gp_sim_legacy_slots[device]);
    machine->devices[device].legacy = legacy;
    return true;
}

gp_sim_stream *gp_sim_stream_make_hidden(gp_sim_machine *machine, int device)
{
    gp_sim_stream *stream = stream_make(machine, device, false);
    if (stream == NULL)
        return NULL;

    stream->is_retired = true;
    machine->retired_streams++;
    return stream;
}

static gp_sim_result stream_create(const gp_sim_call *call, cudaStream_t *handle, bool non_blocking)
{
    gp_sim_machine *machine = call->machine;
    gp_sim_streams_sweep(machine);
    gp_sim_slot *slot = gp_sim_slot_issue();
    if (slot == NULL)
        return GP_SIM_OUT_OF_MEMORY;
    gp_sim_stream *stream = stream_make(machine, call->thread->device, !non_blocking);
    if (stream == NULL) {
        gp_sim_slot_retire(slot);
        return GP_SIM_OUT_OF_MEMORY;
    }

    bind_slot(stream, slot);
    stream->is_listed = true;
    machine->live_streams++;
    *handle = gp_sim_slot_handle(slot);
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_stream_create(cudaStream_t *stream, bool non_blocking)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_STREAM_CREATE);
    if (result == GP_SIM_SUCCESS)
        result = stream != NULL ? stream_create(&call, stream, non_blocking) : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}

void gp_sim_stream_retire(gp_sim_machine *machine, gp_sim_stream *stream)
{
    if (stream == NULL)
        return;

    if (stream->capture != NULL)
        gp_sim_capture_drop_stream(machine, stream);
    if (stream->is_listed) {
        gp_sim_slot_retire(stream->slot);
        machine->live_streams--;
    } else {
        gp_sim_slot_unbind(stream->slot);
    }
    stream->slot = NULL;
    stream->is_listed = false;
    stream->is_retired = true;
    machine->retired_streams++;
}

static gp_sim_result stream_destroy(const gp_sim_call *call, cudaStream_t handle)
{
    if ((uintptr_t)handle <= (uintptr_t)GP_SIM_STREAM_PER_THREAD)
        return GP_SIM_INVALID_HANDLE;
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;

    gp_sim_stream_retire(call->machine, stream);
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_stream_destroy(cudaStream_t stream)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_STREAM_DESTROY);
    if (result == GP_SIM_SUCCESS)
        result = stream_destroy(&call, stream);
    return gp_sim_leave(result);
}

void gp_sim_stream_retain(gp_sim_stream *stream)
{
    if (stream != NULL)
        stream->references++;
}

void gp_sim_stream_release(gp_sim_stream *stream)
{
    if (stream != NULL)
        stream->references--;
}

/* The legacy stream follows a blocking stream even when that is gone. */
static bool leave_debt(gp_sim_machine *machine, const gp_sim_stream *stream)
{
    gp_sim_moment last = gp_sim_stream_moment(stream);
    return !stream->is_blocking || gp_sim_order_join(&machine->devices[stream->device].legacy_debt,
                                                     &last, &machine->observed);
}

/* Nobody but a device-wide wait can observe the work of a stream that is gone. */
static void remember(gp_sim_machine *machine, const gp_sim_stream *stream)
{
    uint64_t position = gp_sim_queue_position(&stream->queue);
    if (position <= gp_sim_observed_position(&machine->observed, stream->id))
        return;

    gp_sim_departed *departed = malloc(sizeof(*departed));
    if (departed == NULL || !leave_debt(machine, stream)) {
        free(departed);
        gp_sim_checker_give_up(&machine->checker);
        return;
    }
    *departed = (gp_sim_departed){.next = machine->departed,
                                  .id = stream->id,
                                  .position = position,
                                  .device = stream->device};
    machine->departed = departed;
}

void gp_sim_streams_observe_departed(gp_sim_machine *machine, int device)
{
    gp_sim_departed **link = &machine->departed;
    while (*link != NULL) {
        gp_sim_departed *departed = *link;
        if (departed->device != device) {
            link = &departed->next;
            continue;
        }
        gp_sim_moment last = {.stream_id = departed->id, .position = departed->position};
        gp_sim_observed_join(&machine->observed, &last);
        *link = departed->next;
        free(departed);
    }
}

void gp_sim_streams_sweep(gp_sim_machine *machine)
{
    gp_sim_stream *stream = machine->streams;
    while (stream != NULL && machine->retired_streams > 0) {
        gp_sim_stream *next = stream->next;
        gp_sim_queue_settle(&stream->queue, machine->now_ns);
        if (stream->is_retired && stream->references == 0 && stream->queue.count == 0) {
            remember(machine, stream);
            stream_free(machine, stream);
            machine->retired_streams--;
        }
        stream = next;
    }
}

void gp_sim_streams_clear(gp_sim_machine *machine)
{
    /* Operations that wait hold references into other queues: first those. */
    for (gp_sim_stream *stream = machine->streams; stream != NULL; stream = stream->next)
        gp_sim_queue_clear(&stream->queue);
    for (gp_sim_stream *stream = machine->streams; stream != NULL;) {
        gp_sim_stream *next = stream->next;
        stream_free(machine, stream);
        stream = next;
    }
    while (machine->departed != NULL) {
        gp_sim_departed *departed = machine->departed;
        machine->departed = departed->next;
        free(departed);
    }
    for (int device = 0; device < GP_SIM_MAX_DEVICES; device++)
        gp_sim_order_release(machine->devices[device].legacy_debt);
}

size_t gp_sim_live_streams(void)
{
    gp_sim_machine *machine = gp_sim_machine_lock();
    size_t live = machine != NULL ? machine->live_streams : 0;
    gp_sim_machine_unlock();
    return live;
}

/* ---- look-up ---- */

static gp_sim_stream *own_stream(const gp_sim_call *call, gp_sim_slot *slot)
{
    if (slot->stream == NULL) {
        gp_sim_stream *stream = stream_make(call->machine, call->thread->device, true);
        if (stream != NULL)
            bind_slot(stream, slot);
    }
    return slot->stream;
}

gp_sim_result gp_sim_stream_find(const gp_sim_call *call, cudaStream_t handle,
                                 gp_sim_stream **stream)
{
    gp_sim_slot *slot = gp_sim_thread_slot(call->thread, handle);
    if (slot == NULL)
        return GP_SIM_INVALID_HANDLE;
    if (handle == GP_SIM_STREAM_PER_THREAD && own_stream(call, slot) == NULL)
        return GP_SIM_OUT_OF_MEMORY;
    if (slot->stream == NULL) {
        gp_sim_machine_count_dead_handle();
        return GP_SIM_INVALID_HANDLE;
    }
    *stream = slot->stream;
    return GP_SIM_SUCCESS;
}

/* ---- order and time ---- */

gp_sim_moment gp_sim_stream_moment(const gp_sim_stream *stream)
{
    return (gp_sim_moment){.stream_id = stream->id,
                           .position = gp_sim_queue_position(&stream->queue),
                           .order = stream->order};
}

gp_sim_result gp_sim_stream_submit(gp_sim_machine *machine, gp_sim_stream *stream, gp_sim_task task)
{
    task.submitted_ns = machine->now_ns;
    gp_sim_queue_settle(&stream->queue, machine->now_ns);
    if (!gp_sim_queue_push(&stream->queue, task))
        return GP_SIM_OUT_OF_MEMORY;
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_stream_wait_for(gp_sim_machine *machine, gp_sim_stream *stream,
                                     gp_sim_stream *source, const gp_sim_moment *moment)
{
    /* Whatever is ordered before already is waited for already, or was seen to
     * be complete. */
    gp_sim_moment here = gp_sim_stream_moment(stream);
    if (gp_sim_moment_covers(&here, &machine->observed, moment->stream_id, moment->position))
        return GP_SIM_SUCCESS;

    if (!gp_sim_order_join(&stream->order, moment, &machine->observed))
        return GP_SIM_OUT_OF_MEMORY;
    return gp_sim_stream_submit(machine, stream,
                                (gp_sim_task){.after = source, .after_position = moment->position});
}

static gp_sim_result follow(gp_sim_machine *machine, gp_sim_stream *stream, gp_sim_stream *source)
{
    gp_sim_moment moment = gp_sim_stream_moment(source);
    return gp_sim_stream_wait_for(machine, stream, source, &moment);
}

/* Streams that are gone have no time left to wait for, only an order. */
static gp_sim_result pay_debt(gp_sim_machine *machine, gp_sim_stream *legacy)
{
    gp_sim_order **debt = &machine->devices[legacy->device].legacy_debt;
    if (*debt == NULL)
        return GP_SIM_SUCCESS;
    if (!gp_sim_order_add(&legacy->order, *debt, &machine->observed))
        return GP_SIM_OUT_OF_MEMORY;

    gp_sim_order_release(*debt);
    *debt = NULL;
    /* An order may only grow together with the position. */
    return gp_sim_stream_submit(machine, legacy, (gp_sim_task){0});
}

static gp_sim_result follow_all_blocking(gp_sim_machine *machine, gp_sim_stream *legacy)
{
    for (gp_sim_stream *stream = machine->streams; stream != NULL; stream = stream->next) {
        if (!stream->is_blocking || stream->device != legacy->device)
            continue;
        gp_sim_result result = follow(machine, legacy, stream);
        if (result != GP_SIM_SUCCESS)
            return result;
    }
    return pay_debt(machine, legacy);
}

static gp_sim_result join_legacy_order(gp_sim_machine *machine, gp_sim_stream *stream)
{
    gp_sim_stream *legacy = machine->devices[stream->device].legacy;
    if (stream == legacy)
        return follow_all_blocking(machine, legacy);
    if (stream->is_blocking)
        return follow(machine, stream, legacy);
    return GP_SIM_SUCCESS;
}

void gp_sim_stream_join_legacy_order(gp_sim_machine *machine, gp_sim_stream *stream)
{
    if (join_legacy_order(machine, stream) != GP_SIM_SUCCESS)
        gp_sim_checker_give_up(&machine->checker);
}

gp_sim_result gp_sim_stream_prepare(gp_sim_machine *machine, gp_sim_stream *stream)
{
    if (stream == machine->devices[stream->device].legacy &&
        gp_sim_capture_refuse_legacy(machine, stream->device))
        return GP_SIM_CAPTURE_IMPLICIT;
    return join_legacy_order(machine, stream);
}

bool gp_sim_stream_is_complete(gp_sim_machine *machine, gp_sim_stream *stream, uint64_t position)
{
    gp_sim_queue_settle(&stream->queue, machine->now_ns);
    return position <= stream->queue.done;
}

void gp_sim_streams_resolve(gp_sim_machine *machine)
{
    bool progress = true;
    while (progress) {
        progress = false;
        for (gp_sim_stream *stream = machine->streams; stream != NULL; stream = stream->next)
            progress = gp_sim_queue_resolve(&stream->queue) || progress;
    }
}
