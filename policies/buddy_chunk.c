#include "buddy_chunk.h"

#include "bit_tree.h"

#include <assert.h>
#include <stdlib.h>

/*
 * Words in front of the set of depth d, which has 2^d members: the sum of
 * gp_bit_tree_words() over lesser depths. It does not depend on the chunk's order.
 */
static const uint32_t set_starts[GP_BUDDY_MAX_ORDER + 2] = {
    0, 1, 2, 3, 4, 5, 6, 7, 10, 15, 24, 41, 74, 139, 270, 531, 1052, 2093, 4174, 8335};

static uint64_t *set_of(gp_buddy_chunk *chunk, unsigned order)
{
    return chunk->words + set_starts[chunk->order - order];
}

static const uint64_t *const_set_of(const gp_buddy_chunk *chunk, unsigned order)
{
    return chunk->words + set_starts[chunk->order - order];
}

static void add_piece(gp_buddy_chunk *chunk, unsigned order, size_t offset)
{
    gp_bit_tree_add(set_of(chunk, order), chunk->order - order, offset >> order);
    chunk->free_orders |= 1u << order;
}

static void drop_piece(gp_buddy_chunk *chunk, unsigned order, size_t offset)
{
    if (gp_bit_tree_drop(set_of(chunk, order), chunk->order - order, offset >> order)) {
        chunk->free_orders &= ~(1u << order);
    }
}

static bool is_free_piece(const gp_buddy_chunk *chunk, unsigned order, size_t offset)
{
    return gp_bit_tree_has(const_set_of(chunk, order), offset >> order);
}

static size_t chunk_bytes(unsigned order)
{
    return sizeof(gp_buddy_chunk) + set_starts[order + 1] * sizeof(uint64_t);
}

gp_buddy_chunk *gp_buddy_chunk_create(gp_span span)
{
    unsigned order = gp_buddy_order_of(span.bytes / GP_GRANULE_BYTES);
    gp_buddy_chunk *chunk = calloc(1, chunk_bytes(order));

    assert(order <= GP_BUDDY_MAX_ORDER && span.bytes == (size_t)GP_GRANULE_BYTES << order);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->span = span;
    chunk->order = order;
    chunk->free_granules = 1u << order;
    add_piece(chunk, order, 0);
    return chunk;
}

void gp_buddy_chunk_destroy(gp_buddy_chunk *chunk)
{
    free(chunk);
}

size_t gp_buddy_chunk_take(gp_buddy_chunk *chunk, unsigned order, size_t granules)
{
    size_t piece = gp_bit_tree_least(const_set_of(chunk, order), chunk->order - order);
    size_t start = piece << order;
    size_t end = start + ((size_t)1 << order);

    assert(granules <= end - start);
    drop_piece(chunk, order, start);
    for (size_t rest = start + granules; rest < end;) {
        /* The longest piece that may begin here; it cannot reach beyond end. */
        unsigned rest_order = (unsigned)__builtin_ctzll(rest);

        add_piece(chunk, rest_order, rest);
        rest += (size_t)1 << rest_order;
    }
    chunk->free_granules -= (uint32_t)granules;
    return start;
}

static void give_piece(gp_buddy_chunk *chunk, unsigned order, size_t offset)
{
    while (order < chunk->order) {
        size_t buddy = offset ^ ((size_t)1 << order);

        if (!is_free_piece(chunk, order, buddy)) {
            break;
        }
        drop_piece(chunk, order, buddy);
        offset &= ~((size_t)1 << order);
        order++;
    }
    add_piece(chunk, order, offset);
}

void gp_buddy_chunk_give(gp_buddy_chunk *chunk, size_t offset, size_t granules)
{
    chunk->free_granules += (uint32_t)granules;
    /* From the last, shortest piece on: what it grows into is the next one's buddy. */
    while (granules != 0) {
        unsigned order = (unsigned)__builtin_ctzll(granules);

        granules &= granules - 1;
        give_piece(chunk, order, offset + granules);
    }
}

unsigned gp_buddy_chunk_joined_order(const gp_buddy_chunk *chunk, size_t offset, unsigned order)
{
    while (order < chunk->order && is_free_piece(chunk, order, offset ^ ((size_t)1 << order))) {
        offset &= ~((size_t)1 << order);
        order++;
    }
    return order;
}

size_t gp_buddy_chunk_metadata_bytes(const gp_buddy_chunk *chunk)
{
    return chunk_bytes(chunk->order);
}

bool gp_buddy_chunk_has_free(const gp_buddy_chunk *chunk, size_t offset, size_t granules)
{
    for (size_t granule = offset; granule < offset + granules; granule++) {
        for (unsigned order = 0; order <= chunk->order; order++) {
            if (is_free_piece(chunk, order, granule)) {
                return true;
            }
        }
    }
    return false;
}

/* Its granules are in no longer free piece, and its buddy is not free as well. */
static bool piece_is_valid(const gp_buddy_chunk *chunk, unsigned order, size_t offset)
{
    for (unsigned above = order + 1; above <= chunk->order; above++) {
        if (is_free_piece(chunk, above, offset)) {
            return false;
        }
    }
    return order == chunk->order || !is_free_piece(chunk, order, offset ^ ((size_t)1 << order));
}

/* Do the upper levels of a set say what the lower ones hold? */
static bool set_is_valid(const uint64_t *words, unsigned depth)
{
    while (depth > GP_BIT_TREE_WORD_DEPTH) {
        depth -= GP_BIT_TREE_WORD_DEPTH;
        const uint64_t *above = words + ((size_t)1 << depth);

        for (size_t i = 0; i < (size_t)1 << depth; i++) {
            if ((words[i] != 0) != gp_bit_tree_has(above, i)) {
                return false;
            }
        }
        words = above;
    }
    return true;
}

static bool order_is_valid(const gp_buddy_chunk *chunk, unsigned order, size_t *free_granules)
{
    size_t count = 0;

    for (size_t offset = 0; offset >> chunk->order == 0; offset += (size_t)1 << order) {
        if (is_free_piece(chunk, order, offset)) {
            if (!piece_is_valid(chunk, order, offset)) {
                return false;
            }
            count++;
        }
    }
    *free_granules += count << order;
    return (count != 0) == ((chunk->free_orders >> order & 1) != 0) &&
           set_is_valid(const_set_of(chunk, order), chunk->order - order);
}

bool gp_buddy_chunk_is_valid(const gp_buddy_chunk *chunk)
{
    size_t free_granules = 0;

    for (unsigned order = 0; order <= chunk->order; order++) {
        if (!order_is_valid(chunk, order, &free_granules)) {
            return false;
        }
    }
    return free_granules == chunk->free_granules && chunk->free_orders >> chunk->order <= 1;
}
