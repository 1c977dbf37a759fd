/*
 * Graphs: what a capture recorded, and its replay.
 *
 * A node belongs to a lane, one a stream that took part, and follows the node
 * before it there; a wait also follows one node of another lane. Replay runs the
 * first lane on the launching stream and every other one on a stream of its own,
 * so the hazard checker sees just the order that was captured.
 */
#ifndef GP_SRC_SIM_GRAPH_H
#define GP_SRC_SIM_GRAPH_H

#include "sim_capture.h"

/* For a wait: after the beginning of the graph. */
#define GP_SIM_NO_NODE SIZE_MAX

typedef enum gp_sim_node_kind {
    GP_SIM_NODE_LAUNCH,
    GP_SIM_NODE_WAIT,
    GP_SIM_NODE_ALLOC,
    GP_SIM_NODE_FREE
} gp_sim_node_kind;

typedef struct gp_sim_graph_node {
    gp_sim_node_kind kind;
    size_t lane;
    size_t previous;         /* in the lane; GP_SIM_NO_NODE for its first */
    size_t after;            /* of a wait */
    gp_sim_access *accesses; /* of a launch; the node's own */
    size_t access_count;
    uint64_t duration_ns;
    uintptr_t address; /* of an alloc or a free */
    size_t bytes;      /* of an alloc */
} gp_sim_graph_node;

struct gp_sim_graph_handle {
    int device;
    gp_sim_graph_node *nodes; /* in the order of capture */
    size_t count;
    size_t capacity;
    size_t lane_count;
    size_t alloc_bytes; /* of all its allocations */
    bool holds_memory;  /* since its first launch */
};

struct gp_sim_graph_handle *gp_sim_graph_make(int device);
void gp_sim_graph_free(gp_sim_machine *machine, struct gp_sim_graph_handle *graph);
void gp_sim_graphs_clear(gp_sim_machine *machine);

/* Capture a node on a stream. Takes over node.accesses on success. 901 if the
 * capture is invalidated. */
gp_sim_result gp_sim_capture_append(gp_sim_capture *capture, gp_sim_stream *stream,
                                    gp_sim_graph_node node);

/* Whether every lane was joined back into the first. */
bool gp_sim_graph_is_joined(const gp_sim_capture *capture);

/* Give a captured graph a handle. */
gp_sim_result gp_sim_graph_publish(gp_sim_machine *machine, struct gp_sim_graph_handle *graph,
                                   gp_sim_graph *handle);

/* Whether an address was allocated, and not freed yet, by the nodes so far. */
bool gp_sim_graph_has_live(const struct gp_sim_graph_handle *graph, uintptr_t address);

#endif
