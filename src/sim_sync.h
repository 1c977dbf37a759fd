/* The host waits for the device. */
#ifndef GP_SRC_SIM_SYNC_H
#define GP_SRC_SIM_SYNC_H

#include "sim_stream.h"

/* Wait until a moment of a stream is complete: a virtual clock jumps there, a
 * manual one gives 600 if it is not there yet. Before a closed gate the call
 * gives up the lock until another thread opens it. */
gp_sim_result gp_sim_sync(const gp_sim_call *call, gp_sim_stream *stream,
                          const gp_sim_moment *moment);

#endif
