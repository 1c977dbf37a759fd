/* Events: a moment of a stream that others can ask about and wait for. */
#ifndef GP_SRC_SIM_EVENT_H
#define GP_SRC_SIM_EVENT_H

#include "sim_stream.h"

struct gp_sim_event_handle {
    int device;
    gp_sim_stream *stream; /* of the last record, referenced; NULL before the first */
    gp_sim_moment moment;

    uint64_t capture_number; /* of the capture it was last recorded in; 0: eager */
    size_t lane;             /* and where in its graph */
    size_t node;
};

void gp_sim_events_clear(gp_sim_machine *machine);

#endif
