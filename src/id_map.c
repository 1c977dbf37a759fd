#include "id_map.h"

#include <stdlib.h>

#define FIRST_CAPACITY 256

/* Numbers that follow one another, as they do in most files, are spread. */
static size_t hash(uint64_t id)
{
    return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/* The entry of a number, or the free one where it belongs. */
static gp_id_entry *find(const gp_id_map *map, uint64_t id)
{
    size_t place = hash(id) & (map->capacity - 1);
    while (map->entries[place].used && map->entries[place].id != id)
        place = (place + 1) & (map->capacity - 1);
    return &map->entries[place];
}

static bool grow(gp_id_map *map)
{
    gp_id_map larger = {.capacity = map->capacity == 0 ? FIRST_CAPACITY : 2 * map->capacity,
                        .count = map->count};
    larger.entries = calloc(larger.capacity, sizeof(*larger.entries));
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].used)
            *find(&larger, map->entries[i].id) = map->entries[i];
    }
    free(map->entries);
    *map = larger;
    return true;
}

uint64_t *gp_id_map_at(gp_id_map *map, uint64_t id, bool *is_new)
{
    if (map->count >= map->capacity / 4 * 3 && !grow(map))
        return NULL;
    gp_id_entry *entry = find(map, id);
    *is_new = !entry->used;
    if (*is_new) {
        *entry = (gp_id_entry){.id = id, .used = true};
        map->count++;
    }
    return &entry->value;
}

void gp_id_map_destroy(gp_id_map *map)
{
    free(map->entries);
    *map = (gp_id_map){0};
}
