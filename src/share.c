#include "share.h"

#include "pool.h"

/* How much a stream's heap takes in before the device is asked again whether it may
 * leave: memory apart from the rest is placed worse, and a question costs 300 ns. */
#define SETTLE_BYTES ((uint64_t)8 << 20)

/* How far a stream has come, as far as can be told now. A stream that is busy leaves a
 * fence for the next time. */
static uint64_t completed_gives(gp_stream_cache *cache, bool known, cudaStream_t stream)
{
    if (!gp_stream_cache_is_idle(cache, known, stream))
        gp_fence_release(&cache->pool->fences, gp_stream_cache_fence(cache, known, stream));
    return gp_stream_cache_progress(cache);
}

bool gp_share_reclaim(gp_stream_cache *cache, bool known, cudaStream_t stream)
{
    bool moved = false;
    if (gp_counter_get(&cache->transit_bytes) > 0)
        moved = gp_stream_cache_collect(cache);
    if (gp_stream_cache_kept_bytes(cache) == 0 && gp_counter_get(&cache->free_chunks) == 0)
        return moved;

    return gp_stream_cache_evict(cache, completed_gives(cache, known, stream)) || moved;
}

void gp_share_settle_if_due(gp_stream_cache *cache, cudaStream_t stream)
{
    uint64_t pending = gp_counter_get(&cache->settle_above);
    if (gp_counter_get(&cache->large.bytes) <= pending + SETTLE_BYTES)
        return;
    (void)gp_share_reclaim(cache, true, stream);
    gp_counter_set(&cache->settle_above, gp_counter_get(&cache->large.bytes));
}

bool gp_share_reclaim_others(gp_pool *pool, const gp_stream_cache *except, const gp_fit *fit,
                             gp_span *span)
{
    gp_stream_cache *cache = gp_pool_first_stream(pool);
    for (; cache != NULL; cache = cache->next) {
        if (cache != except && gp_share_reclaim(cache, false, NULL) &&
            gp_commons_take(fit->chunk ? &pool->chunks : &pool->large, fit->bytes, fit->alignment,
                            span))
            return true;
    }
    return false;
}

/* What the donor keeps for itself, behind a fence recorded now. */
static bool borrow_kept(gp_stream_cache *donor, cudaStream_t stream, const gp_fit *fit,
                        gp_span *span)
{
    gp_fence_store *fences = &donor->pool->fences;
    if (gp_stream_cache_kept_bytes(donor) < fit->bytes)
        return false;
    gp_fence *fence = gp_stream_cache_fence(donor, false, NULL);
    if (fence == NULL)
        return false;

    bool found = gp_stream_cache_take_kept(donor, fit, fence->covers, span);
    /* The wait is behind the block's last use, and the fences that the borrower will
     * record are behind the wait. */
    bool ordered = found && gp_fence_wait(fences, fence, stream) == GP_OK;
    if (found && !ordered)
        gp_stream_cache_put_back(donor, fit, *span);
    gp_fence_release(fences, fence);
    return ordered;
}

/* A block that waits behind fences already. */
static bool borrow_pending(gp_stream_cache *donor, cudaStream_t stream, const gp_fit *fit,
                           gp_span *span)
{
    return gp_counter_get(&donor->pending_bytes) >= fit->bytes &&
           gp_stream_cache_take_pending(donor, fit, stream, span);
}

bool gp_share_borrow(gp_stream_cache *borrower, cudaStream_t stream, const gp_fit *fit,
                     gp_span *span)
{
    gp_stream_cache *donor = gp_pool_first_stream(borrower->pool);
    for (; donor != NULL; donor = donor->next) {
        if (borrow_pending(donor, stream, fit, span) ||
            (donor != borrower && borrow_kept(donor, stream, fit, span))) {
            (void)gp_counter_add_shared(&donor->pool->shared_waits, 1);
            return true;
        }
    }
    return false;
}
