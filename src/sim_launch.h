/* Work on a stream: bytes it touches, time it takes. */
#ifndef GP_SRC_SIM_LAUNCH_H
#define GP_SRC_SIM_LAUNCH_H

#include "sim_stream.h"

/* Submit eager work and check its accesses. */
gp_sim_result gp_sim_launch_now(gp_sim_machine *machine, gp_sim_stream *stream,
                                const gp_sim_access *accesses, size_t count, uint64_t duration_ns);

#endif
