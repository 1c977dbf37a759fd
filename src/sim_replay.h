/* A launch of a captured graph. */
#ifndef GP_SRC_SIM_REPLAY_H
#define GP_SRC_SIM_REPLAY_H

#include "sim_graph.h"

/* 1 if an allocation of the graph is live from an earlier launch, or a block it
 * frees is not; 2 if the device has no room for its memory. Then nothing ran. */
gp_sim_result gp_sim_replay(gp_sim_machine *machine, struct gp_sim_graph_handle *graph,
                            gp_sim_stream *stream);

#endif
