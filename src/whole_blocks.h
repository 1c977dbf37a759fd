/*
 * The whole-block cache: the large blocks that were freed last on one stream, kept
 * as they are for its next requests of their size. Once they are too many the older
 * ones leave, all in one go: for the commons if the device is past them, else for the
 * stream heap, where they are joined.
 *
 *     units    |  16 |  40 |  16 | 128 | ...      oldest first
 *     bases    |  .  |  .  |  .  |  .  |
 *     gives    |   7 |   8 |  12 |  15 |
 *
 * Guarded by its stream cache's lock.
 */
#ifndef GP_SRC_WHOLE_BLOCKS_H
#define GP_SRC_WHOLE_BLOCKS_H

#include <stdbool.h>

#include "gp/policy.h"
#include "counter.h"
#include "fit.h"
#include "page.h"

#define GP_WHOLE_BLOCKS 64u

/* What is kept is joined with nothing, so it is placed worse than the rest: so much of it, or
 * this share of what the pool holds if that is more. */
#define GP_WHOLE_BYTES ((uint64_t)16 << 20)
#define GP_WHOLE_SHARE 64

typedef struct gp_whole_blocks {
    _Atomic(uint32_t) count;         /* Read by anybody. */
    uint32_t units[GP_WHOLE_BLOCKS]; /* Sizes in pages, close together for the search. */
    uintptr_t bases[GP_WHOLE_BLOCKS];
    uint64_t gives[GP_WHOLE_BLOCKS]; /* The stream's give count when they were freed. */
    gp_counter bytes;                /* Their sum; read by anybody. */
    gp_counter most_bytes;           /* What they should be at most; likewise. */
} gp_whole_blocks;

static inline uint32_t gp_whole_blocks_count(const gp_whole_blocks *whole)
{
    return atomic_load_explicit(&whole->count, memory_order_relaxed);
}

/* Choose how much is kept by what the pool holds. */
static inline void gp_whole_blocks_fit(gp_whole_blocks *whole, uint64_t pool_bytes)
{
    const uint64_t share = pool_bytes / GP_WHOLE_SHARE;
    gp_counter_set(&whole->most_bytes, share > GP_WHOLE_BYTES ? share : GP_WHOLE_BYTES);
}

/* One that alone would drive out most others is not kept. */
static inline bool gp_whole_blocks_accept(const gp_whole_blocks *whole, size_t bytes)
{
    return bytes <= gp_counter_get(&whole->most_bytes) / 2;
}

static inline bool gp_whole_blocks_are_full(const gp_whole_blocks *whole)
{
    return gp_whole_blocks_count(whole) == GP_WHOLE_BLOCKS;
}

/* Should the older ones leave? */
static inline bool gp_whole_blocks_are_many(const gp_whole_blocks *whole)
{
    return gp_whole_blocks_count(whole) >= GP_WHOLE_BLOCKS - GP_WHOLE_BLOCKS / 4 ||
           gp_counter_get(&whole->bytes) > gp_counter_get(&whole->most_bytes);
}

/* How many of them; then half of what may be kept stays. */
uint32_t gp_whole_blocks_surplus(const gp_whole_blocks *whole);

/* How many were freed no later than give number `limit`: the oldest ones. */
uint32_t gp_whole_blocks_older(const gp_whole_blocks *whole, uint64_t limit);

static inline gp_span gp_whole_blocks_at(const gp_whole_blocks *whole, uint32_t place)
{
    return (gp_span){.base = whole->bases[place],
                     .bytes = (size_t)whole->units[place] << GP_PAGE_SHIFT};
}

/* Put a block in; there is room. */
void gp_whole_blocks_put(gp_whole_blocks *whole, gp_span block, uint64_t give);

/* Is there a block that meets the request, whenever it was freed? */
bool gp_whole_blocks_have(const gp_whole_blocks *whole, const gp_fit *fit);

/* Take the block freed last of those that meet the request and were freed no later than
 * give number `limit`. False if there is none. */
bool gp_whole_blocks_take(gp_whole_blocks *whole, const gp_fit *fit, uint64_t limit,
                          gp_span *block);

/* The caller has taken so many of the oldest. */
void gp_whole_blocks_drop(gp_whole_blocks *whole, uint32_t count);

/* All of it counts as freed by give number `give`. */
void gp_whole_blocks_renew(gp_whole_blocks *whole, uint64_t give);

#endif
