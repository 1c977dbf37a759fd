/* One allocation through the tiers, once the hit failed: L1, L2, others, L3. */
#ifndef GP_SRC_TIERS_H
#define GP_SRC_TIERS_H

#include "block.h"
#include "thread.h"

/* Slow calls after which a thread settles anyway. */
#define GP_SETTLE_EVERY 256u

/* A block that no other stream uses comes back, on the cache's own stream: what its record was
 * is forgotten. Never fails, and asks nobody. */
void gp_tiers_free_block(gp_thread_cache *cache, const gp_block *block, cudaStream_t stream);

/* The same as far as the caller sees it: it is no longer live, and a listener knows. */
void gp_tiers_count_free(gp_thread_cache *cache, const gp_block *block, cudaStream_t stream);

/* The part of gp_tiers_settle() for when something is due. */
void gp_tiers_settle_due(gp_thread_cache *cache, cudaStream_t stream);

/* Serve a request for the stream `stream`, which is live, eager, and the target's. The
 * record of the block at *base reads GP_STATE_LIVE. Statuses as gp_alloc_async(). */
gp_status gp_tiers_alloc_small(const gp_target *target, cudaStream_t stream,
                               const gp_request *request, uintptr_t *base);
gp_status gp_tiers_alloc_large(gp_thread_cache *cache, cudaStream_t stream,
                               const gp_request *request, uintptr_t *base);

/* What a slow call owes the others: guests go home, idle memory gets a fence or goes to
 * the commons, the thread's cold blocks go to L2, its counters to the pool. */
static inline void gp_tiers_settle(gp_thread_cache *cache, cudaStream_t stream)
{
    cache->slow_calls++;
    if (GP_UNLIKELY(cache->slow_calls % GP_SETTLE_EVERY == 0 ||
                    gp_stream_cache_owes(cache->stream)))
        gp_tiers_settle_due(cache, stream);
}

#endif
