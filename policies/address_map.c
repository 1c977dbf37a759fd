#include "address_map.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_BITS = 4 };

static bool allocate_entries(gp_address_map *map, unsigned bits)
{
    gp_map_entry *entries = calloc((size_t)1 << bits, sizeof(*entries));

    if (entries == NULL) {
        return false;
    }
    map->entries = entries;
    map->mask = ((size_t)1 << bits) - 1;
    map->shift = 64 - bits;
    map->count = 0;
    return true;
}

bool gp_address_map_init(gp_address_map *map)
{
    return allocate_entries(map, FIRST_BITS);
}

void gp_address_map_fini(gp_address_map *map)
{
    free(map->entries);
}

static bool grow(gp_address_map *map)
{
    gp_address_map old = *map;

    if (!allocate_entries(map, 64 - old.shift + 1)) {
        return false;
    }
    for (size_t i = 0; i <= old.mask; i++) {
        if (old.entries[i].value != NULL) {
            gp_address_map_insert(map, old.entries[i].key, old.entries[i].value);
        }
    }
    free(old.entries);
    return true;
}

bool gp_address_map_reserve(gp_address_map *map, size_t count)
{
    while ((map->count + count) * 2 > map->mask + 1) {
        if (!grow(map)) {
            return false;
        }
    }
    return true;
}

void gp_address_map_insert(gp_address_map *map, uintptr_t key, void *value)
{
    size_t i = gp_address_map_home(map, key);

    assert(value != NULL && map->count * 2 <= map->mask);
    while (map->entries[i].value != NULL) {
        i = (i + 1) & map->mask;
    }
    map->entries[i] = (gp_map_entry){.key = key, .value = value};
    map->count++;
}

/* Close the gap at i, so that no search stops at it short of its key. */
static void close_gap(gp_address_map *map, size_t i)
{
    size_t next = i;

    for (;;) {
        next = (next + 1) & map->mask;
        if (map->entries[next].value == NULL) {
            break;
        }
        size_t home = gp_address_map_home(map, map->entries[next].key);

        /* An entry may move back to i only if its home is not behind i. */
        if (((next - home) & map->mask) >= ((next - i) & map->mask)) {
            map->entries[i] = map->entries[next];
            i = next;
        }
    }
    map->entries[i].value = NULL;
}

void gp_address_map_remove(gp_address_map *map, uintptr_t key, const void *value)
{
    size_t i = gp_address_map_home(map, key);

    while (map->entries[i].key != key || map->entries[i].value != value) {
        assert(map->entries[i].value != NULL);
        i = (i + 1) & map->mask;
    }
    close_gap(map, i);
    map->count--;
}
