#include "release.h"

#include <stdlib.h>

#include "address_table.h"
#include "block.h"
#include "direct.h"
#include "pool.h"
#include "revocation.h"
#include "share.h"
#include "stats.h"

/* ---- wholly free segments ------------------------------------------------------ */

static void keep_for_later(gp_pool *pool, gp_segment *segment)
{
    gp_address_table_assign(segment->span.base, segment->span.bytes, NULL);
    gp_global_tier_keep_segment(&pool->global, segment);
}

void gp_release_unused(gp_pool *pool, gp_segment *segment, gp_span span, cudaStream_t own_stream)
{
    if (gp_address_table_segment(span.base) == segment)
        return;
    gp_page_store_retire(&pool->pages, span.base, span.bytes);
    if (gp_global_tier_give_segment(&pool->global, segment, own_stream) != GP_OK)
        keep_for_later(pool, segment);
}

static bool give_back(gp_pool *pool, gp_segment *segment)
{
    cudaStream_t stream;
    gp_span span = segment->span;
    if (gp_global_tier_own_stream(&pool->global, &stream) == GP_OK) {
        gp_page_store_retire(&pool->pages, span.base, span.bytes);
        if (gp_global_tier_give_segment(&pool->global, segment, stream) == GP_OK)
            return true;
    }
    if (gp_commons_add_taken_segment(segment->commons, segment) == GP_OK)
        gp_commons_give(span);
    else
        keep_for_later(pool, segment);
    return false;
}

gp_status gp_release_trim(gp_pool *pool, size_t min_bytes_to_keep)
{
    cudaStream_t stream;
    /* The driver trims only what it has seen freed. */
    if (gp_global_tier_own_stream(&pool->global, &stream) == GP_OK)
        (void)gp_global_tier_wait(&pool->global, stream);
    return gp_global_tier_trim(&pool->global, min_bytes_to_keep);
}

static bool release_down_to(gp_pool *pool, uint64_t target)
{
    bool released = gp_global_tier_give_kept(&pool->global);
    while (gp_counter_get(&pool->global.reserved) > target) {
        gp_segment *segment = gp_commons_remove_segment(&pool->large);
        if (segment == NULL)
            segment = gp_commons_remove_segment(&pool->chunks);
        if (segment == NULL)
            break;
        if (!give_back(pool, segment))
            break;
        released = true;
    }
    if (released)
        gp_global_tier_note_release(&pool->global);
    return released;
}

bool gp_release_down_to(gp_pool *pool, uint64_t target)
{
    if (gp_counter_get(&pool->global.reserved) <= target)
        return false;
    gp_trace_scope scope;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_RELEASE, target);
    const bool released = release_down_to(pool, target);
    gp_trace_end(&scope);
    return released;
}

bool gp_release_segment(gp_pool *pool, gp_segment *segment)
{
    if (!give_back(pool, segment))
        return false;
    gp_global_tier_note_release(&pool->global);
    return true;
}

size_t gp_release_largest(gp_pool *pool, uint64_t most_bytes, gp_commons **commons)
{
    *commons = gp_commons_largest_segment(&pool->chunks, most_bytes) >
                       gp_commons_largest_segment(&pool->large, most_bytes)
                   ? &pool->chunks
                   : &pool->large;
    gp_segment *segment = gp_commons_remove_largest(*commons, most_bytes);
    if (segment == NULL)
        return 0;
    const size_t bytes = segment->span.bytes;
    return gp_release_segment(pool, segment) ? bytes : 0;
}

/* ---- for others ------------------------------------------------------------------ */

bool gp_release_for_others(gp_pool *pool, size_t bytes)
{
    const uint64_t reserved = gp_counter_get(&pool->global.reserved);
    const uint64_t target = gp_global_tier_room_target(&pool->global, reserved, bytes);
    if (reserved <= target)
        return false;
    gp_revocation_flush_all(pool);
    gp_share_reclaim_all(pool);
    return gp_release_down_to(pool, target) && gp_release_trim(pool, 0) == GP_OK;
}

/* ---- everything ------------------------------------------------------------------ */

/* Does a cache hold blocks that are live or on their way, or guests? No fence that it
 * left behind counts them. */
static bool has_unsettled(const gp_stream_cache *cache)
{
    bool unsettled = cache->guests != NULL;
    for (const gp_segment *chunk = cache->chunks.first; chunk; chunk = chunk->next)
        unsettled = unsettled || chunk->taken_bytes > 0;
    return unsettled;
}

/* Let `stream` wait for everything that was queued on the stream of one cache:
 * a new fence, since blocks may be live or freed there that no earlier one counts.
 * False if the handle cannot be used and something may lie past the last fence: `outstanding`
 * blocks may be in use on any stream. */
static bool wait_for_cache(gp_stream_cache *cache, bool outstanding, cudaStream_t stream)
{
    gp_fence_store *fences = &cache->pool->fences;
    gp_fence *fence = NULL;
    cudaStream_t handle;
    if (gp_stream_cache_pin(cache, &handle)) {
        (void)gp_fence_record(fences, handle, cache->stream_id, 0, &fence);
        gp_stream_cache_unpin(cache);
    } else if (!outstanding && !has_unsettled(cache)) {
        if (gp_counter_get(&cache->gives) == 0)
            return true;
        fence = gp_stream_cache_fence(cache, false, NULL);
    }
    bool ordered = fence != NULL && gp_fence_wait(fences, fence, stream) == GP_OK;
    gp_fence_release(fences, fence);
    return ordered;
}

/* The stream on which everything can be freed: ordered after all use. */
static bool order_everything(gp_pool *pool, cudaStream_t *stream)
{
    if (gp_global_tier_own_stream(&pool->global, stream) != GP_OK)
        return false;

    /* Graphs are replayed on streams that the pool need not know. */
    bool ordered = gp_counter_get(&pool->arenas.bytes) == 0;
    /* Live, or freed inside a capture and not given back yet; or in use on any stream, and not
     * taken back by the driver. */
    const bool outstanding =
        gp_stats_live_bytes(pool) + gp_counter_get(&pool->captured.parked_bytes) > 0 ||
        gp_direct_table_sum(&pool->direct).native > 0;
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        ordered = gp_stream_cache_order_after_arrivals(cache, *stream) && ordered;
        ordered = wait_for_cache(cache, outstanding, *stream) && ordered;
    }
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

static void end_blocks_of(const gp_backend_ops *ops, const gp_segment_list *segments,
                          cudaStream_t stream)
{
    for (const gp_segment *segment = segments->first; segment; segment = segment->next)
        end_blocks(ops, segment, stream);
}

static void end_all_blocks(gp_pool *pool, cudaStream_t stream)
{
    const gp_backend_ops *listener = gp_pool_listener(pool);
    if (listener == NULL)
        return;
    end_blocks_of(listener, &pool->large.segments, stream);
    end_blocks_of(listener, &pool->chunks.segments, stream);
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        end_blocks_of(listener, &cache->chunks, stream);
    }
}

static void drop_segment(gp_pool *pool, gp_segment *segment, bool give, cudaStream_t stream)
{
    if (give && gp_global_tier_give_segment(&pool->global, segment, stream) == GP_OK)
        return;
    if (give) {
        keep_for_later(pool, segment);
        return;
    }
    gp_address_table_assign(segment->span.base, segment->span.bytes, NULL);
    free(segment);
}

static void drop_segments(gp_pool *pool, gp_segment_list *segments, bool give, cudaStream_t stream)
{
    while (segments->first != NULL) {
        gp_segment *segment = segments->first;
        gp_segment_unlink(segments, segment);
        gp_page_store_retire(&pool->pages, segment->span.base, segment->span.bytes);
        drop_segment(pool, segment, give, stream);
    }
}

void gp_release_everything(gp_pool *pool)
{
    cudaStream_t stream = NULL;
    bool give = order_everything(pool, &stream);
    if (give) {
        gp_direct_release_all(pool, stream);
        end_all_blocks(pool, stream);
    }
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next)
        gp_stream_cache_drop_all(cache);
    drop_segments(pool, &pool->large.segments, give, stream);
    drop_segments(pool, &pool->chunks.segments, give, stream);
}
