/*
 * Finds the range an address lies in.
 *
 * The address space is divided into windows of one size. A range is entered
 * under each window it touches, so one search of the address's own window finds
 * it: O(1) while few ranges share a window. Entering and removing a range is
 * O(windows touched).
 */
#ifndef GP_POLICIES_RANGE_MAP_H
#define GP_POLICIES_RANGE_MAP_H

#include "gp/policy.h"
#include "address_map.h"

typedef struct gp_range_map {
    gp_address_map map;
    unsigned window_shift;
} gp_range_map;

/* window_bytes: a power of two. @return false: malloc failed. */
bool gp_range_map_init(gp_range_map *ranges, size_t window_bytes);

void gp_range_map_fini(gp_range_map *ranges);

/* Make room for one more range of so many bytes. @return false: malloc failed. */
bool gp_range_map_reserve(gp_range_map *ranges, size_t bytes);

/*
 * Enter a range, under its own address: a record whose first member is its span
 * is found again by casting. Ranges do not overlap. Needs a reserved place.
 */
void gp_range_map_insert(gp_range_map *ranges, gp_span *range);

/* Needs the range to be there. */
void gp_range_map_remove(gp_range_map *ranges, const gp_span *range);

static inline size_t gp_range_map_metadata_bytes(const gp_range_map *ranges)
{
    return gp_address_map_metadata_bytes(&ranges->map);
}

/* @return NULL: the address lies in no range. */
static inline gp_span *gp_range_map_find(const gp_range_map *ranges, uintptr_t address)
{
    const gp_address_map *map = &ranges->map;
    uintptr_t window = address >> ranges->window_shift;

    for (size_t i = gp_address_map_home(map, window); map->entries[i].value != NULL;
         i = (i + 1) & map->mask) {
        gp_span *range = map->entries[i].value;

        if (map->entries[i].key == window && address - range->base < range->bytes) {
            return range;
        }
    }
    return NULL;
}

#endif
