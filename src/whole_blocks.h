/*
 * The whole-block cache: large blocks that were freed on one stream, kept as they
 * are for its next requests of about their size. They are ordered on the stream,
 * so they need no fence there. The oldest leave, behind one fence for all of
 * them, for the commons, where they are joined and cut anew.
 *
 * Guarded by its stream cache's lock.
 */
#ifndef GP_SRC_WHOLE_BLOCKS_H
#define GP_SRC_WHOLE_BLOCKS_H

#include <stdbool.h>

#include "counter.h"
#include "page.h"

/* What is kept cannot be joined with its neighbours, so little is: with 32 blocks of
 * any size the pool grew to 1.6 times the live bytes of a BERT trace, with 8 MiB to
 * 1.4 times (docs/decisions/commons.md). */
#define GP_WHOLE_BLOCKS 16u
#define GP_WHOLE_BYTES ((uint64_t)8 << 20)

typedef struct gp_whole_block {
    uintptr_t base;
    size_t bytes;
    uint64_t give;  /* The stream's give count when it was freed. */
    bool was_chunk; /* Its memory is for chunks. */
} gp_whole_block;

typedef struct gp_whole_blocks {
    uint32_t count;
    gp_whole_block blocks[GP_WHOLE_BLOCKS]; /* Oldest first. */
    gp_counter bytes;                       /* Their sum; read by anybody. */
} gp_whole_blocks;

static inline bool gp_whole_blocks_is_full(const gp_whole_blocks *whole)
{
    return whole->count == GP_WHOLE_BLOCKS;
}

/* More is kept than should be. */
static inline bool gp_whole_blocks_is_over(const gp_whole_blocks *whole)
{
    return whole->count >= GP_WHOLE_BLOCKS || gp_counter_get(&whole->bytes) > GP_WHOLE_BYTES;
}

static inline bool gp_whole_blocks_is_half_full(const gp_whole_blocks *whole)
{
    return whole->count <= GP_WHOLE_BLOCKS / 2 &&
           gp_counter_get(&whole->bytes) <= GP_WHOLE_BYTES / 2;
}

/* Put a block in; there is room. */
void gp_whole_blocks_put(gp_whole_blocks *whole, gp_whole_block block);

/* What a request accepts. */
typedef struct gp_fit {
    size_t least; /* Bytes. */
    size_t most;
    size_t alignment;
    bool chunk; /* For a chunk; else for a large block. */
} gp_fit;

static inline bool gp_fit_accepts(const gp_fit *fit, uintptr_t base, size_t bytes, bool was_chunk)
{
    return was_chunk == fit->chunk && bytes >= fit->least && bytes <= fit->most &&
           (base & (fit->alignment - 1)) == 0;
}

/* Take the smallest block that fits and was freed no later than give number
 * `limit`, the one freed last among equals. False if there is none. */
bool gp_whole_blocks_take(gp_whole_blocks *whole, const gp_fit *fit, uint64_t limit,
                          gp_whole_block *block);

/* Take the block at a place. */
void gp_whole_blocks_remove_at(gp_whole_blocks *whole, uint32_t place, gp_whole_block *block);

/* Take the oldest block, if it was freed no later than give number `limit`. */
bool gp_whole_blocks_take_oldest(gp_whole_blocks *whole, uint64_t limit, gp_whole_block *block);

#endif
