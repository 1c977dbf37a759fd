#include "small_slab.h"

#include <assert.h>

_Static_assert((size_t)GP_SLAB_WORDS * 64 * GP_GRANULE_BYTES == GP_SLAB_BYTES,
               "a slab has one bit for each object");

static int compare(const gp_slab *a, const gp_slab *b)
{
    return (a->span.base > b->span.base) - (a->span.base < b->span.base);
}

GP_TREE_GENERATE(gp_slab_tree, gp_slab, by_base, compare)

static bool has_free(const gp_slab *slab)
{
    return (slab->free[0] | slab->free[1]) != 0;
}

static bool is_empty(const gp_slab *slab)
{
    return (slab->free[0] & slab->free[1]) == UINT64_MAX;
}

gp_status gp_small_slab_init(gp_small_slab *slabs)
{
    *slabs = (gp_small_slab){0};
    gp_node_pool_init(&slabs->nodes, sizeof(gp_slab));
    return gp_range_map_init(&slabs->by_address, GP_SLAB_BYTES) ? GP_OK : GP_ERR_OUT_OF_HOST_MEMORY;
}

void gp_small_slab_fini(gp_small_slab *slabs)
{
    gp_range_map_fini(&slabs->by_address);
    gp_node_pool_fini(&slabs->nodes);
}

gp_status gp_small_slab_add(gp_small_slab *slabs, uintptr_t base)
{
    gp_slab *slab;

    assert(slabs->free_bytes == 0);
    if (!gp_node_pool_reserve(&slabs->nodes, 1) ||
        !gp_range_map_reserve(&slabs->by_address, GP_SLAB_BYTES)) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    slab = gp_node_pool_take(&slabs->nodes);
    *slab = (gp_slab){.span = {base, GP_SLAB_BYTES}, .free = {UINT64_MAX, UINT64_MAX}};
    gp_range_map_insert(&slabs->by_address, &slab->span);
    slabs->kept = slab;
    slabs->free_bytes += GP_SLAB_BYTES;
    return GP_OK;
}

static void forget(gp_small_slab *slabs, gp_slab *slab)
{
    gp_range_map_remove(&slabs->by_address, &slab->span);
    slabs->free_bytes -= GP_SLAB_BYTES;
    gp_node_pool_give(&slabs->nodes, slab);
}

static void link_partial(gp_small_slab *slabs, gp_slab *slab)
{
    RB_INSERT(gp_slab_tree, &slabs->partial, slab);
    if (slabs->lowest == NULL || slab->span.base < slabs->lowest->span.base) {
        slabs->lowest = slab;
    }
}

static void unlink_partial(gp_small_slab *slabs, gp_slab *slab)
{
    if (slab == slabs->lowest) {
        slabs->lowest = RB_NEXT(gp_slab_tree, NULL, slab);
    }
    RB_REMOVE(gp_slab_tree, &slabs->partial, slab);
}

/* The kept slab comes last: while it is empty, it can still be handed back. */
static gp_slab *slab_to_take_from(gp_small_slab *slabs)
{
    if (slabs->lowest == NULL && slabs->kept != NULL) {
        link_partial(slabs, slabs->kept);
        slabs->kept = NULL;
    }
    return slabs->lowest;
}

bool gp_small_slab_take(gp_small_slab *slabs, uintptr_t *base)
{
    gp_slab *slab = slab_to_take_from(slabs);
    size_t word;
    size_t bit;

    if (slab == NULL) {
        return false;
    }
    word = slab->free[0] != 0 ? 0 : 1;
    bit = (size_t)__builtin_ctzll(slab->free[word]);
    slab->free[word] &= slab->free[word] - 1;
    if (!has_free(slab)) {
        unlink_partial(slabs, slab);
    }
    slabs->free_bytes -= GP_GRANULE_BYTES;
    *base = slab->span.base + (word * 64 + bit) * GP_GRANULE_BYTES;
    return true;
}

bool gp_small_slab_give(gp_small_slab *slabs, gp_slab *slab, uintptr_t base, gp_span *surplus)
{
    size_t object = (base - slab->span.base) / GP_GRANULE_BYTES;

    if (!has_free(slab)) {
        link_partial(slabs, slab);
    }
    slab->free[object / 64] |= UINT64_C(1) << (object % 64);
    slabs->free_bytes += GP_GRANULE_BYTES;
    if (!is_empty(slab)) {
        return false;
    }
    unlink_partial(slabs, slab);
    if (slabs->kept == NULL) {
        slabs->kept = slab;
        return false;
    }
    *surplus = slab->span;
    forget(slabs, slab);
    return true;
}

bool gp_small_slab_drop_kept(gp_small_slab *slabs, gp_span *dropped)
{
    if (slabs->kept == NULL) {
        return false;
    }
    *dropped = slabs->kept->span;
    forget(slabs, slabs->kept);
    slabs->kept = NULL;
    return true;
}

size_t gp_small_slab_metadata_bytes(const gp_small_slab *slabs)
{
    return slabs->nodes.metadata_bytes + gp_range_map_metadata_bytes(&slabs->by_address);
}

static size_t free_bytes_of(const gp_slab *slab)
{
    int objects = __builtin_popcountll(slab->free[0]) + __builtin_popcountll(slab->free[1]);

    return (size_t)objects * GP_GRANULE_BYTES;
}

/* What its own bits say of a slab must be what the cache does with it. */
static bool slab_is_valid(const gp_small_slab *slabs, gp_slab *slab)
{
    struct gp_slab_tree partial = slabs->partial;
    bool is_partial = RB_FIND(gp_slab_tree, &partial, slab) == slab;

    return is_partial == (has_free(slab) && !is_empty(slab)) &&
           is_empty(slab) == (slab == slabs->kept) &&
           gp_small_slab_find(slabs, slab->span.base) == slab &&
           gp_small_slab_find(slabs, slab->span.base + GP_SLAB_BYTES - 1) == slab;
}

bool gp_small_slab_is_valid(const gp_small_slab *slabs)
{
    const gp_address_map *map = &slabs->by_address.map;
    struct gp_slab_tree partial = slabs->partial;
    size_t free_bytes = 0;

    for (size_t i = 0; i <= map->mask; i++) {
        gp_slab *slab = map->entries[i].value;

        if (slab != NULL && !slab_is_valid(slabs, slab)) {
            return false;
        }
        /* A slab in two windows is entered twice. */
        if (slab != NULL && map->entries[i].key == slab->span.base / GP_SLAB_BYTES) {
            free_bytes += free_bytes_of(slab);
        }
    }
    return free_bytes == slabs->free_bytes && slabs->lowest == RB_MIN(gp_slab_tree, &partial);
}
