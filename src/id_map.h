/* A map from any 64-bit number to a 64-bit value, which grows and forgets nothing. */
#ifndef GP_SRC_ID_MAP_H
#define GP_SRC_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_id_entry {
    uint64_t id;
    uint64_t value;
    bool used;
} gp_id_entry;

/* All zero: empty. */
typedef struct gp_id_map {
    gp_id_entry *entries; /* Open addressing, at most three quarters full. */
    size_t capacity;      /* A power of two, or 0. */
    size_t count;
} gp_id_map;

/* The value of a number, for a new one 0 and *is_new true. Valid until the next call. NULL: no
 * host memory. */
uint64_t *gp_id_map_at(gp_id_map *map, uint64_t id, bool *is_new);

void gp_id_map_destroy(gp_id_map *map);

#endif
