/* Streams come and go, wait for each other and for gates; time passes. */
#include "actions.h"
#include "judge.h"

/* ---- order ---- */

/* On a stream that captures, this takes the other one into the capture. */
static bool can_fork(const proof_world *world, const proof_step *step)
{
    const proof_stream *from = &world->streams[step->stream];
    const proof_stream *to = &world->streams[step->to];
    return from->capture != PROOF_NONE && step->to < PROOF_MADE_STREAMS &&
           proof_is_eager(world, step->to) && !to->is_blocking && !to->is_attached[0] &&
           !to->is_attached[1];
}

static void fork_capture(proof_world *world, const proof_step *step)
{
    proof_stream *to = &world->streams[step->to];
    to->clock_before = to->clock;
    to->position_before = to->position;
    to->capture = world->streams[step->stream].capture;
    proof_order(world, step->stream, step->to);
}

void proof_order_streams(proof_world *world, const proof_step *step)
{
    if (step->stream == step->to || !proof_is_nameable(world, step->stream))
        return;
    if (proof_can_order(world, step->stream, step->to))
        proof_order(world, step->stream, step->to);
    else if (can_fork(world, step))
        fork_capture(world, step);
    else
        return;
    world->has_acted = true;
}

void proof_record_event(proof_world *world, const proof_step *step)
{
    proof_event *event = &world->events[step->more % PROOF_EVENTS];
    if (!proof_is_eager(world, step->stream))
        return;
    const proof_stream *stream = &world->streams[step->stream];
    world->has_acted = true;
    proof_expect_native(world, world->device->event_record(event->handle, stream->handle),
                        "event_record");
    event->is_recorded = true;
    event->clock = stream->clock;
    event->clock.positions[step->stream] = stream->position;
}

void proof_wait_event(proof_world *world, const proof_step *step)
{
    const proof_event *event = &world->events[step->more % PROOF_EVENTS];
    if (!event->is_recorded || !proof_is_eager(world, step->stream))
        return;
    proof_stream *stream = &world->streams[step->stream];
    world->has_acted = true;
    proof_expect_native(world, world->device->stream_wait_event(stream->handle, event->handle),
                        "stream_wait_event");
    for (unsigned i = 0; i < PROOF_STREAMS; i++) {
        if (stream->clock.positions[i] < event->clock.positions[i])
            stream->clock.positions[i] = event->clock.positions[i];
    }
}

/* ---- life ---- */

void proof_create_stream(proof_world *world, const proof_step *step)
{
    proof_stream *stream = &world->streams[step->stream];
    if (step->stream >= PROOF_MADE_STREAMS || stream->exists)
        return;
    world->has_acted = true;
    stream->is_blocking = step->choice % 8 == 0;
    proof_expect_native(world, world->device->stream_create(&stream->handle, !stream->is_blocking),
                        "stream_create");
    stream->exists = true;
    stream->capture = PROOF_NONE;
    if (step->choice % 3 != 0)
        proof_attach(world, step);
}

void proof_open_gate_of(proof_world *world, proof_stream *stream)
{
    if (stream->gate == NULL)
        return;
    proof_expect_native(world, world->device->gate_open(stream->gate), "gate_open");
    proof_expect_native(world, world->device->gate_destroy(stream->gate), "gate_destroy");
    stream->gate = NULL;
    world->gates--;
}

void proof_detach_all(proof_world *world, proof_stream *stream)
{
    for (unsigned pool = 0; pool < PROOF_POOLS; pool++) {
        if (!stream->is_attached[pool])
            continue;
        proof_enter_gp(world);
        gp_status status = gp_stream_detach(world->pools[pool].handle, stream->handle);
        stream->is_attached[pool] = !proof_leave_gp(world, status, "gp_stream_detach");
    }
}

bool proof_can_retire(const proof_world *world, uint8_t stream, uint8_t heir)
{
    return stream != heir && proof_is_eager(world, stream) && proof_is_eager(world, heir);
}

void proof_retire(proof_world *world, uint8_t stream, uint8_t heir)
{
    world->has_acted = true;
    proof_detach_all(world, &world->streams[stream]);
    proof_order(world, stream, heir);
    proof_inherit(world, stream, heir);
}

void proof_destroy_stream(proof_world *world, const proof_step *step)
{
    proof_stream *stream = &world->streams[step->stream];
    if (step->stream >= PROOF_MADE_STREAMS || !proof_can_retire(world, step->stream, step->to))
        return;
    proof_retire(world, step->stream, step->to);
    if (stream->is_attached[0] || stream->is_attached[1])
        return;
    proof_open_gate_of(world, stream);
    proof_expect_native(world, world->device->stream_destroy(stream->handle), "stream_destroy");
    stream->exists = false;
}

void proof_attach(proof_world *world, const proof_step *step)
{
    proof_stream *stream = &world->streams[step->stream];
    gp_pool *pool = world->pools[step->pool].handle;
    if (step->stream >= PROOF_OWN || pool == NULL || !proof_is_eager(world, step->stream))
        return;
    /* No thread could detach it again while others use it. */
    if (world->in_crowd && step->stream == PROOF_LEGACY)
        return;
    proof_enter_gp(world);
    gp_status status = gp_stream_attach(pool, stream->handle);
    if (proof_leave_gp(world, status, "gp_stream_attach"))
        stream->is_attached[step->pool] = true;
}

void proof_detach(proof_world *world, const proof_step *step)
{
    if (proof_is_eager(world, step->stream))
        proof_detach_all(world, &world->streams[step->stream]);
}

/* ---- time ---- */

/* On a manual clock nothing that is not over can be waited for. */
void proof_synchronize(proof_world *world, const proof_step *step)
{
    if (world->captures > 0 || world->gates > 0 || !proof_is_eager(world, step->stream))
        return;
    gp_sim_result result = world->device->stream_synchronize(world->streams[step->stream].handle);
    if (result == 600 && world->plan->machine.clock == GP_SIM_CLOCK_MANUAL)
        return;
    world->has_acted = true;
    proof_expect_native(world, result, "stream_synchronize");
    proof_observe(world, step->stream);
}

void proof_advance(proof_world *world, const proof_step *step)
{
    world->has_acted = true;
    world->device->advance(step->amount);
}

void proof_close_gate(proof_world *world, const proof_step *step)
{
    proof_stream *stream = &world->streams[step->stream];
    if (stream->gate != NULL || step->stream >= PROOF_MADE_STREAMS ||
        !proof_is_eager(world, step->stream))
        return;
    world->has_acted = true;
    proof_expect_native(world, world->device->gate_create(&stream->gate), "gate_create");
    proof_expect_native(world, world->device->gate_wait(stream->handle, stream->gate), "gate_wait");
    world->gates++;
}

void proof_open_gate(proof_world *world, const proof_step *step)
{
    proof_stream *stream = &world->streams[step->stream];
    if (stream->gate == NULL)
        return;
    world->has_acted = true;
    proof_open_gate_of(world, stream);
}

/* Work is over in the end: a program's kernels take microseconds. */
bool proof_settle(proof_world *world)
{
    if (world->captures > 0)
        return false;
    for (unsigned i = 0; i < PROOF_STREAMS; i++)
        proof_open_gate_of(world, &world->streams[i]);
    world->device->advance((uint64_t)1000000000);
    proof_expect_native(world, world->device->device_synchronize(), "device_synchronize");
    for (unsigned i = 0; i < PROOF_STREAMS; i++)
        proof_observe(world, (uint8_t)i);
    return true;
}
