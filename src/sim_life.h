/*
 * Lives: a range of bytes from the moment it was handed out until it was freed.
 *
 * There are two layers. A native allocation is a life of its own. Inside one,
 * whoever cuts it up (gp) announces the lives of the blocks with
 * gp_sim_note_alloc(); bytes in such a life belong to it.
 */
#ifndef GP_SRC_SIM_LIFE_H
#define GP_SRC_SIM_LIFE_H

#include "gp/sim.h"

#include "sim_order.h"
#include "sim_tree.h"

typedef struct gp_sim_life {
    gp_sim_node by_address; /* key: first byte; lives of one layer do not overlap */
    size_t bytes;
    uint64_t number;    /* from 1 */
    uint64_t stream_id; /* where it began */
    uint64_t position;
    gp_sim_moment *uses; /* announced ones: may still go on at the free */
    size_t use_count;
} gp_sim_life;

static inline uint64_t gp_sim_life_base(const gp_sim_life *life)
{
    return life->by_address.key;
}

static inline uint64_t gp_sim_life_end(const gp_sim_life *life)
{
    return life->by_address.key + life->bytes;
}

/* The first life of a layer that ends above an address; NULL at the end. */
gp_sim_life *gp_sim_life_above(const gp_sim_tree *layer, uint64_t address);

/* The life that contains an address, or NULL. */
gp_sim_life *gp_sim_life_at(const gp_sim_tree *layer, uint64_t address);

/* Remember an announced use; one a stream. False: out of host memory. */
bool gp_sim_life_add_use(gp_sim_life *life, const gp_sim_moment *use);
void gp_sim_life_clear_uses(gp_sim_life *life);

/* The beginning of a life, as one side of a hazard. */
gp_sim_side gp_sim_life_begin_side(const gp_sim_life *life);

/* ---- ended lives ---- */

enum { GP_SIM_ENDED_LIVES = 4096 };

/* The last ones, to name what an access after the free ran into. */
typedef struct gp_sim_ended {
    gp_sim_side frees[GP_SIM_ENDED_LIVES];
    uint64_t count; /* ever added */
} gp_sim_ended;

void gp_sim_ended_add(gp_sim_ended *ended, const gp_sim_side *free_side);

/* The free that ended the last life in a range; all zero if none is remembered. */
gp_sim_side gp_sim_ended_find(const gp_sim_ended *ended, uint64_t base, uint64_t bytes);

#endif
