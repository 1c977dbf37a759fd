#include "sim_replay.h"

#include "sim_launch.h"
#include "sim_memory.h"

#include <stdlib.h>

typedef struct gp_sim_graph_handle graph_state;

typedef struct replay {
    gp_sim_machine *machine;
    const graph_state *graph;
    gp_sim_stream **lanes;
    gp_sim_moment start;    /* of the launching stream */
    gp_sim_moment *moments; /* after each node */
} replay;

static bool replay_open(replay *run, gp_sim_stream *stream)
{
    run->moments = calloc(run->graph->count + 1, sizeof(*run->moments));
    run->lanes = calloc(run->graph->lane_count, sizeof(gp_sim_stream *));
    if (run->moments == NULL || run->lanes == NULL)
        return false;

    run->lanes[0] = stream;
    for (size_t i = 1; i < run->graph->lane_count; i++) {
        run->lanes[i] = gp_sim_stream_make_hidden(run->machine, stream->device);
        if (run->lanes[i] == NULL)
            return false;
    }
    run->start = gp_sim_stream_moment(stream);
    (void)gp_sim_order_share(run->start.order);
    return true;
}

static void replay_close(replay *run)
{
    for (size_t i = 0; run->moments != NULL && i < run->graph->count; i++)
        gp_sim_order_release(run->moments[i].order);
    gp_sim_order_release(run->start.order);
    free(run->moments);
    free(run->lanes);
}

static gp_sim_result wait_after(const replay *run, gp_sim_stream *stream, size_t after)
{
    if (after == GP_SIM_NO_NODE)
        return gp_sim_stream_wait_for(run->machine, stream, run->lanes[0], &run->start);
    return gp_sim_stream_wait_for(run->machine, stream, run->lanes[run->graph->nodes[after].lane],
                                  &run->moments[after]);
}

static gp_sim_result run_node(const replay *run, const gp_sim_graph_node *node)
{
    gp_sim_stream *stream = run->lanes[node->lane];
    switch (node->kind) {
    case GP_SIM_NODE_LAUNCH:
        return gp_sim_launch_now(run->machine, stream, node->accesses, node->access_count,
                                 node->duration_ns);
    case GP_SIM_NODE_WAIT:
        return wait_after(run, stream, node->after);
    case GP_SIM_NODE_ALLOC:
        return gp_sim_memory_begin_graph_block(run->machine, stream, node->address, node->bytes);
    case GP_SIM_NODE_FREE:
        return gp_sim_memory_end_block(run->machine, stream, node->address);
    }
    return GP_SIM_INVALID_VALUE;
}

static gp_sim_result run_all(replay *run)
{
    for (size_t i = 0; i < run->graph->count; i++) {
        gp_sim_result result = run_node(run, &run->graph->nodes[i]);
        if (result != GP_SIM_SUCCESS)
            return result;
        run->moments[i] = gp_sim_stream_moment(run->lanes[run->graph->nodes[i].lane]);
        (void)gp_sim_order_share(run->moments[i].order);
    }
    return GP_SIM_SUCCESS;
}

/* Allocated by the graph itself, so that its free node finds it. */
static bool is_of_graph(const graph_state *graph, uintptr_t address)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].kind == GP_SIM_NODE_ALLOC && graph->nodes[i].address == address)
            return true;
    }
    return false;
}

static bool may_run(const gp_sim_machine *machine, const graph_state *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        const gp_sim_graph_node *node = &graph->nodes[i];
        bool is_live = gp_sim_memory_is_block(machine, node->address);
        if (node->kind == GP_SIM_NODE_ALLOC && is_live)
            return false;
        if (node->kind == GP_SIM_NODE_FREE && !is_live && !is_of_graph(graph, node->address))
            return false;
    }
    return true;
}

static bool take_memory(gp_sim_machine *machine, graph_state *graph)
{
    if (graph->holds_memory || graph->alloc_bytes == 0)
        return true;
    if (graph->alloc_bytes > gp_sim_memory_device_free(machine, graph->device))
        return false;

    machine->devices[graph->device].graph_bytes += graph->alloc_bytes;
    graph->holds_memory = true;
    return true;
}

gp_sim_result gp_sim_replay(gp_sim_machine *machine, graph_state *graph, gp_sim_stream *stream)
{
    replay run = {.machine = machine, .graph = graph};
    if (!may_run(machine, graph))
        return GP_SIM_INVALID_VALUE;
    if (!take_memory(machine, graph))
        return GP_SIM_OUT_OF_MEMORY;

    gp_sim_result result = replay_open(&run, stream) ? run_all(&run) : GP_SIM_OUT_OF_MEMORY;
    replay_close(&run);
    return result;
}
