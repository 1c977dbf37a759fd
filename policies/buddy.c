#include "buddy.h"

#include <assert.h>

/* Chunks shorter than this share a window of the map, longer ones have several. */
static const size_t window_bytes = (size_t)2 << 20;

static uint32_t orders_of(const gp_buddy_chunk *subtree)
{
    return subtree != NULL ? subtree->subtree_orders : 0;
}

static uint32_t orders_below(const gp_buddy_chunk *chunk)
{
    return chunk->free_orders | orders_of(RB_LEFT(chunk, by_base)) |
           orders_of(RB_RIGHT(chunk, by_base));
}

static int compare(const gp_buddy_chunk *a, const gp_buddy_chunk *b)
{
    return (a->span.base > b->span.base) - (a->span.base < b->span.base);
}

#undef RB_AUGMENT
#define RB_AUGMENT(chunk) ((chunk)->subtree_orders = orders_below(chunk))
GP_TREE_GENERATE(gp_buddy_tree, gp_buddy_chunk, by_base, compare)

/* The chunk's free orders have changed: say so to everything above it. */
static void update_above(gp_buddy_chunk *chunk)
{
    while (chunk != NULL) {
        uint32_t orders = orders_below(chunk);

        if (orders == chunk->subtree_orders) {
            return;
        }
        chunk->subtree_orders = orders;
        chunk = RB_PARENT(chunk, by_base);
    }
}

gp_status gp_buddy_init(gp_buddy *buddy)
{
    *buddy = (gp_buddy){0};
    return gp_range_map_init(&buddy->by_address, window_bytes) ? GP_OK : GP_ERR_OUT_OF_HOST_MEMORY;
}

void gp_buddy_fini(gp_buddy *buddy)
{
    while (!RB_EMPTY(&buddy->chunks)) {
        gp_buddy_chunk *chunk = RB_ROOT(&buddy->chunks);

        RB_REMOVE(gp_buddy_tree, &buddy->chunks, chunk);
        gp_buddy_chunk_destroy(chunk);
    }
    gp_range_map_fini(&buddy->by_address);
}

/* A node without orders changes nothing above it, so it can be put in and taken
 * out as the tree's own code does it, which updates only where it rotates. */
static void link_chunk(gp_buddy *buddy, gp_buddy_chunk *chunk)
{
    uint32_t orders = chunk->free_orders;

    chunk->free_orders = 0;
    chunk->subtree_orders = 0;
    RB_INSERT(gp_buddy_tree, &buddy->chunks, chunk);
    chunk->free_orders = orders;
    update_above(chunk);
}

static void unlink_chunk(gp_buddy *buddy, gp_buddy_chunk *chunk)
{
    chunk->free_orders = 0;
    update_above(chunk);
    RB_REMOVE(gp_buddy_tree, &buddy->chunks, chunk);
}

gp_status gp_buddy_add_chunk(gp_buddy *buddy, gp_span span)
{
    gp_buddy_chunk *chunk;

    if (!gp_range_map_reserve(&buddy->by_address, span.bytes)) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    chunk = gp_buddy_chunk_create(span);
    if (chunk == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    gp_range_map_insert(&buddy->by_address, &chunk->span);
    link_chunk(buddy, chunk);
    buddy->free_bytes += span.bytes;
    buddy->chunk_metadata_bytes += gp_buddy_chunk_metadata_bytes(chunk);
    return GP_OK;
}

void gp_buddy_remove_chunk(gp_buddy *buddy, gp_buddy_chunk *chunk)
{
    assert(gp_buddy_chunk_is_free(chunk));
    buddy->chunk_metadata_bytes -= gp_buddy_chunk_metadata_bytes(chunk);
    buddy->free_bytes -= chunk->span.bytes;
    unlink_chunk(buddy, chunk);
    gp_range_map_remove(&buddy->by_address, &chunk->span);
    gp_buddy_chunk_destroy(chunk);
}

/* The chunk at the lowest address with a free piece of this order. */
static gp_buddy_chunk *lowest_with(const gp_buddy *buddy, unsigned order)
{
    gp_buddy_chunk *chunk = RB_ROOT(&buddy->chunks);

    if ((orders_of(chunk) >> order & 1) == 0) {
        return NULL;
    }
    for (;;) {
        if ((orders_of(RB_LEFT(chunk, by_base)) >> order & 1) != 0) {
            chunk = RB_LEFT(chunk, by_base);
        } else if ((chunk->free_orders >> order & 1) != 0) {
            return chunk;
        } else {
            chunk = RB_RIGHT(chunk, by_base);
        }
    }
}

/* The same, but the chunk's base is a multiple of alignment, and with it the piece. */
static gp_buddy_chunk *lowest_aligned_with(const gp_buddy *buddy, unsigned order, size_t alignment)
{
    gp_buddy_chunk *chunk = lowest_with(buddy, order);

    while (chunk != NULL &&
           ((chunk->free_orders >> order & 1) == 0 || (chunk->span.base & (alignment - 1)) != 0)) {
        chunk = RB_NEXT(gp_buddy_tree, NULL, chunk);
    }
    return chunk;
}

bool gp_buddy_take(gp_buddy *buddy, size_t bytes, size_t alignment, uintptr_t *base)
{
    size_t granules = bytes / GP_GRANULE_BYTES;
    unsigned least = gp_buddy_order_of(bytes > alignment ? granules : alignment / GP_GRANULE_BYTES);
    uint32_t orders =
        least > GP_BUDDY_MAX_ORDER ? 0 : orders_of(RB_ROOT(&buddy->chunks)) & (UINT32_MAX << least);

    for (; orders != 0; orders &= orders - 1) {
        unsigned order = (unsigned)__builtin_ctz(orders);
        gp_buddy_chunk *chunk = lowest_aligned_with(buddy, order, alignment);

        if (chunk != NULL) {
            size_t offset = gp_buddy_chunk_take(chunk, order, granules);

            update_above(chunk);
            buddy->free_bytes -= bytes;
            *base = chunk->span.base + offset * GP_GRANULE_BYTES;
            return true;
        }
    }
    return false;
}

void gp_buddy_give(gp_buddy *buddy, gp_buddy_chunk *chunk, gp_span block)
{
    size_t offset = (block.base - chunk->span.base) / GP_GRANULE_BYTES;

    gp_buddy_chunk_give(chunk, offset, block.bytes / GP_GRANULE_BYTES);
    update_above(chunk);
    buddy->free_bytes += block.bytes;
}

gp_buddy_chunk *gp_buddy_next(const gp_buddy *buddy, const gp_buddy_chunk *chunk)
{
    if (chunk == NULL) {
        struct gp_buddy_tree chunks = buddy->chunks;

        return RB_MIN(gp_buddy_tree, &chunks);
    }
    return RB_NEXT(gp_buddy_tree, NULL, (gp_buddy_chunk *)(uintptr_t)chunk);
}

size_t gp_buddy_largest_bytes(const gp_buddy *buddy)
{
    uint32_t orders = orders_of(RB_ROOT(&buddy->chunks));

    return orders == 0 ? 0 : (size_t)GP_GRANULE_BYTES << (31u - (unsigned)__builtin_clz(orders));
}

size_t gp_buddy_metadata_bytes(const gp_buddy *buddy)
{
    return buddy->chunk_metadata_bytes + gp_range_map_metadata_bytes(&buddy->by_address);
}

bool gp_buddy_is_valid(const gp_buddy *buddy)
{
    size_t free_bytes = 0;
    uintptr_t end = 0;

    for (const gp_buddy_chunk *chunk = gp_buddy_next(buddy, NULL); chunk != NULL;
         chunk = gp_buddy_next(buddy, chunk)) {
        if (chunk->span.base < end || chunk->subtree_orders != orders_below(chunk) ||
            !gp_buddy_chunk_is_valid(chunk) || gp_buddy_find(buddy, chunk->span.base) != chunk ||
            gp_buddy_find(buddy, chunk->span.base + chunk->span.bytes - 1) != chunk) {
            return false;
        }
        end = chunk->span.base + chunk->span.bytes;
        free_bytes += (size_t)chunk->free_granules * GP_GRANULE_BYTES;
    }
    return free_bytes == buddy->free_bytes;
}
