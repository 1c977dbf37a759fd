/*
 * The whole-block cache: the large blocks that were freed last on one stream, kept
 * as they are for its next requests of their size. The older ones leave for
 * the stream heap, where they are joined.
 *
 * Guarded by its stream cache's lock.
 */
#ifndef GP_SRC_WHOLE_BLOCKS_H
#define GP_SRC_WHOLE_BLOCKS_H

#include <stdbool.h>

#include "counter.h"
#include "fit.h"
#include "page.h"

/* What is kept cannot be joined with its neighbours, so little is. */
#define GP_WHOLE_BLOCKS 16u
#define GP_WHOLE_BYTES ((uint64_t)8 << 20)

typedef struct gp_whole_block {
    gp_page *page; /* Where it starts. */
    size_t bytes;
    uint64_t give; /* The stream's give count when it was freed. */
} gp_whole_block;

typedef struct gp_whole_blocks {
    uint32_t count;
    gp_whole_block blocks[GP_WHOLE_BLOCKS]; /* Oldest first. */
    gp_counter bytes;                       /* Their sum; read by anybody. */
} gp_whole_blocks;

/* One that alone would drive out most others is not kept. */
static inline bool gp_whole_blocks_accept(size_t bytes)
{
    return bytes <= GP_WHOLE_BYTES / 2;
}

/* Is there room for a block of so many bytes? */
static inline bool gp_whole_blocks_have_room(const gp_whole_blocks *whole, size_t bytes)
{
    return whole->count < GP_WHOLE_BLOCKS &&
           gp_counter_get(&whole->bytes) + bytes <= GP_WHOLE_BYTES;
}

/* Put a block in; there is room. */
void gp_whole_blocks_put(gp_whole_blocks *whole, gp_whole_block block);

/* Take the block freed last of those that meet the request and were freed no later than
 * give number `limit`. False if there is none. */
bool gp_whole_blocks_take(gp_whole_blocks *whole, const gp_fit *fit, uint64_t limit,
                          gp_whole_block *block);

/* Take the oldest block, if it was freed no later than give number `limit`. */
bool gp_whole_blocks_take_oldest(gp_whole_blocks *whole, uint64_t limit, gp_whole_block *block);

#endif
