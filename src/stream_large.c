/*
 * The stream cache's large blocks: kept whole at first, then, if the device is not past
 * them, joined in the stream heap.
 */
#include "address_table.h"
#include "pool.h"
#include "stream_cache_internal.h"

/* ---- in ------------------------------------------------------------------------- */

static void join_locked(gp_stream_cache *cache, gp_span block, uint64_t give)
{
    /* What was taken out meanwhile is no longer what the device was asked about. */
    const uint64_t before = gp_counter_get(&cache->large.bytes);
    if (before < gp_counter_get(&cache->settled_bytes))
        gp_counter_set(&cache->settled_bytes, before);
    gp_stream_heap_give(&cache->large, gp_address_table_held(block.base), block.bytes, give);
}

void gp_stream_cache_join_oldest_locked(gp_stream_cache *cache, uint32_t count)
{
    gp_whole_blocks *whole = &cache->whole;
    for (uint32_t i = 0; i < count; i++)
        join_locked(cache, gp_whole_blocks_at(whole, i), whole->gives[i]);
    gp_whole_blocks_drop(whole, count);
}

static void keep_locked(gp_stream_cache *cache, gp_span block)
{
    const uint64_t give = gp_stream_cache_next_give_locked(cache);
    gp_counter_add(&cache->uncovered_bytes, block.bytes);
    if (!gp_whole_blocks_accept(&cache->whole, block.bytes)) {
        join_locked(cache, block, give);
        return;
    }
    if (GP_UNLIKELY(gp_whole_blocks_are_full(&cache->whole)))
        gp_stream_cache_join_oldest_locked(cache, gp_whole_blocks_surplus(&cache->whole));
    gp_whole_blocks_put(&cache->whole, block, give);
}

void gp_stream_cache_give_large(gp_stream_cache *cache, gp_span block)
{
    gp_stream_cache_lock(cache);
    keep_locked(cache, block);
    gp_stream_cache_unlock(cache);
}

static gp_stream_heap *heap_for(gp_stream_cache *cache, const gp_fit *fit)
{
    return fit->chunk ? &cache->spare : &cache->large;
}

static void put_back_locked(gp_stream_cache *cache, const gp_fit *fit, gp_span span)
{
    gp_counter_add(&cache->uncovered_bytes, span.bytes);
    gp_stream_heap_give(heap_for(cache, fit), gp_address_table_held(span.base), span.bytes,
                        gp_stream_cache_next_give_locked(cache));
}

void gp_stream_cache_put_back(gp_stream_cache *cache, const gp_fit *fit, gp_span span)
{
    gp_stream_cache_lock(cache);
    put_back_locked(cache, fit, span);
    gp_stream_cache_unlock(cache);
}

void gp_stream_cache_cut(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    gp_stream_cache_lock(cache);
    put_back_locked(cache, fit, *span);
    bool found = gp_stream_heap_take(heap_for(cache, fit), fit, UINT64_MAX, span);
    GP_ASSERT(found);
    (void)found;
    gp_stream_cache_unlock(cache);
}

/* ---- out ------------------------------------------------------------------------- */

static bool take_whole_locked(gp_stream_cache *cache, const gp_fit *fit, uint64_t limit,
                              gp_span *span)
{
    return !fit->chunk && gp_whole_blocks_take(&cache->whole, fit, limit, span);
}

bool gp_stream_cache_has_kept(gp_stream_cache *cache, const gp_fit *fit)
{
    if (gp_stream_cache_kept_bytes(cache) < fit->bytes)
        return false;
    gp_stream_cache_lock(cache);
    bool found = (!fit->chunk && gp_whole_blocks_have(&cache->whole, fit)) ||
                 gp_stream_heap_largest(heap_for(cache, fit)) >= fit->bytes;
    gp_stream_cache_unlock(cache);
    return found;
}

bool gp_stream_cache_take_kept(gp_stream_cache *cache, const gp_fit *fit, uint64_t limit,
                               gp_span *span)
{
    gp_stream_cache_lock(cache);
    bool found = take_whole_locked(cache, fit, limit, span) ||
                 gp_stream_heap_take(heap_for(cache, fit), fit, limit, span);
    gp_stream_cache_unlock(cache);
    return found;
}

static bool take_exact_locked(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    return take_whole_locked(cache, fit, UINT64_MAX, span) ||
           gp_stream_heap_take_exact(heap_for(cache, fit), fit, span);
}

bool gp_stream_cache_take_exact(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    gp_stream_cache_lock(cache);
    bool found = take_exact_locked(cache, fit, span);
    gp_stream_cache_unlock(cache);
    return found;
}

bool gp_stream_cache_take_own(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    gp_stream_cache_lock(cache);
    bool found = take_exact_locked(cache, fit, span) ||
                 gp_stream_cache_take_waiting_locked(cache, fit, span);
    gp_stream_cache_unlock(cache);
    return found;
}

bool gp_stream_cache_join_own(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    if (gp_stream_cache_kept_bytes(cache) < fit->bytes)
        return false;
    gp_stream_cache_lock(cache);
    if (!fit->chunk)
        gp_stream_cache_join_oldest_locked(cache, gp_whole_blocks_count(&cache->whole));
    bool found = gp_stream_heap_take(heap_for(cache, fit), fit, UINT64_MAX, span);
    gp_stream_cache_unlock(cache);
    return found;
}
