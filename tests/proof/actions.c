#include "actions.h"

static proof_action *const actions[PROOF_KINDS] = {
    [PROOF_ALLOC] = proof_alloc,
    [PROOF_WRITE] = proof_write,
    [PROOF_READ] = proof_read,
    [PROOF_RECORD_USE] = proof_record_use,
    [PROOF_FREE] = proof_free,
    [PROOF_FREE_ELSEWHERE] = proof_free_elsewhere,
    [PROOF_BAD_FREE] = proof_bad_free,
    [PROOF_ORDER] = proof_order_streams,
    [PROOF_RECORD_EVENT] = proof_record_event,
    [PROOF_WAIT_EVENT] = proof_wait_event,
    [PROOF_CREATE_STREAM] = proof_create_stream,
    [PROOF_DESTROY_STREAM] = proof_destroy_stream,
    [PROOF_ATTACH] = proof_attach,
    [PROOF_DETACH] = proof_detach,
    [PROOF_SYNCHRONIZE] = proof_synchronize,
    [PROOF_ADVANCE] = proof_advance,
    [PROOF_CLOSE_GATE] = proof_close_gate,
    [PROOF_OPEN_GATE] = proof_open_gate,
    [PROOF_BEGIN_CAPTURE] = proof_begin_capture,
    [PROOF_END_CAPTURE] = proof_end_capture,
    [PROOF_LAUNCH_GRAPH] = proof_launch_graph,
    [PROOF_DESTROY_GRAPH] = proof_destroy_graph,
    [PROOF_TRIM] = proof_trim,
    [PROOF_RESERVE] = proof_reserve,
    [PROOF_CREATE_POOL] = proof_create_pool,
    [PROOF_DESTROY_POOL] = proof_destroy_pool,
    [PROOF_FAULT] = proof_plan_fault,
    [PROOF_END_THREAD] = proof_end_thread,
    [PROOF_LOOK] = proof_look,
    [PROOF_EXCHANGE] = proof_exchange,
};

void proof_act(proof_world *world, const proof_step *step)
{
    world->has_acted = false;
    actions[step->kind](world, step);
    if (world->has_acted)
        world->operations++;
}

bool proof_is_idle(const proof_world *world, const proof_step *step)
{
    const bool has_block = world->blocks[step->block].state != PROOF_BLOCK_NONE;
    const bool has_stream = world->streams[step->stream].exists;
    switch ((proof_kind)step->kind) {
    case PROOF_ALLOC:
        return has_block || !has_stream;
    case PROOF_WRITE:
    case PROOF_READ:
    case PROOF_FREE_ELSEWHERE:
        return !has_block || !has_stream;
    case PROOF_FREE:
    case PROOF_RECORD_USE:
    case PROOF_BAD_FREE:
        return !has_block;
    case PROOF_CREATE_STREAM:
        return has_stream;
    case PROOF_END_CAPTURE:
        return !world->graphs[step->stream].is_capturing;
    case PROOF_LAUNCH_GRAPH:
    case PROOF_DESTROY_GRAPH:
        return world->graphs[step->stream].handle == NULL;
    case PROOF_OPEN_GATE:
        return world->streams[step->stream].gate == NULL;
    case PROOF_CREATE_POOL:
        return world->pools[step->pool].handle != NULL;
    default:
        return false;
    }
}
