/* Gates: what lets a test decide when a stream's work goes on. */
#ifndef GP_SRC_SIM_GATE_H
#define GP_SRC_SIM_GATE_H

#include "sim_machine.h"

struct gp_sim_gate_handle {
    bool is_open;
    uint64_t opened_ns;
    size_t references; /* the handle's, and one of each operation that waits */
};

/* A NULL gate is allowed. */
void gp_sim_gate_retain(struct gp_sim_gate_handle *gate);
void gp_sim_gate_release(struct gp_sim_gate_handle *gate);

/* Throw all gates away; every queue is gone by then. */
void gp_sim_gates_clear(gp_sim_machine *machine);

#endif
