#include "share.h"

#include "pool.h"

/* And at least this share of what the pool holds. */
#define SETTLE_SHARE 64

/* Questions that a stream that was found busy is spared. */
#define BUSY_QUESTIONS 8

/* How far a stream has come, as far as can be told now. */
static uint64_t completed_gives(gp_stream_cache *cache, bool known, cudaStream_t stream)
{
    uint64_t gives;
    if (gp_stream_cache_is_idle(cache, known, stream, &gives))
        return gives;
    /* So that the next one who asks learns more. */
    gp_fence_release(&cache->pool->fences, gp_stream_cache_fence(cache, known, stream));
    return gp_stream_cache_progress(cache);
}

/* The same for the stream itself, without a fence for others. */
static uint64_t ask_own(gp_stream_cache *cache, cudaStream_t stream)
{
    uint64_t gives;
    const bool idle = gp_stream_cache_is_idle(cache, true, stream, &gives);
    gp_counter_set(&cache->busy_for, idle ? 0 : BUSY_QUESTIONS);
    return idle ? gives : gp_stream_cache_progress(cache);
}

/* The same for each of its misses: one that was found busy counts as busy for a while. */
static uint64_t own_completed_gives(gp_stream_cache *cache, cudaStream_t stream)
{
    const uint64_t busy_for = gp_counter_get(&cache->busy_for);
    if (busy_for == 0)
        return ask_own(cache, stream);
    gp_counter_set(&cache->busy_for, busy_for - 1);
    return 0;
}

/* Is every other stream yet to come? Then what leaves this one needs no question. It is attached,
 * so that others can ask how far it has come once they are there. */
static bool is_alone(const gp_stream_cache *cache)
{
    return cache->next == NULL && gp_pool_first_stream(cache->pool) == cache &&
           atomic_load_explicit(&cache->attached, memory_order_relaxed) &&
           !cache->pool->config.visible_order;
}

static bool has_evictable(const gp_stream_cache *cache)
{
    return gp_stream_cache_kept_bytes(cache) > 0 || gp_counter_get(&cache->free_chunks) > 0;
}

/* Do others wait for how far it has come? */
static bool is_user(const gp_stream_cache *cache)
{
    return gp_commons_is_used_by(&cache->pool->large, cache) ||
           gp_commons_is_used_by(&cache->pool->chunks, cache);
}

/* While they have another user, a stream would leave its memory to that one alone. */
static bool may_leave(const gp_stream_cache *cache)
{
    return gp_commons_is_open_to(&cache->pool->large, cache) &&
           gp_commons_is_open_to(&cache->pool->chunks, cache);
}

static bool collect(gp_stream_cache *cache)
{
    return gp_counter_get(&cache->transit_bytes) > 0 && gp_stream_cache_collect(cache);
}

/* Is it worth a question how far the stream has come? */
static bool may_reclaim(const gp_stream_cache *cache)
{
    return (has_evictable(cache) || is_user(cache)) && may_leave(cache);
}

static bool evict(gp_stream_cache *cache, uint64_t gives)
{
    return gp_stream_cache_evict(cache, gives, GP_ORDERED_EVERYWHERE);
}

bool gp_share_reclaim(gp_stream_cache *cache, bool known, cudaStream_t stream)
{
    bool moved = collect(cache);
    return (may_reclaim(cache) && evict(cache, completed_gives(cache, known, stream))) || moved;
}

/* The same at little cost, of a stream that others need now: it may have come further. */
static bool reclaim_at_once(gp_stream_cache *cache)
{
    bool moved = collect(cache);
    return (may_reclaim(cache) && evict(cache, gp_stream_cache_ask(cache))) || moved;
}

bool gp_share_leave(gp_stream_cache *cache, cudaStream_t stream)
{
    bool moved = collect(cache);
    if (!has_evictable(cache) || !may_leave(cache))
        return moved;
    if (is_alone(cache))
        return gp_stream_cache_evict(cache, UINT64_MAX, GP_ORDERED_HERE) || moved;
    const uint64_t gives = own_completed_gives(cache, stream);
    return (gives > 0 && evict(cache, gives)) || moved;
}

/* Blocks that were freed away from home keep the chunks there from being free. Of streams
 * whose handle can be used: others send theirs home when they are next called for. */
static void send_all_guests(gp_pool *pool)
{
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        cudaStream_t stream;
        if (gp_counter_get(&cache->guest_bytes) == 0 || !gp_stream_cache_pin(cache, &stream))
            continue;
        gp_stream_cache_send_guests(cache, stream);
        gp_stream_cache_unpin(cache);
    }
}

void gp_share_reclaim_all(gp_pool *pool)
{
    send_all_guests(pool);
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next)
        (void)gp_share_reclaim(cache, false, NULL);
}

/* What a stream may add to its heap before it asks again. */
static uint64_t settle_bytes(const gp_pool *pool)
{
    uint64_t share = gp_counter_get(&pool->global.reserved) / SETTLE_SHARE;
    return share > GP_SETTLE_BYTES ? share : GP_SETTLE_BYTES;
}

static bool is_settle_due(const gp_stream_cache *cache)
{
    return gp_whole_blocks_are_many(&cache->whole) ||
           gp_counter_get(&cache->large.bytes) >
               gp_counter_get(&cache->settled_bytes) + settle_bytes(cache->pool);
}

void gp_share_settle_if_due(gp_stream_cache *cache, cudaStream_t stream)
{
    if (!is_settle_due(cache))
        return;
    if (is_alone(cache))
        gp_stream_cache_settle(cache, UINT64_MAX, GP_ORDERED_HERE);
    else
        gp_stream_cache_settle(cache, may_leave(cache) ? ask_own(cache, stream) : 0,
                               GP_ORDERED_EVERYWHERE);
}

/* What a stream has that may help: it costs a question to the device to get it. */
static uint64_t worth_of(gp_stream_cache *cache, const gp_fit *fit)
{
    const gp_commons *commons = gp_pool_commons(cache->pool, fit->chunk);
    uint64_t left =
        gp_commons_is_used_by(commons, cache) ? gp_counter_get(&commons->free_bytes) : 0;
    if (!fit->chunk)
        return left + gp_counter_get(&cache->whole.bytes) + gp_counter_get(&cache->large.bytes);
    return left + gp_counter_get(&cache->spare.bytes) +
           gp_counter_get(&cache->free_chunks) * fit->bytes;
}

static gp_commons_request request_for(const gp_stream_cache *taker, const gp_fit *fit)
{
    return (gp_commons_request){.taker = taker, .bytes = fit->bytes, .alignment = fit->alignment};
}

static bool reclaim_and_take(gp_stream_cache *cache, const gp_stream_cache *taker,
                             const gp_fit *fit, gp_span *span)
{
    const gp_commons_request request = request_for(taker, fit);
    return reclaim_at_once(cache) &&
           gp_commons_take(gp_pool_commons(cache->pool, fit->chunk), &request, span);
}

/* The stream after this one, round and round: who asks begins with another one each. */
static gp_stream_cache *next_of(const gp_stream_cache *cache)
{
    return cache->next != NULL ? cache->next : gp_pool_first_stream(cache->pool);
}

bool gp_share_reclaim_others(gp_stream_cache *taker, const gp_fit *fit, gp_span *span)
{
    /* Streams that have enough by themselves, then those whose memory may fill a gap. */
    for (gp_stream_cache *cache = next_of(taker); cache != taker; cache = next_of(cache)) {
        if (worth_of(cache, fit) >= fit->bytes && reclaim_and_take(cache, taker, fit, span))
            return true;
    }
    for (gp_stream_cache *cache = next_of(taker); cache != taker; cache = next_of(cache)) {
        const uint64_t worth = worth_of(cache, fit);
        if (worth < fit->bytes && worth + gp_counter_get(&cache->transit_bytes) > 0 &&
            reclaim_and_take(cache, taker, fit, span))
            return true;
    }
    return false;
}

/* What the donor keeps for itself, behind a fence recorded now. */
static bool borrow_kept(gp_stream_cache *donor, cudaStream_t stream, const gp_fit *fit,
                        gp_span *span)
{
    gp_fence_store *fences = &donor->pool->fences;
    if (!gp_stream_cache_has_kept(donor, fit))
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

/* What the donor left in the commons, for itself only. */
static bool borrow_left(gp_stream_cache *donor, const gp_stream_cache *borrower,
                        cudaStream_t stream, const gp_fit *fit, gp_span *span)
{
    gp_commons *commons = gp_pool_commons(donor->pool, fit->chunk);
    gp_fence_store *fences = &donor->pool->fences;
    if (!gp_commons_is_used_by(commons, donor) || gp_counter_get(&commons->free_bytes) < fit->bytes)
        return false;
    gp_fence *fence = gp_stream_cache_fence(donor, false, NULL);
    if (fence == NULL)
        return false;

    const gp_commons_request request = request_for(borrower, fit);
    bool found = gp_commons_take_behind(commons, &request, donor, fence->covers, span);
    bool ordered = found && gp_fence_wait(fences, fence, stream) == GP_OK;
    if (found && !ordered)
        gp_commons_give(*span);
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
            (donor != borrower && (borrow_kept(donor, stream, fit, span) ||
                                   borrow_left(donor, borrower, stream, fit, span)))) {
            (void)gp_counter_add_shared(&donor->pool->shared_waits, 1);
            return true;
        }
    }
    return false;
}

/* ---- what is to come ---------------------------------------------------------------- */

bool gp_share_has_user(const gp_pool *pool)
{
    return !gp_commons_is_used_by(&pool->large, NULL) ||
           !gp_commons_is_used_by(&pool->chunks, NULL);
}

bool gp_share_is_pending(gp_pool *pool)
{
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache; cache = cache->next) {
        if (gp_counter_get(&cache->pending_bytes) > 0 || gp_stream_cache_kept_bytes(cache) > 0)
            return true;
    }
    return gp_share_has_user(pool);
}
