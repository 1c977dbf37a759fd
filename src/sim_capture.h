/*
 * Stream captures, and what spoils them.
 *
 * While a capture runs, calls that may not be made then (an event query, a pool
 * allocation on another stream, a trim, ...) fail with 900 and invalidate it:
 * a global capture from any thread, a thread-local one from its own, neither if
 * the calling thread's exchange mode is relaxed. A call that asks a capturing
 * stream what only an eager one can answer invalidates it in every mode.
 */
#ifndef GP_SRC_SIM_CAPTURE_H
#define GP_SRC_SIM_CAPTURE_H

#include "sim_stream.h"

struct gp_sim_graph_handle;

/* A stream that takes part: one branch of the graph. */
typedef struct gp_sim_lane {
    gp_sim_stream *stream; /* NULL once it was destroyed */
    size_t last_node;      /* of the branch; GP_SIM_NO_NODE at first */
} gp_sim_lane;

typedef struct gp_sim_capture {
    struct gp_sim_capture *next; /* of the machine's captures */
    struct gp_sim_capture *previous;
    uint64_t number; /* from 1, never used again */
    gp_sim_capture_mode mode;
    uint64_t thread_number; /* who began it */
    bool is_invalidated;
    struct gp_sim_graph_handle *graph; /* as far as it is captured */
    gp_sim_lane *lanes;                /* the first is the origin */
    size_t lane_count;
} gp_sim_capture;

/* NULL if it has ended. */
gp_sim_capture *gp_sim_capture_of_number(gp_sim_machine *machine, uint64_t number);

/* Whether an unsafe call of this thread is forbidden now. If so, the captures
 * that forbid it are invalidated. */
bool gp_sim_capture_forbids(const gp_sim_call *call);

/* Spoil a capture. @return 900, what the call that did it fails with. */
gp_sim_result gp_sim_capture_refuse(gp_sim_capture *capture);

/* Spoil the captures that work on the legacy stream would depend on, or all that
 * a device takes part in. Whether there was one. */
bool gp_sim_capture_refuse_legacy(gp_sim_machine *machine, int device);
bool gp_sim_capture_refuse_device(gp_sim_machine *machine, int device);

/* A stream enters a capture, or waits inside it, after a node. */
gp_sim_result gp_sim_capture_wait(gp_sim_capture *capture, gp_sim_stream *stream, size_t node);

/* A capturing stream is destroyed. */
void gp_sim_capture_drop_stream(gp_sim_machine *machine, gp_sim_stream *stream);

void gp_sim_captures_clear(gp_sim_machine *machine);

#endif
