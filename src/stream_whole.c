/*
 * The stream cache's large blocks: kept whole while the stream may want them
 * again, then on their way to the commons.
 */
#include "address_table.h"
#include "pool.h"
#include "stream_cache_internal.h"

/* Departures for which a stream counts as busy once it was found so. */
#define BUSY_PERIOD 8

/* ---- spans as blocks ---------------------------------------------------------- */

/* The record of a span that is, or was, a large block; NULL without host memory. */
static gp_record *record_of(gp_pool *pool, gp_span span)
{
    gp_page *page = gp_page_store_at(&pool->pages, span.base);
    if (page == NULL)
        return NULL;
    atomic_store_explicit(&page->large, span.bytes, memory_order_relaxed);
    return gp_page_record(page, span.base);
}

static bool is_for_chunks(const gp_pool *pool, uintptr_t base)
{
    return gp_address_table_segment(base)->commons == &pool->chunks;
}

static void set_state(gp_pool *pool, gp_span span, uint32_t state)
{
    gp_record *record = record_of(pool, span);
    if (record != NULL)
        gp_record_set(record, GP_CLASS_LARGE | state);
}

static void give_to_commons(gp_pool *pool, gp_span span)
{
    set_state(pool, span, GP_STATE_FREED);
    gp_commons_give(span);
}

/* ---- in ------------------------------------------------------------------------- */

void gp_stream_cache_keep_whole_locked(gp_stream_cache *cache, gp_span span)
{
    set_state(cache->pool, span, GP_STATE_CACHED);
    const gp_whole_block block = {
        .base = span.base,
        .bytes = span.bytes,
        .give = ++cache->gives,
        .was_chunk = is_for_chunks(cache->pool, span.base),
    };
    gp_whole_blocks_put(&cache->whole, block);
    gp_counter_add(&cache->uncovered_bytes, span.bytes);
}

/* The oldest, down to half of what is kept, as a batch without fences; NULL without
 * host memory. */
static gp_batch *detach_older_locked(gp_stream_cache *cache)
{
    gp_batch *batch = gp_batch_get(&cache->pool->batches);
    if (batch == NULL)
        return NULL;

    gp_whole_block block;
    while (!gp_whole_blocks_is_half_full(&cache->whole) &&
           gp_whole_blocks_take_oldest(&cache->whole, UINT64_MAX, &block)) {
        gp_page *page = gp_address_table_page(block.base);
        const gp_slot slot = {.base = block.base, .record = gp_page_record(page, block.base)};
        gp_batch_add(batch, slot, block.bytes);
    }
    return batch;
}

/* Where their own stream finds them, and others once their fence has completed. */
static void wait_aside(gp_stream_cache *cache, gp_batch *batch)
{
    (void)gp_counter_add_shared(&cache->transit_bytes, batch->bytes);
    (void)gp_counter_add_shared(&cache->pending_bytes, batch->bytes);
    gp_stream_cache_lock(cache);
    gp_batch **last = &cache->waiting;
    while (*last != NULL)
        last = &(*last)->next;
    *last = batch;
    gp_stream_cache_unlock(cache);
}

static void give_batch_to_commons(gp_stream_cache *cache, gp_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const gp_slot slot = batch->slots[i];
        give_to_commons(cache->pool, (gp_span){.base = slot.base, .bytes = gp_slot_bytes(slot)});
    }
    gp_batch_put(&cache->pool->batches, batch);
}

/* To the commons if the stream is idle, else behind a fence. A stream that was found
 * busy is not asked again for a while. */
static void send_off(gp_stream_cache *cache, cudaStream_t stream, gp_batch *batch)
{
    if (gp_counter_get(&cache->busy_for) == 0) {
        if (gp_stream_cache_is_idle(cache, true, stream)) {
            give_batch_to_commons(cache, batch);
            return;
        }
        gp_counter_set(&cache->busy_for, BUSY_PERIOD);
    } else {
        gp_counter_sub_shared(&cache->busy_for, 1);
    }

    gp_fence *fence = gp_stream_cache_fence(cache, true, stream);
    if (fence != NULL)
        batch->fences[batch->fence_count++] = fence;
    wait_aside(cache, batch);
}

/* Take a span in, and out what is too much then. Without host memory for a batch a
 * full cache keeps what it has, and the span is not seen again before the pool goes. */
static gp_batch *exchange(gp_stream_cache *cache, gp_span span)
{
    gp_batch *older = NULL;
    gp_stream_cache_lock(cache);
    if (gp_whole_blocks_is_full(&cache->whole))
        older = detach_older_locked(cache);
    if (!gp_whole_blocks_is_full(&cache->whole))
        gp_stream_cache_keep_whole_locked(cache, span);
    if (older == NULL && gp_whole_blocks_is_over(&cache->whole))
        older = detach_older_locked(cache);
    gp_stream_cache_unlock(cache);
    return older;
}

void gp_stream_cache_give_whole(gp_stream_cache *cache, cudaStream_t stream, gp_span span)
{
    gp_batch *older = exchange(cache, span);
    if (older != NULL)
        send_off(cache, stream, older);
}

void gp_stream_cache_put_whole_back(gp_stream_cache *cache, gp_span span)
{
    gp_batch *older = exchange(cache, span);
    if (older != NULL)
        wait_aside(cache, older);
}

/* ---- out ------------------------------------------------------------------------- */

bool gp_stream_cache_take_whole(gp_stream_cache *cache, const gp_fit *fit, uint64_t limit,
                                gp_span *span)
{
    gp_whole_block block;
    gp_stream_cache_lock(cache);
    bool found = gp_whole_blocks_take(&cache->whole, fit, limit, &block);
    gp_stream_cache_unlock(cache);
    if (found)
        *span = (gp_span){.base = block.base, .bytes = block.bytes};
    return found;
}

bool gp_stream_cache_waits_for_own_work(const gp_stream_cache *cache, const gp_batch *batch)
{
    for (uint32_t i = 0; i < batch->fence_count; i++) {
        if (batch->fences[i]->stream_id != cache->stream_id)
            return false;
    }
    return true;
}

void gp_stream_cache_drop_empty_locked(gp_stream_cache *cache)
{
    gp_batch **link = &cache->waiting;
    while (*link != NULL) {
        gp_batch *batch = *link;
        if (batch->count > 0) {
            link = &batch->next;
            continue;
        }
        *link = batch->next;
        gp_batch_drop_fences(&cache->pool->fences, batch);
        gp_batch_put(&cache->pool->batches, batch);
    }
}

static bool take_slot(gp_pool *pool, gp_batch *batch, const gp_fit *fit, gp_span *span)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        gp_slot slot = batch->slots[i];
        size_t bytes = gp_slot_bytes(slot);
        if (gp_fit_accepts(fit, slot.base, bytes, is_for_chunks(pool, slot.base))) {
            batch->slots[i] = batch->slots[--batch->count];
            batch->bytes -= bytes;
            *span = (gp_span){.base = slot.base, .bytes = bytes};
            return true;
        }
    }
    return false;
}

/* The batch that a fitting block was taken out of; NULL if there is none. */
static gp_batch *take_from_waiting_locked(gp_stream_cache *cache, const gp_fit *fit, bool own_only,
                                          gp_span *span)
{
    gp_batch *batch = cache->waiting;
    for (; batch != NULL; batch = batch->next) {
        bool suits =
            own_only ? gp_stream_cache_waits_for_own_work(cache, batch) : batch->fence_count > 0;
        if (suits && take_slot(cache->pool, batch, fit, span))
            break;
    }
    if (batch != NULL) {
        gp_counter_sub_shared(&cache->transit_bytes, span->bytes);
        gp_counter_sub_shared(&cache->pending_bytes, span->bytes);
    }
    return batch;
}

bool gp_stream_cache_take_waiting(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    gp_stream_cache_lock(cache);
    bool found = take_from_waiting_locked(cache, fit, true, span) != NULL;
    if (found)
        gp_stream_cache_drop_empty_locked(cache);
    gp_stream_cache_unlock(cache);
    return found;
}

bool gp_stream_cache_take_pending(gp_stream_cache *cache, const gp_fit *fit, cudaStream_t stream,
                                  gp_span *span)
{
    gp_fence_store *store = &cache->pool->fences;
    gp_fence *fences[GP_BATCH_FENCES];
    uint32_t count = 0;

    gp_stream_cache_lock(cache);
    const gp_batch *batch = take_from_waiting_locked(cache, fit, false, span);
    for (; batch != NULL && count < batch->fence_count; count++)
        fences[count] = gp_fence_retain(batch->fences[count]);
    if (count > 0)
        gp_stream_cache_drop_empty_locked(cache);
    gp_stream_cache_unlock(cache);
    if (count == 0)
        return false;

    bool ordered = true;
    for (uint32_t i = 0; i < count; i++) {
        ordered = ordered && gp_fence_wait(store, fences[i], stream) == GP_OK;
        gp_fence_release(store, fences[i]);
    }
    if (!ordered)
        gp_stream_cache_put_whole_back(cache, *span);
    return ordered;
}

bool gp_stream_cache_evict(gp_stream_cache *cache, uint64_t limit)
{
    bool moved = false;
    gp_whole_block block;
    gp_span span;
    gp_stream_cache_lock(cache);
    while (gp_whole_blocks_take_oldest(&cache->whole, limit, &block)) {
        give_to_commons(cache->pool, (gp_span){.base = block.base, .bytes = block.bytes});
        moved = true;
    }
    while (gp_stream_cache_remove_chunk_locked(cache, limit, false, &span)) {
        give_to_commons(cache->pool, span);
        moved = true;
    }
    gp_stream_cache_unlock(cache);
    return moved;
}
