/*
 * One chunk of a buddy system: which of its pieces are free.
 *
 * A piece of order k is 2^k granules long and begins, counted from the chunk's
 * base, at a multiple of its length. Each order has a set of its free pieces
 * (bit_tree.h). A request takes the front of a piece, exactly as many granules
 * as it asks for; the rest stays free as the fewest pieces that cover it:
 *
 *   11 granules of a piece of 16:  |<--------- 11 --------->|1|<-- 4 -->|
 *
 * and when they come back every piece joins with its free buddy, and so on up.
 */
#ifndef GP_POLICIES_BUDDY_CHUNK_H
#define GP_POLICIES_BUDDY_CHUNK_H

#include "gp/policy.h"
#include "tree.h"

enum { GP_BUDDY_MAX_ORDER = 18 }; /* 128 MiB of granules of 512 bytes */

typedef struct gp_buddy_chunk {
    gp_span span;                     /* 2^order granules. */
    RB_ENTRY(gp_buddy_chunk) by_base; /* The buddy system's own. */
    uint32_t subtree_orders;          /* Its own: the OR of free_orders below. */
    uint32_t free_orders;             /* Bit k: a piece of order k is free. */
    uint32_t free_granules;           /* In all free pieces. */
    uint32_t order;
    uint64_t words[]; /* The sets, from the whole chunk's order down. */
} gp_buddy_chunk;

/* The least order whose pieces hold so many granules (1 or more). */
static inline unsigned gp_buddy_order_of(size_t granules)
{
    return granules <= 1 ? 0u : 64u - (unsigned)__builtin_clzll((uint64_t)granules - 1);
}

/* A chunk, all of it free; span.bytes is 2^k granules. @return NULL: malloc failed. */
gp_buddy_chunk *gp_buddy_chunk_create(gp_span span);

void gp_buddy_chunk_destroy(gp_buddy_chunk *chunk);

static inline bool gp_buddy_chunk_is_free(const gp_buddy_chunk *chunk)
{
    return chunk->free_granules >> chunk->order != 0;
}

/*
 * Take so many granules from the lowest free piece of this order, which has one
 * and is large enough. O(order). @return Where, in granules from the base.
 */
size_t gp_buddy_chunk_take(gp_buddy_chunk *chunk, unsigned order, size_t granules);

/* What was taken comes back. O(order), never allocates. */
void gp_buddy_chunk_give(gp_buddy_chunk *chunk, size_t offset, size_t granules);

/* The order of the piece that this taken piece would become part of. O(order). */
unsigned gp_buddy_chunk_joined_order(const gp_buddy_chunk *chunk, size_t offset, unsigned order);

/* Is any of these granules free? For checks: O(granules * order). */
bool gp_buddy_chunk_has_free(const gp_buddy_chunk *chunk, size_t offset, size_t granules);

/* Host memory of a chunk. */
size_t gp_buddy_chunk_metadata_bytes(const gp_buddy_chunk *chunk);

/* Walks everything. */
bool gp_buddy_chunk_is_valid(const gp_buddy_chunk *chunk);

#endif
