#include "stage.h"

#include "actions.h"
#include "judge.h"

/* ---- before ---- */

static void open_streams(proof_world *world)
{
    for (unsigned i = 0; i < PROOF_STREAMS; i++) {
        world->streams[i].capture = PROOF_NONE;
        world->graphs[i].resting = PROOF_NONE;
    }
    for (unsigned i = PROOF_LEGACY; i < PROOF_STREAMS; i++) {
        world->streams[i].exists = true;
        world->streams[i].is_blocking = true;
        world->streams[i].handle = i == PROOF_LEGACY ? NULL : GP_SIM_STREAM_PER_THREAD;
    }
}

static void open_events(proof_world *world)
{
    for (unsigned i = 0; i < PROOF_EVENTS; i++)
        proof_expect_native(world, world->device->event_create(&world->events[i].handle),
                            "event_create");
}

static void close_events(proof_world *world)
{
    for (unsigned i = 0; i < PROOF_EVENTS; i++)
        proof_expect_native(world, world->device->event_destroy(world->events[i].handle),
                            "event_destroy");
}

void proof_stage_open(proof_world *world, const proof_device *device, const proof_plan *plan)
{
    world->device = device;
    world->plan = plan;
    if (device->reset(&plan->machine) != GP_OK)
        proof_fail(world, "the machine could not be made");
    open_streams(world);
    open_events(world);
    proof_create_pool(world, &(proof_step){.pool = 0});
    if (plan->seed % 2 == 0)
        proof_create_pool(world, &(proof_step){.pool = 1});
}

void proof_stage_join(proof_world *world, const proof_world *first)
{
    world->device = first->device;
    for (unsigned i = 0; i < PROOF_POOLS; i++)
        world->pools[i].handle = first->pools[i].handle;
    open_streams(world);
    open_events(world);
}

/* ---- after ---- */

/* The legacy stream can follow every launch. */
static void drop_graphs(proof_world *world)
{
    for (unsigned i = 0; i < PROOF_MADE_STREAMS; i++) {
        if (world->graphs[i].handle != NULL)
            proof_drop_graph(world, (uint8_t)i, PROOF_LEGACY);
    }
}

/* All work was seen complete, so any stream may free what is left. */
static void free_all(proof_world *world)
{
    for (unsigned i = 0; i < PROOF_BLOCKS && !proof_has_failed(world); i++) {
        proof_block *block = &world->blocks[i];
        if ((block->state == PROOF_BLOCK_LIVE || block->state == PROOF_BLOCK_LAUNCHED) &&
            !proof_free_on(world, PROOF_LEGACY, block))
            proof_fail(world, "the block in slot %u could not be freed at the end", i);
    }
    drop_graphs(world);
}

static bool is_attached(const proof_stream *stream)
{
    return stream->is_attached[0] || stream->is_attached[1];
}

/* What is attached has to be detached first, or its pools to be gone. */
static void destroy_streams(proof_world *world, bool detach)
{
    for (unsigned i = 0; i < PROOF_MADE_STREAMS; i++) {
        proof_stream *stream = &world->streams[i];
        if (!stream->exists)
            continue;
        if (detach)
            proof_detach_all(world, stream);
        if (is_attached(stream))
            continue;
        proof_expect_native(world, world->device->stream_destroy(stream->handle), "stream_destroy");
        stream->exists = false;
    }
}

/* Each block where it was used last: the thread's streams are all still there. */
static void free_in_place(proof_world *world)
{
    for (unsigned i = 0; i < PROOF_BLOCKS && !proof_has_failed(world); i++) {
        proof_block *block = &world->blocks[i];
        if ((block->state == PROOF_BLOCK_LIVE || block->state == PROOF_BLOCK_LAUNCHED) &&
            !proof_free_on(world, block->write.stream, block))
            proof_fail(world, "the block in slot %u could not be freed at the end", i);
    }
}

void proof_stage_leave(proof_world *world)
{
    for (unsigned i = 0; i < PROOF_MADE_STREAMS; i++) {
        if (world->graphs[i].is_capturing)
            proof_close_capture(world, (uint8_t)i, false);
        proof_open_gate_of(world, &world->streams[i]);
    }
    free_in_place(world);
    drop_graphs(world);
    destroy_streams(world, true);
    close_events(world);
}

void proof_stage_clear(proof_world *world)
{
    world->thread = PROOF_THREADS; /* nobody's own stream is nameable */
    for (unsigned i = 0; i < PROOF_FAULTS; i++)
        world->faults[i].calls_left = 0;
    (void)proof_settle(world);
    free_all(world);
    for (unsigned pool = 0; pool < PROOF_POOLS; pool++) {
        proof_judge_counts(world, pool);
        proof_judge_pool(world, pool);
    }
    if (world->plan->seed % 3 != 0)
        destroy_streams(world, world->plan->seed % 3 == 1);
    for (unsigned pool = 0; pool < PROOF_POOLS; pool++)
        proof_destroy_pool(world, &(proof_step){.pool = (uint8_t)pool, .choice = 1});
    destroy_streams(world, false);
}

void proof_stage_close(proof_world *world)
{
    close_events(world);
    /* What the ends of the pools queued themselves. */
    world->device->advance((uint64_t)1000000000);
    proof_judge_end(world);
}
