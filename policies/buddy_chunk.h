/*
 * One chunk of a buddy system: which of its granules are free.
 *
 * A piece of order k is 2^k granules at a multiple of its length, counted from
 * the chunk's base. A request takes the front of a piece, exactly as many
 * granules as it asks for; the rest is free at once, as the pieces that cover it:
 *
 *   11 granules of a piece of 16:  |<--------- 11 --------->|1|<-- 4 -->|
 *
 * Two levels of words, both read by free_bits.h, tell all pieces:
 *
 *   granules[i]  bit g: granule 64 i + g is free           pieces of order 0 to 5
 *   whole        bit i: all of granules[i] is free         pieces of order 6 to 12
 *   having[k]    bit i: granules[i] has a piece of order k
 *   orders[i]    bit k: the same, bit 6: all is free
 */
#ifndef GP_POLICIES_BUDDY_CHUNK_H
#define GP_POLICIES_BUDDY_CHUNK_H

#include "gp/policy.h"
#include "free_bits.h"

enum { GP_BUDDY_MAX_ORDER = 2 * GP_FREE_BITS_ORDER };

/* The longest chunk: 2 MiB. */
#define GP_BUDDY_MAX_BYTES ((size_t)GP_GRANULE_BYTES << GP_BUDDY_MAX_ORDER)

/* The shortest one: a word of granules. */
#define GP_BUDDY_MIN_BYTES ((size_t)GP_GRANULE_BYTES << GP_FREE_BITS_ORDER)

typedef struct gp_buddy_chunk {
    gp_span span;                 /* 2^order granules. */
    struct gp_buddy_group *group; /* Where the buddy system keeps it (buddy_group.h), */
    uint32_t slot;                /* and at which place. */
    uint32_t order;
    uint32_t free_orders; /* Bit k: there is a piece of order k. */
    uint32_t free_granules;
    uint64_t whole;
    uint64_t having[GP_FREE_BITS_ORDER];
    uint8_t orders[1 << GP_FREE_BITS_ORDER];
    uint64_t granules[];
} gp_buddy_chunk;

/* The least order whose pieces hold so many granules (1 or more). */
static inline unsigned gp_buddy_order_of(size_t granules)
{
    return granules <= 1 ? 0u : 64u - (unsigned)__builtin_clzll((uint64_t)granules - 1);
}

/*
 * A chunk, all of it free; span.bytes is a power of two from GP_BUDDY_MIN_BYTES
 * to GP_BUDDY_MAX_BYTES. @return NULL: malloc failed.
 */
gp_buddy_chunk *gp_buddy_chunk_create(gp_span span);

void gp_buddy_chunk_destroy(gp_buddy_chunk *chunk);

static inline bool gp_buddy_chunk_is_free(const gp_buddy_chunk *chunk)
{
    return chunk->free_granules >> chunk->order != 0;
}

/*
 * Take so many granules from the lowest free piece of this order, which has one
 * and is large enough. O(1 + granules / 64). @return Where, in granules from the base.
 */
size_t gp_buddy_chunk_take(gp_buddy_chunk *chunk, unsigned order, size_t granules);

/* What was taken comes back. O(1 + granules / 64), never allocates. */
void gp_buddy_chunk_give(gp_buddy_chunk *chunk, size_t offset, size_t granules);

/* The order of the piece that this taken piece would become part of. O(order). */
unsigned gp_buddy_chunk_joined_order(const gp_buddy_chunk *chunk, size_t offset, unsigned order);

/* Host memory of a chunk. */
size_t gp_buddy_chunk_metadata_bytes(const gp_buddy_chunk *chunk);

/* Walks everything. */
bool gp_buddy_chunk_is_valid(const gp_buddy_chunk *chunk);

#endif
