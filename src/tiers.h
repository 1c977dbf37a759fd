/* One allocation through the tiers, once the hit failed: L1, L2, others, L3. */
#ifndef GP_SRC_TIERS_H
#define GP_SRC_TIERS_H

#include "thread.h"

/* Slow calls after which a thread settles anyway. */
#define GP_SETTLE_EVERY 256u

/* The part of gp_tiers_settle() for when something is due. */
void gp_tiers_settle_due(gp_thread_cache *cache, cudaStream_t stream);

/* Serve a request for the stream `stream`, which is live, eager, and the target's. The
 * record of the block at *base reads GP_STATE_LIVE; *tier is where it came from. Statuses as
 * gp_alloc_async(). */
gp_status gp_tiers_alloc_small(const gp_target *target, cudaStream_t stream,
                               const gp_request *request, uintptr_t *base, gp_tier *tier);
gp_status gp_tiers_alloc_large(gp_thread_cache *cache, cudaStream_t stream,
                               const gp_request *request, uintptr_t *base, gp_tier *tier);

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
