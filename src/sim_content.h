/*
 * What memory holds, as far as it was filled: ranges of one value each.
 *
 *     |  0  |vvvvvvvv|  0  |www|  0        a launch that writes leaves 0 behind
 *
 * Work is taken to run in the order in which it was submitted: where two pieces of work touch the
 * same bytes, any other order is a hazard.
 */
#ifndef GP_SRC_SIM_CONTENT_H
#define GP_SRC_SIM_CONTENT_H

#include "sim_tree.h"

#include <stdbool.h>

/* All zero: nothing was filled. */
typedef struct gp_sim_content {
    gp_sim_tree fills; /* by first byte; they do not overlap */
} gp_sim_content;

/* False: out of host memory, and nothing changed. */
bool gp_sim_content_fill(gp_sim_content *content, uint64_t base, uint64_t bytes,
                         unsigned char value);

/* Something else was written, or the memory changed hands. False as above. */
bool gp_sim_content_forget(gp_sim_content *content, uint64_t base, uint64_t bytes);

void gp_sim_content_read(const gp_sim_content *content, uint64_t base, uint64_t bytes,
                         unsigned char *to);

void gp_sim_content_clear(gp_sim_content *content);

#endif
