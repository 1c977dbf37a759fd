#include "release.h"

#include <stdlib.h>

#include "address_table.h"
#include "block.h"
#include "pool.h"
#include "share.h"

/* ---- loans ------------------------------------------------------------------ */

static void return_loans_of(gp_stream_cache *cache, gp_release_caller caller)
{
    gp_fence *fence = gp_stream_cache_fence(cache, cache == caller.cache, caller.stream);
    if (fence == NULL)
        return;

    gp_segment *loan;
    while ((loan = gp_stream_cache_remove_segment(cache, GP_SEGMENT_LOAN, 0, SIZE_MAX,
                                                  fence->covers)) != NULL)
        gp_share_return_loan(cache, loan, fence);
    gp_fence_release(&cache->pool->fences, fence);
}

static void return_loans(gp_pool *pool, gp_release_caller caller)
{
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        if (gp_counter_get(&cache->transit_bytes) > 0)
            (void)gp_stream_cache_collect(cache);
        if (gp_counter_get(&cache->loans) > 0 && gp_counter_get(&cache->free_bytes) > 0)
            return_loans_of(cache, caller);
    }
}

/* ---- native segments ----------------------------------------------------------- */

/* How memory of one cache can go back: in the order of its stream, or at once up
 * to the give number that the device is known to be past. */
typedef struct release_terms {
    cudaStream_t stream;
    uint64_t limit;
    bool pinned;
} release_terms;

static bool agree_terms(gp_stream_cache *cache, gp_release_caller caller, release_terms *terms)
{
    *terms = (release_terms){.stream = caller.stream, .limit = UINT64_MAX, .pinned = false};
    if (cache == caller.cache)
        return true;
    if (!caller.completed_only && gp_stream_cache_pin(cache, &terms->stream)) {
        terms->pinned = true;
        return true;
    }
    gp_fence_release(&cache->pool->fences, gp_stream_cache_fence(cache, false, NULL));
    terms->limit = gp_stream_cache_progress(cache);
    return gp_global_tier_reclaim_stream(&cache->pool->global, &terms->stream) == GP_OK;
}

static bool give_back(gp_pool *pool, gp_stream_cache *cache, gp_segment *segment,
                      cudaStream_t stream)
{
    gp_page_store_retire(&pool->pages, segment->span.base, segment->span.bytes);
    if (gp_global_tier_give_segment(&pool->global, segment, stream) == GP_OK)
        return true;
    (void)gp_stream_cache_add_segment(cache, segment, GP_ORDERED_HERE);
    return false;
}

static void release_from(gp_stream_cache *cache, gp_release_caller caller, uint64_t target)
{
    gp_pool *pool = cache->pool;
    release_terms terms;
    if (!agree_terms(cache, caller, &terms))
        return;

    while (gp_counter_get(&pool->global.reserved) > target) {
        gp_segment *segment =
            gp_stream_cache_remove_segment(cache, GP_SEGMENT_NATIVE, 0, SIZE_MAX, terms.limit);
        if (segment == NULL || !give_back(pool, cache, segment, terms.stream))
            break;
    }
    if (terms.pinned)
        gp_stream_cache_unpin(cache);
}

void gp_release_down_to(gp_pool *pool, gp_release_caller caller, uint64_t target)
{
    if (gp_counter_get(&pool->global.reserved) <= target)
        return;

    return_loans(pool, caller);
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        if (gp_counter_get(&cache->free_bytes) > 0)
            release_from(cache, caller, target);
    }
}

/* ---- everything ------------------------------------------------------------------ */

/* Does a cache hold blocks of its own that are live or on their way, or guests? No
 * fence that it left behind counts them. */
static bool has_unsettled(const gp_stream_cache *cache)
{
    bool unsettled = cache->guests != NULL;
    for (const gp_segment *segment = cache->segments; segment; segment = segment->next)
        unsettled = unsettled || segment->taken_bytes > 0;
    return unsettled;
}

/* Let `stream` wait for everything that was queued on the stream of one cache:
 * a new fence, since blocks may be live or freed there that no earlier one counts.
 * False if the handle cannot be used and something may lie past the last fence. */
static bool wait_for_cache(gp_stream_cache *cache, cudaStream_t stream)
{
    gp_fence_store *fences = &cache->pool->fences;
    gp_fence *fence = NULL;
    cudaStream_t handle;
    if (gp_stream_cache_pin(cache, &handle)) {
        (void)gp_fence_record(fences, handle, cache->stream_id, 0, &fence);
        gp_stream_cache_unpin(cache);
    } else if (!has_unsettled(cache)) {
        if (cache->gives == 0)
            return true;
        fence = gp_stream_cache_fence(cache, false, NULL);
    }
    bool ordered = fence != NULL && gp_fence_wait(fences, fence, stream) == GP_OK;
    gp_fence_release(fences, fence);
    return ordered;
}

static void settle_arrivals(gp_stream_cache *cache, cudaStream_t stream)
{
    while (gp_stream_cache_collect_waiting(cache, stream)) {
    }
}

/* The stream on which everything can be freed: ordered after all use. */
static bool order_everything(gp_pool *pool, cudaStream_t *stream)
{
    if (gp_global_tier_reclaim_stream(&pool->global, stream) != GP_OK)
        return false;

    bool ordered = true;
    gp_stream_cache *cache;
    for (cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next)
        settle_arrivals(cache, *stream);
    for (cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next)
        ordered = wait_for_cache(cache, *stream) && ordered;
    return ordered || pool->backend->ops->synchronize(pool->backend) == GP_OK;
}

/* A forced end takes live blocks too: whoever listens hears it before their memory
 * goes. */
static void end_blocks(const gp_backend_ops *ops, const gp_segment *segment, cudaStream_t stream)
{
    uintptr_t address = segment->span.base;
    gp_block block;
    while (gp_block_next(segment, &address, &block)) {
        if (gp_block_state(&block) != GP_STATE_CACHED)
            ops->note_free((void *)block.slot.base, stream);
    }
}

static void end_all_blocks(gp_pool *pool, cudaStream_t stream)
{
    if (pool->backend->ops->note_free == NULL)
        return;
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        for (const gp_segment *segment = cache->segments; segment; segment = segment->next)
            end_blocks(pool->backend->ops, segment, stream);
    }
}

static void drop_segments(gp_stream_cache *cache, bool give, cudaStream_t stream)
{
    gp_pool *pool = cache->pool;
    while (cache->segments != NULL) {
        gp_segment *segment = cache->segments;
        cache->segments = segment->next;
        if (gp_segment_is_loan(segment)) {
            free(segment); /* Its memory goes with the lender's. */
            continue;
        }
        gp_page_store_retire(&pool->pages, segment->span.base, segment->span.bytes);
        if (!give || gp_global_tier_give_segment(&pool->global, segment, stream) != GP_OK) {
            gp_address_table_assign(segment->span.base, segment->span.bytes, NULL);
            free(segment);
        }
    }
}

void gp_release_everything(gp_pool *pool)
{
    cudaStream_t stream = NULL;
    bool give = order_everything(pool, &stream);
    if (give)
        end_all_blocks(pool, stream);
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        drop_segments(cache, give, stream);
        gp_stream_cache_drop_batches(cache);
    }
}
