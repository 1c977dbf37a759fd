#include "range_map.h"

bool gp_range_map_init(gp_range_map *ranges, size_t window_bytes)
{
    ranges->window_shift = (unsigned)__builtin_ctzll(window_bytes);
    return gp_address_map_init(&ranges->map);
}

void gp_range_map_fini(gp_range_map *ranges)
{
    gp_address_map_fini(&ranges->map);
}

bool gp_range_map_reserve(gp_range_map *ranges, size_t bytes)
{
    /* Wherever it begins, a range ends at most one window further than its length goes. */
    return gp_address_map_reserve(&ranges->map, ((bytes - 1) >> ranges->window_shift) + 2);
}

static uintptr_t first_window(const gp_range_map *ranges, const gp_span *range)
{
    return range->base >> ranges->window_shift;
}

static uintptr_t last_window(const gp_range_map *ranges, const gp_span *range)
{
    return (range->base + (range->bytes - 1)) >> ranges->window_shift;
}

void gp_range_map_insert(gp_range_map *ranges, gp_span *range)
{
    uintptr_t last = last_window(ranges, range);

    for (uintptr_t window = first_window(ranges, range); window <= last; window++) {
        gp_address_map_insert(&ranges->map, window, range);
    }
}

void gp_range_map_remove(gp_range_map *ranges, const gp_span *range)
{
    uintptr_t last = last_window(ranges, range);

    for (uintptr_t window = first_window(ranges, range); window <= last; window++) {
        gp_address_map_remove(&ranges->map, window, range);
    }
}
