#include "sim_graph.h"

#include "sim_replay.h"

#include <stdlib.h>

typedef struct gp_sim_graph_handle graph_state;

/* ---- life ---- */

graph_state *gp_sim_graph_make(int device)
{
    graph_state *graph = calloc(1, sizeof(*graph));
    if (graph != NULL)
        graph->device = device;
    return graph;
}

void gp_sim_graph_free(gp_sim_machine *machine, graph_state *graph)
{
    if (graph->holds_memory)
        machine->devices[graph->device].graph_bytes -= graph->alloc_bytes;
    for (size_t i = 0; i < graph->count; i++)
        free(graph->nodes[i].accesses);
    free(graph->nodes);
    free(graph);
}

void gp_sim_graphs_clear(gp_sim_machine *machine)
{
    for (uint32_t i = 0; i < machine->graphs.count; i++) {
        if (machine->graphs.slots[i].object != NULL)
            gp_sim_graph_free(machine, machine->graphs.slots[i].object);
    }
    gp_sim_handles_clear(&machine->graphs);
}

gp_sim_result gp_sim_graph_publish(gp_sim_machine *machine, graph_state *graph,
                                   gp_sim_graph *handle)
{
    uintptr_t value = gp_sim_handles_add(&machine->graphs, graph);
    if (value == 0)
        return GP_SIM_OUT_OF_MEMORY;
    *handle = (gp_sim_graph)value;
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_graph_destroy(gp_sim_graph graph)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result != GP_SIM_SUCCESS)
        return gp_sim_leave(result);
    graph_state *state = gp_sim_handles_find(&call.machine->graphs, (uintptr_t)graph);
    if (state == NULL)
        return gp_sim_leave(GP_SIM_INVALID_HANDLE);

    gp_sim_handles_remove(&call.machine->graphs, (uintptr_t)graph);
    gp_sim_graph_free(call.machine, state);
    return gp_sim_leave(GP_SIM_SUCCESS);
}

/* ---- capture ---- */

static bool reserve_node(graph_state *graph)
{
    if (graph->count < graph->capacity)
        return true;

    size_t capacity = graph->capacity > 0 ? graph->capacity * 2 : 16;
    gp_sim_graph_node *nodes = realloc(graph->nodes, capacity * sizeof(*nodes));
    if (nodes == NULL)
        return false;
    graph->nodes = nodes;
    graph->capacity = capacity;
    return true;
}

gp_sim_result gp_sim_capture_append(gp_sim_capture *capture, gp_sim_stream *stream,
                                    gp_sim_graph_node node)
{
    gp_sim_lane *lane = &capture->lanes[stream->lane];
    if (capture->is_invalidated)
        return GP_SIM_CAPTURE_WAS_INVALIDATED;
    if (!reserve_node(capture->graph))
        return GP_SIM_OUT_OF_MEMORY;

    node.lane = stream->lane;
    node.previous = lane->last_node;
    lane->last_node = capture->graph->count;
    capture->graph->nodes[capture->graph->count++] = node;
    capture->graph->alloc_bytes += node.bytes;
    return GP_SIM_SUCCESS;
}

/* Nodes come after what they depend on, so one pass backwards finds all that the
 * last node of the first lane depends on. */
static void mark_reached(const graph_state *graph, size_t from, bool *is_reached)
{
    if (from == GP_SIM_NO_NODE)
        return;
    is_reached[from] = true;
    for (size_t i = from + 1; i-- > 0;) {
        const gp_sim_graph_node *node = &graph->nodes[i];
        if (!is_reached[i])
            continue;
        if (node->previous != GP_SIM_NO_NODE)
            is_reached[node->previous] = true;
        if (node->kind == GP_SIM_NODE_WAIT && node->after != GP_SIM_NO_NODE)
            is_reached[node->after] = true;
    }
}

bool gp_sim_graph_is_joined(const gp_sim_capture *capture)
{
    if (capture->lane_count == 1)
        return true;
    bool *is_reached = calloc(capture->graph->count + 1, sizeof(*is_reached));
    if (is_reached == NULL)
        return false;

    mark_reached(capture->graph, capture->lanes[0].last_node, is_reached);
    bool is_joined = true;
    for (size_t i = 1; i < capture->lane_count && is_joined; i++)
        is_joined = is_reached[capture->lanes[i].last_node];
    free(is_reached);
    return is_joined;
}

bool gp_sim_graph_has_live(const graph_state *graph, uintptr_t address)
{
    bool is_live = false;
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].address != address)
            continue;
        if (graph->nodes[i].kind == GP_SIM_NODE_ALLOC)
            is_live = true;
        else if (graph->nodes[i].kind == GP_SIM_NODE_FREE)
            is_live = false;
    }
    return is_live;
}

/* ---- launch ---- */

static gp_sim_result graph_launch(const gp_sim_call *call, gp_sim_graph handle,
                                  cudaStream_t stream_handle)
{
    graph_state *graph = gp_sim_handles_find(&call->machine->graphs, (uintptr_t)handle);
    if (graph == NULL)
        return GP_SIM_INVALID_HANDLE;
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, stream_handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (stream->capture != NULL) /* a graph inside a graph is not simulated */
        return gp_sim_capture_refuse(stream->capture);

    result = gp_sim_stream_prepare(call->machine, stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    return gp_sim_replay(call->machine, graph, stream);
}

gp_sim_result gp_sim_graph_launch(gp_sim_graph graph, cudaStream_t stream)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result == GP_SIM_SUCCESS)
        result = graph_launch(&call, graph, stream);
    return gp_sim_leave(result);
}
