/* Native functions that are made to fail: one rule a function. */
#ifndef GP_SRC_SIM_FAULT_H
#define GP_SRC_SIM_FAULT_H

#include "gp/sim.h"

typedef struct gp_sim_fault {
    uint64_t calls; /* since the rule was made */
    uint64_t first; /* 0: no rule */
    uint64_t count;
    gp_sim_result code;
} gp_sim_fault;

/* Count a call; the code it must fail with, or 0. */
gp_sim_result gp_sim_fault_strike(gp_sim_fault *fault);

#endif
