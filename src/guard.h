/*
 * Guard bytes (gp_pool_config.guard_bytes): a pattern on both sides of each block, which nobody has
 * a reason to write to. It is looked at when the block is freed, and by gp_pool_check().
 *
 *     native   |slack|GGGG|.......bytes.......|GGGG|
 *                         base
 */
#ifndef GP_SRC_GUARD_H
#define GP_SRC_GUARD_H

#include "direct_table.h"

/* The block is about to go back to the native pool on the stream, behind all its uses. */
void gp_guard_end(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream);

/* Look at all live blocks whose pattern is there, and let their frees wait for that. */
void gp_guard_check_live(gp_pool *pool);

#endif
