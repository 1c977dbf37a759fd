/* From a pointer to the block it names, and what is wrong with it if it does not. */
#ifndef GP_SRC_BLOCK_H
#define GP_SRC_BLOCK_H

#include "gp/status.h"
#include "page.h"
#include "segment.h"

typedef struct gp_block {
    gp_pool *pool;
    gp_slot slot;
    uint32_t value; /* Of the record. */
    size_t bytes;
} gp_block;

/* The live block that starts at `ptr`. GP_ERR_NOT_OWNED, GP_ERR_INTERIOR_POINTER,
 * GP_ERR_DOUBLE_FREE, with a text that says what was found. */
gp_status gp_block_at(const void *ptr, gp_block *block);

/* The live block that contains `ptr`. GP_ERR_NOT_OWNED, GP_ERR_DOUBLE_FREE. */
gp_status gp_block_containing(const void *ptr, gp_block *block);

/* The next block of a segment at or above *address that is live, cached, parked
 * or pinned; *address moves past it. False at the end. */
bool gp_block_next(const gp_segment *segment, uintptr_t *address, gp_block *block);

static inline uint32_t gp_block_state(const gp_block *block)
{
    return block->value & GP_RECORD_STATE_MASK;
}

#endif
