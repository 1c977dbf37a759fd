/*
 * What native calls cost on the virtual clock, in nanoseconds: measured on an
 * H200 with driver 580 and CUDA 13.0, one thread.
 */
#ifndef GP_SRC_SIM_COST_H
#define GP_SRC_SIM_COST_H

#include "gp/sim.h"

enum {
    GP_SIM_COST_FIRST_ALLOCATION_NS = 8600000, /* of the process, from any pool */
    GP_SIM_COST_GROW_NS_PER_MIB = 1000,
    GP_SIM_COST_GROW_LEAST_NS = 90000,
    GP_SIM_COST_TRIM_NS_PER_MIB = 1100
};

/* A call that neither maps nor unmaps memory. */
static const uint32_t gp_sim_cost_ns[GP_SIM_FN_COUNT] = {
    [GP_SIM_FN_MALLOC] = 650,
    [GP_SIM_FN_FREE] = 620,
    [GP_SIM_FN_EVENT_CREATE] = 500,
    [GP_SIM_FN_EVENT_RECORD] = 156,
    [GP_SIM_FN_EVENT_QUERY] = 141,
    [GP_SIM_FN_STREAM_WAIT] = 112,
    [GP_SIM_FN_STREAM_CREATE] = 5000,
    [GP_SIM_FN_STREAM_DESTROY] = 5000,
    [GP_SIM_FN_STREAM_IS_CAPTURING] = 18,
    [GP_SIM_FN_STREAM_GET_ID] = 20,
    [GP_SIM_FN_EXCHANGE_CAPTURE_MODE] = 10,
    [GP_SIM_FN_MEM_GET_INFO] = 4600,
    [GP_SIM_FN_STREAM_GET_CAPTURE_INFO] = 20, /* not measured: as the id */
    [GP_SIM_FN_STREAM_QUERY] = 141,           /* not measured: as an event's */
    [GP_SIM_FN_MEMSET] = 1500,                /* not measured, */
    [GP_SIM_FN_MEMCPY_TO_HOST] = 1500,        /* nor this */
};

#endif
