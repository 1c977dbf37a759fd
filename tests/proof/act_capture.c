/*
 * Captures, and the graphs that come of them.
 *
 * A capture begins on a stream that does not block and is known by that stream's slot; so is its
 * graph. Blocks that are allocated inside are freed inside, but for one at most, which the graph
 * leaves allocated. Blocks from outside are touched on the first stream of the capture only, so
 * that the graph's own order is enough for them.
 */
#include "actions.h"
#include "judge.h"

static proof_graph *graph_of(proof_world *world, uint8_t stream)
{
    return &world->graphs[world->streams[stream].capture];
}

/* ---- begin ---- */

static void announce(proof_world *world, const proof_stream *stream, bool begins)
{
    for (unsigned pool = 0; pool < PROOF_POOLS; pool++) {
        if (!stream->is_attached[pool])
            continue;
        gp_pool *handle = world->pools[pool].handle;
        gp_status status = begins ? gp_capture_begin(handle, stream->handle)
                                  : gp_capture_end(handle, stream->handle);
        if (status != GP_OK)
            proof_fail(world, "gp_capture_begin or _end: %s", gp_last_error());
    }
}

/* A global one forbids other threads what they may be about to do. */
static gp_sim_capture_mode choose_mode(const proof_world *world, const proof_step *step)
{
    if (world->in_crowd)
        return step->choice % 2 == 0 ? GP_SIM_CAPTURE_THREAD_LOCAL : GP_SIM_CAPTURE_RELAXED;
    return (gp_sim_capture_mode)(step->choice % 3);
}

void proof_begin_capture(proof_world *world, const proof_step *step)
{
    proof_stream *stream = &world->streams[step->stream];
    proof_graph *graph = &world->graphs[step->stream];
    if (step->stream >= PROOF_MADE_STREAMS || !proof_is_eager(world, step->stream) ||
        stream->is_blocking || graph->handle != NULL)
        return;
    world->has_acted = true;
    announce(world, stream, true);
    *graph = (proof_graph){.is_capturing = true,
                           .thread = world->thread,
                           .mode = choose_mode(world, step),
                           .resting = PROOF_NONE};
    proof_expect_native(world, world->device->begin_capture(stream->handle, graph->mode),
                        "begin_capture");
    stream->capture = step->stream;
    stream->clock_before = stream->clock;
    stream->position_before = stream->position;
    world->captures++;
}

/* ---- inside ---- */

static bool has_arenas(const proof_world *world)
{
    return world->plan->pool.capture == GP_CAPTURE_ARENA;
}

/* Nobody names the arena once the capture is over. */
static bool name_arena(proof_world *world, const proof_step *step)
{
    gp_arena **arena = &graph_of(world, step->stream)->arenas[step->pool];
    if (!has_arenas(world) || *arena != NULL)
        return true;
    proof_enter_gp(world);
    gp_status status = gp_capture_get_arena(world->pools[step->pool].handle, arena,
                                            world->streams[step->stream].handle);
    return proof_leave_gp(world, status, "gp_capture_get_arena");
}

void proof_alloc_captured(proof_world *world, const proof_step *step, proof_block *block)
{
    void *address = NULL;
    if (!name_arena(world, step))
        return;
    proof_enter_gp(world);
    gp_status status =
        gp_alloc_from_pool_async(&address, step->amount, world->pools[step->pool].handle,
                                 world->streams[step->stream].handle);
    if (!(has_arenas(world) ? proof_leave_gp_full : proof_leave_gp)(
            world, status, "gp_alloc_from_pool_async in a capture"))
        return;
    *block = (proof_block){.state = PROOF_BLOCK_CAPTURED,
                           .address = address,
                           .bytes = step->amount,
                           .usable = step->amount,
                           .life = ++world->last_life,
                           .pool = step->pool,
                           .graph = world->streams[step->stream].capture};
    proof_take_over(world, step->stream, block);
    if (has_arenas(world))
        proof_judge_block(world, step->block, world->plan->pool.alignment);
}

static bool is_of_capture(const proof_world *world, uint8_t stream, const proof_block *block)
{
    return block->state == PROOF_BLOCK_CAPTURED && block->graph == world->streams[stream].capture &&
           proof_can_follow_block(world, stream, block);
}

static bool note_use(proof_graph *graph, uint8_t slot, uint32_t life)
{
    for (unsigned i = 0; i < graph->use_count; i++) {
        if (graph->uses[i].block == slot && graph->uses[i].life == life)
            return true;
    }
    if (graph->use_count == PROOF_GRAPH_USES)
        return false;
    graph->uses[graph->use_count++] = (proof_graph_use){.block = slot, .life = life};
    return true;
}

void proof_touch_captured(proof_world *world, const proof_step *step, proof_block *block)
{
    bool is_own = is_of_capture(world, step->stream, block);
    bool is_first = world->streams[step->stream].capture == step->stream;
    if (!is_own && (block->state != PROOF_BLOCK_LIVE || !is_first ||
                    !note_use(graph_of(world, step->stream), step->block, block->life)))
        return;
    const gp_sim_access access = {.base = block->address, .bytes = block->bytes, .writes = true};
    if (is_own)
        proof_follow_block(world, step->stream, block);
    proof_launch(world, step->stream, &access, 1, 1000);
    if (is_own)
        proof_take_over(world, step->stream, block);
}

static bool free_node(proof_world *world, uint8_t stream, proof_block *block)
{
    proof_follow_block(world, stream, block);
    proof_enter_gp(world);
    gp_status status = gp_free_async(block->address, world->streams[stream].handle);
    if (!proof_leave_gp(world, status, "gp_free_async in a capture"))
        return false;
    block->state = PROOF_BLOCK_NONE;
    return true;
}

/* Was the point before what the stream did before it began to capture, or told to gp? */
static bool is_settled_before(const proof_world *world, uint8_t stream, proof_point point)
{
    const proof_stream *of = &world->streams[stream];
    return point.is_recorded || point.stream == stream || point.position == 0 ||
           of->clock_before.positions[point.stream] >= point.position ||
           world->observed.positions[point.stream] >= point.position;
}

static bool can_park(const proof_world *world, uint8_t stream, const proof_block *block)
{
    bool can = block->state == PROOF_BLOCK_LIVE && is_settled_before(world, stream, block->write);
    for (unsigned i = 0; i < block->read_count; i++)
        can = can && is_settled_before(world, stream, block->reads[i]);
    return can;
}

/* A graph that touches the block is not launched from here on. */
static void spend_graph(proof_graph *graph, uint8_t slot, uint32_t life)
{
    for (unsigned i = 0; i < graph->use_count; i++) {
        if (graph->uses[i].block == slot && graph->uses[i].life == life)
            graph->is_spent = true;
    }
}

static void park(proof_world *world, const proof_step *step, proof_block *block)
{
    proof_enter_gp(world);
    gp_status status = gp_free_async(block->address, world->streams[step->stream].handle);
    if (!proof_leave_gp(world, status, "gp_free_async of an eager block in a capture"))
        return;
    spend_graph(graph_of(world, step->stream), step->block, block->life);
    world->pools[block->pool].live_bytes -= block->usable;
    world->pools[block->pool].live_blocks--;
    block->state = PROOF_BLOCK_NONE;
}

void proof_free_captured(proof_world *world, const proof_step *step, proof_block *block)
{
    if (is_of_capture(world, step->stream, block))
        (void)free_node(world, step->stream, block);
    else if (can_park(world, step->stream, block))
        park(world, step, block);
}

/* ---- end ---- */

/* The other streams of the capture come back to the first. */
static void join_lanes(proof_world *world, uint8_t first)
{
    for (unsigned i = 0; i < PROOF_MADE_STREAMS; i++) {
        if (i != first && world->streams[i].exists && world->streams[i].capture == first)
            proof_order(world, (uint8_t)i, first);
    }
}

static void free_inside(proof_world *world, uint8_t first, bool may_leave_block)
{
    proof_graph *graph = &world->graphs[first];
    for (unsigned i = 0; i < PROOF_BLOCKS; i++) {
        proof_block *block = &world->blocks[i];
        if (block->state != PROOF_BLOCK_CAPTURED || block->graph != first)
            continue;
        if (may_leave_block && graph->resting == PROOF_NONE) {
            graph->resting = (uint8_t)i;
            block->state = PROOF_BLOCK_RESTING;
        } else if (!free_node(world, first, block)) {
            proof_fail(world, "a graph's block could not be freed inside of its capture");
        }
    }
}

static void leave_capture(proof_world *world, uint8_t first)
{
    for (unsigned i = 0; i < PROOF_MADE_STREAMS; i++) {
        proof_stream *stream = &world->streams[i];
        if (!stream->exists || stream->capture != first)
            continue;
        stream->capture = PROOF_NONE;
        stream->clock = stream->clock_before;
    }
    world->graphs[first].is_capturing = false;
    world->captures--;
}

void proof_close_capture(proof_world *world, uint8_t stream, bool may_leave_block)
{
    proof_graph *graph = &world->graphs[stream];
    world->has_acted = true;
    for (unsigned i = 0; i < PROOF_FAULTS; i++)
        world->faults[i].calls_left = 0;
    join_lanes(world, stream);
    free_inside(world, stream, may_leave_block && !has_arenas(world));
    proof_expect_native(world,
                        world->device->end_capture(world->streams[stream].handle, &graph->handle),
                        "end_capture");
    leave_capture(world, stream);
    announce(world, &world->streams[stream], false);
}

void proof_end_capture(proof_world *world, const proof_step *step)
{
    const proof_graph *graph = &world->graphs[step->stream];
    if (!graph->is_capturing ||
        (graph->mode != GP_SIM_CAPTURE_RELAXED && graph->thread != world->thread))
        return;
    proof_close_capture(world, step->stream, step->choice % 4 == 0);
}

/* ---- graphs ---- */

static bool can_launch(const proof_world *world, uint8_t stream, const proof_graph *graph)
{
    if (graph->handle == NULL || graph->is_spent || !proof_is_eager(world, stream) ||
        !proof_can_follow(world, stream, graph->launch))
        return false;
    for (unsigned i = 0; i < graph->use_count; i++) {
        const proof_block *block = &world->blocks[graph->uses[i].block];
        if (block->state != PROOF_BLOCK_LIVE || block->life != graph->uses[i].life ||
            !proof_can_follow_block(world, stream, block))
            return false;
    }
    return graph->resting == PROOF_NONE ||
           world->blocks[graph->resting].state == PROOF_BLOCK_RESTING;
}

static void note_launch(proof_world *world, uint8_t stream, proof_graph *graph)
{
    graph->launch = proof_next_point(world, stream);
    for (unsigned i = 0; i < graph->use_count; i++)
        proof_take_over(world, stream, &world->blocks[graph->uses[i].block]);
    if (graph->resting != PROOF_NONE) {
        proof_block *block = &world->blocks[graph->resting];
        block->state = PROOF_BLOCK_LAUNCHED;
        proof_take_over(world, stream, block);
    }
}

void proof_launch_graph(proof_world *world, const proof_step *step)
{
    proof_graph *graph = &world->graphs[step->stream];
    if (!can_launch(world, step->to, graph))
        return;
    world->has_acted = true;
    proof_follow(world, step->to, graph->launch);
    for (unsigned i = 0; i < graph->use_count; i++)
        proof_follow_block(world, step->to, &world->blocks[graph->uses[i].block]);
    gp_sim_result result =
        world->device->graph_launch(graph->handle, world->streams[step->to].handle);
    if (result == 2 && world->plan->is_tight)
        return;
    proof_expect_native(world, result, "graph_launch");
    note_launch(world, step->to, graph);
}

/* Where the last replay is followed. It is not launched any more. */
static bool release_arenas(proof_world *world, proof_graph *graph, uint8_t to)
{
    for (unsigned pool = 0; pool < PROOF_POOLS; pool++) {
        if (graph->arenas[pool] == NULL)
            continue;
        graph->is_spent = true;
        proof_follow(world, to, graph->launch);
        proof_enter_gp(world);
        gp_status status = gp_arena_release(graph->arenas[pool], world->streams[to].handle);
        if (!proof_leave_gp(world, status, "gp_arena_release"))
            return false;
        graph->arenas[pool] = NULL;
    }
    return true;
}

static bool can_release(const proof_world *world, const proof_graph *graph, uint8_t to)
{
    bool has_any = false;
    for (unsigned pool = 0; pool < PROOF_POOLS; pool++)
        has_any = has_any || graph->arenas[pool] != NULL;
    return !has_any || (proof_is_eager(world, to) && proof_can_follow(world, to, graph->launch));
}

void proof_drop_graph(proof_world *world, uint8_t stream, uint8_t to)
{
    proof_graph *graph = &world->graphs[stream];
    world->has_acted = true;
    if (!release_arenas(world, graph, to))
        return;
    if (graph->resting != PROOF_NONE)
        world->blocks[graph->resting].state = PROOF_BLOCK_NONE;
    proof_expect_native(world, world->device->graph_destroy(graph->handle), "graph_destroy");
    *graph = (proof_graph){.resting = PROOF_NONE};
}

void proof_destroy_graph(proof_world *world, const proof_step *step)
{
    const proof_graph *graph = &world->graphs[step->stream];
    if (graph->handle == NULL ||
        (graph->resting != PROOF_NONE &&
         world->blocks[graph->resting].state != PROOF_BLOCK_RESTING) ||
        !can_release(world, graph, step->to))
        return;
    proof_drop_graph(world, step->stream, step->to);
}
