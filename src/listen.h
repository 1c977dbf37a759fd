/*
 * Who hears of each block's life: the hazard checker of the simulated device, and trace sinks at
 * GP_TRACE_ALL. Called where gp_thread_cache.heard is set, which is the one branch that the hit
 * pays for all of them.
 *
 * A free is told while the caller still has the block, inside its thread cache if it is a hit, so
 * that what others do with the block comes after it.
 */
#ifndef GP_SRC_LISTEN_H
#define GP_SRC_LISTEN_H

#include "gp/trace.h"
#include "thread_cache.h"

/* Under the registry's lock: tell all thread caches of a pool whether they are heard. */
void gp_listen_settle_locked(gp_pool *pool);

/* Is a thread cache of the pool to be heard? Under the registry's lock. */
bool gp_listen_is_wanted(const gp_pool *pool);

/* A block goes to a caller. */
void gp_listen_alloc(const gp_thread_cache *cache, const gp_trace_block *block);

/* A block is about to be free, told as gone to `tier`; GP_TIER_NONE: sinks were told before. */
void gp_listen_free(const gp_thread_cache *cache, uintptr_t base, size_t bytes, cudaStream_t stream,
                    gp_tier tier);

/* A block was freed inside a capture, and is not free before that ends. */
void gp_listen_parked(gp_pool *pool, uintptr_t base, size_t bytes, cudaStream_t stream);

/* A use of a block was recorded. */
void gp_listen_use(const gp_thread_cache *cache, uintptr_t base, size_t bytes, cudaStream_t stream);

#endif
