/*
 * A hash table from addresses (or anything made of them) to records.
 *
 * Open addressing, linear probing, at most half full. A key may occur more than
 * once, each time with another record. Everything but gp_address_map_reserve()
 * is O(1) on average and never allocates.
 */
#ifndef GP_POLICIES_ADDRESS_MAP_H
#define GP_POLICIES_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_map_entry {
    uintptr_t key;
    void *value; /* NULL: the entry is empty. */
} gp_map_entry;

typedef struct gp_address_map {
    gp_map_entry *entries;
    size_t mask;    /* Number of entries - 1; their number is a power of two. */
    unsigned shift; /* Hash bits to drop, so that mask + 1 values remain. */
    size_t count;   /* Entries in use. */
} gp_address_map;

/* @return false: malloc failed. */
bool gp_address_map_init(gp_address_map *map);

void gp_address_map_fini(gp_address_map *map);

/* Make room for count more entries. O(1) amortised. @return false: malloc failed. */
bool gp_address_map_reserve(gp_address_map *map, size_t count);

/* Needs room made by gp_address_map_reserve(). */
void gp_address_map_insert(gp_address_map *map, uintptr_t key, void *value);

/* Needs the pair to be there. */
void gp_address_map_remove(gp_address_map *map, uintptr_t key, const void *value);

/* Host memory of the table. */
static inline size_t gp_address_map_metadata_bytes(const gp_address_map *map)
{
    return (map->mask + 1) * sizeof(*map->entries);
}

/* Where the search for a key begins; it goes on to the first empty entry. */
static inline size_t gp_address_map_home(const gp_address_map *map, uintptr_t key)
{
    /* Fibonacci hashing: regular strides, as addresses are, spread evenly. */
    return (size_t)(((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> map->shift);
}

/* A record of this key. @return NULL: none. */
static inline void *gp_address_map_find(const gp_address_map *map, uintptr_t key)
{
    size_t i = gp_address_map_home(map, key);

    while (map->entries[i].value != NULL && map->entries[i].key != key) {
        i = (i + 1) & map->mask;
    }
    return map->entries[i].value;
}

#endif
