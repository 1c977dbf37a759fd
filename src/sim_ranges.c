#include "sim_ranges.h"

#include <stdlib.h>

static gp_sim_range *of_address(gp_sim_node *node)
{
    return node != NULL ? GP_SIM_CONTAINER(node, gp_sim_range, by_address) : NULL;
}

static gp_sim_range *of_size(gp_sim_node *node)
{
    return node != NULL ? GP_SIM_CONTAINER(node, gp_sim_range, by_size) : NULL;
}

static uint64_t end_of(const gp_sim_range *range)
{
    return gp_sim_range_base(range) + gp_sim_range_bytes(range);
}

static void put(gp_sim_ranges *set, gp_sim_range *range, uint64_t base, uint64_t bytes)
{
    range->by_address.key = base;
    range->by_address.tie = 0;
    range->by_size.key = bytes;
    range->by_size.tie = base;
    gp_sim_tree_insert(&set->by_address, &range->by_address);
    gp_sim_tree_insert(&set->by_size, &range->by_size);
}

static void take_out(gp_sim_ranges *set, gp_sim_range *range)
{
    gp_sim_tree_remove(&set->by_address, &range->by_address);
    gp_sim_tree_remove(&set->by_size, &range->by_size);
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool gp_sim_ranges_add(gp_sim_ranges *set, uint64_t base, uint64_t bytes, uint64_t position)
{
    gp_sim_range *below = of_address(gp_sim_tree_at_or_below(&set->by_address, base));
    gp_sim_range *above = gp_sim_ranges_from(set, base + bytes);
    gp_sim_range *joined = NULL;

    if (below != NULL && end_of(below) == base) {
        base = gp_sim_range_base(below);
        bytes += gp_sim_range_bytes(below);
        position = later_of(position, below->position);
        take_out(set, below);
        joined = below;
    }
    if (above != NULL && gp_sim_range_base(above) == base + bytes) {
        bytes += gp_sim_range_bytes(above);
        position = later_of(position, above->position);
        take_out(set, above);
        free(joined);
        joined = above;
    }
    if (joined == NULL)
        joined = malloc(sizeof(*joined));
    if (joined == NULL)
        return false;

    joined->position = position;
    put(set, joined, base, bytes);
    return true;
}

gp_sim_range *gp_sim_ranges_find(const gp_sim_ranges *set, uint64_t bytes, uint64_t alignment,
                                 uint64_t latest, uint64_t *base)
{
    gp_sim_range *range = of_size(gp_sim_tree_at_or_above(&set->by_size, bytes, 0));
    while (range != NULL) {
        uint64_t aligned = (gp_sim_range_base(range) + alignment - 1) & ~(alignment - 1);
        if (range->position <= latest && aligned + bytes <= end_of(range)) {
            *base = aligned;
            return range;
        }
        range = of_size(gp_sim_tree_next(&set->by_size, &range->by_size));
    }
    return NULL;
}

bool gp_sim_ranges_cut(gp_sim_ranges *set, gp_sim_range *range, uint64_t base, uint64_t bytes)
{
    uint64_t front_base = gp_sim_range_base(range);
    uint64_t front_bytes = base - front_base;
    uint64_t back_bytes = end_of(range) - (base + bytes);
    gp_sim_range *back = NULL;
    if (front_bytes > 0 && back_bytes > 0) {
        back = malloc(sizeof(*back));
        if (back == NULL)
            return false;
        back->position = range->position;
    }

    take_out(set, range);
    if (front_bytes > 0)
        put(set, range, front_base, front_bytes);
    else if (back_bytes > 0)
        put(set, range, base + bytes, back_bytes);
    else
        free(range);
    if (back != NULL)
        put(set, back, base + bytes, back_bytes);
    return true;
}

gp_sim_range *gp_sim_ranges_from(const gp_sim_ranges *set, uint64_t address)
{
    return of_address(gp_sim_tree_at_or_above(&set->by_address, address, 0));
}

bool gp_sim_ranges_is_empty(const gp_sim_ranges *set)
{
    return set->by_address.root == NULL;
}

void gp_sim_ranges_clear(gp_sim_ranges *set)
{
    gp_sim_range *range = gp_sim_ranges_from(set, 0);
    while (range != NULL) {
        take_out(set, range);
        free(range);
        range = gp_sim_ranges_from(set, 0);
    }
}
