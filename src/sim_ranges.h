/*
 * A set of free address ranges that joins neighbours as they come and cuts the
 * smallest one that fits. Device address space, and the free memory of pools.
 */
#ifndef GP_SRC_SIM_RANGES_H
#define GP_SRC_SIM_RANGES_H

#include "sim_tree.h"

#include <stdbool.h>

typedef struct gp_sim_range {
    gp_sim_node by_address; /* key: first byte */
    gp_sim_node by_size;    /* key: bytes, tie: first byte */
    uint64_t position;      /* Greatest position of the frees it was made of. */
} gp_sim_range;

/* All zero is an empty set. */
typedef struct gp_sim_ranges {
    gp_sim_tree by_address;
    gp_sim_tree by_size;
} gp_sim_ranges;

static inline uint64_t gp_sim_range_base(const gp_sim_range *range)
{
    return range->by_address.key;
}

static inline uint64_t gp_sim_range_bytes(const gp_sim_range *range)
{
    return range->by_size.key;
}

/* Add a range that overlaps none of the set. False: out of host memory. */
bool gp_sim_ranges_add(gp_sim_ranges *set, uint64_t base, uint64_t bytes, uint64_t position);

/* The smallest range of position at most `latest` that holds `bytes` at a
 * multiple of `alignment`, which goes to *base; NULL if there is none. */
gp_sim_range *gp_sim_ranges_find(const gp_sim_ranges *set, uint64_t bytes, uint64_t alignment,
                                 uint64_t latest, uint64_t *base);

/* Cut [base, base + bytes) out of a range of the set. False: out of host memory,
 * and nothing changed. The range is gone or smaller afterwards. */
bool gp_sim_ranges_cut(gp_sim_ranges *set, gp_sim_range *range, uint64_t base, uint64_t bytes);

/* In address order: the first range at or above an address; NULL at the end. */
gp_sim_range *gp_sim_ranges_from(const gp_sim_ranges *set, uint64_t address);

bool gp_sim_ranges_is_empty(const gp_sim_ranges *set);
void gp_sim_ranges_clear(gp_sim_ranges *set);

#endif
