/*
 * How long the chunks are that streams cut small blocks from. A live block holds all of its chunk,
 * so the less room a pool has, the shorter they are:
 *
 *     no limit, or far from it     2 MiB, or twice the largest small block
 *     less room                    a sixteenth of a step of growth (limits.h)
 *     near the limit               128 KiB, or just the block that is asked for
 */
#ifndef GP_SRC_CHUNK_SIZE_H
#define GP_SRC_CHUNK_SIZE_H

#include "gp/pool.h"
#include "request.h"

/* What a stream takes at once where the pool has room. */
size_t gp_chunk_size(const gp_pool_config *config);

/* The least in which a request is certain to find room. */
size_t gp_chunk_size_least(const gp_pool *pool, const gp_request *request);

/* What a stream takes at once for a request now; it does with the least if there is no more. */
size_t gp_chunk_size_now(const gp_pool *pool, const gp_request *request);

#endif
