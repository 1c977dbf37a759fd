/*
 * What debug aids write to a block and around it, as work of the stream that it is handed out or
 * freed on (gp_pool_config.poison and guard_bytes).
 */
#ifndef GP_SRC_PAINT_H
#define GP_SRC_PAINT_H

#include "backend.h"
#include "direct_table.h"

/* In every guard byte. */
#define GP_PAINT_GUARD 0xfd

/* A block is about to be handed out. On failure some of it may be painted. */
gp_status gp_paint_fresh(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream);

/* A block was freed, and all uses of it are ordered before what comes next on the stream. It knows
 * afterwards whether it is poisoned. */
void gp_paint_freed(gp_pool *pool, gp_direct_block *block, cudaStream_t stream);

#endif
