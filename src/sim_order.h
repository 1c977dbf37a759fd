/*
 * What is ordered before what: vector clocks of the simulated device.
 *
 * Every stream numbers its operations 1, 2, ... An *order* says, for other
 * streams, up to which position their work is ordered before this stream's next
 * operation. Orders are shared and never changed once shared. The *observed*
 * table says the same for the host, and so for everything submitted later; an
 * entry that the host has observed is left out of orders, which keeps them short.
 */
#ifndef GP_SRC_SIM_ORDER_H
#define GP_SRC_SIM_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_sim_order gp_sim_order; /* NULL is the empty order. */

/* A point in a stream, and all that is ordered before it. */
typedef struct gp_sim_moment {
    uint64_t stream_id;
    uint64_t position;
    gp_sim_order *order; /* One reference of the moment's own. */
} gp_sim_moment;

/* Per stream id, the last position known to be complete by the host. */
typedef struct gp_sim_observed {
    uint64_t *positions;
    size_t count;
} gp_sim_observed;

gp_sim_order *gp_sim_order_share(gp_sim_order *order);
void gp_sim_order_release(gp_sim_order *order);

/* Position of a stream up to which it is ordered before; 0 for none. */
uint64_t gp_sim_order_position(const gp_sim_order *order, uint64_t stream_id);

/* Add a moment and what is before it. False: out of host memory, no change. */
bool gp_sim_order_join(gp_sim_order **order, const gp_sim_moment *moment,
                       const gp_sim_observed *observed);

/* Add what another order has. False: out of host memory, no change. */
bool gp_sim_order_add(gp_sim_order **order, const gp_sim_order *other,
                      const gp_sim_observed *observed);

/* Whether (stream_id, position) is ordered before whatever follows a moment. */
bool gp_sim_moment_covers(const gp_sim_moment *moment, const gp_sim_observed *observed,
                          uint64_t stream_id, uint64_t position);

/* Make room for a stream id. False: out of host memory. */
bool gp_sim_observed_reserve(gp_sim_observed *observed, uint64_t stream_id);

uint64_t gp_sim_observed_position(const gp_sim_observed *observed, uint64_t stream_id);

/* The host has seen that a moment is complete. */
void gp_sim_observed_join(gp_sim_observed *observed, const gp_sim_moment *moment);

void gp_sim_observed_clear(gp_sim_observed *observed);

#endif
