/*
 * Who touched which bytes last: segments by address, each with its last write
 * and the reads since. A write replaces what it covers, since whatever is ordered
 * after it is ordered after all before it.
 */
#ifndef GP_SRC_SIM_HISTORY_H
#define GP_SRC_SIM_HISTORY_H

#include "gp/sim.h"

#include "sim_order.h"
#include "sim_tree.h"

typedef struct gp_sim_segment {
    gp_sim_node by_address; /* key: first byte; segments do not overlap */
    uint64_t bytes;
    gp_sim_side write; /* position 0: none */
    gp_sim_side *reads;
    size_t read_count;
    size_t read_capacity;
} gp_sim_segment;

/* The first segment with bytes in [base, end), and the one after a segment. */
gp_sim_segment *gp_sim_history_first(const gp_sim_tree *history, uint64_t base, uint64_t end);
gp_sim_segment *gp_sim_history_next(const gp_sim_tree *history, const gp_sim_segment *segment,
                                    uint64_t end);

/* Record an access to [base, end), a part of what `side` names. Reads that are
 * ordered before this one go. False: out of host memory. */
bool gp_sim_history_record(gp_sim_tree *history, uint64_t base, uint64_t end,
                           const gp_sim_side *side, const gp_sim_moment *moment,
                           const gp_sim_observed *observed);

/* Forget a range. False: out of host memory, and something may be left. */
bool gp_sim_history_forget(gp_sim_tree *history, uint64_t base, uint64_t end);

void gp_sim_history_clear(gp_sim_tree *history);

#endif
