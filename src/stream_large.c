/*
 * The stream cache's large blocks: kept whole at first, then joined in the stream
 * heap, then, once the device is past them and somebody wants the memory, in the
 * commons.
 */
#include "address_table.h"
#include "pool.h"
#include "stream_cache_internal.h"

/* ---- in ------------------------------------------------------------------------- */

/* The oldest whole blocks are joined. */
static void join_oldest_locked(gp_stream_cache *cache, uint32_t count)
{
    gp_whole_blocks *whole = &cache->whole;
    for (uint32_t i = 0; i < count; i++)
        gp_stream_heap_give(&cache->large, whole->pages[i], gp_whole_blocks_bytes_at(whole, i),
                            whole->gives[i]);
    gp_whole_blocks_drop(whole, count);
}

static void keep_locked(gp_stream_cache *cache, gp_page *page, size_t bytes)
{
    const uint64_t give = gp_stream_cache_next_give_locked(cache);
    gp_counter_add(&cache->uncovered_bytes, bytes);
    if (!gp_whole_blocks_accept(bytes)) {
        gp_stream_heap_give(&cache->large, page, bytes, give);
        return;
    }
    if (GP_UNLIKELY(gp_whole_blocks_are_full(&cache->whole)))
        join_oldest_locked(cache, gp_whole_blocks_surplus(&cache->whole));
    gp_whole_blocks_put(&cache->whole, page, bytes, give);
}

void gp_stream_cache_give_large(gp_stream_cache *cache, gp_page *page, size_t bytes)
{
    gp_stream_cache_lock(cache);
    keep_locked(cache, page, bytes);
    gp_stream_cache_unlock(cache);
}

void gp_stream_cache_put_back(gp_stream_cache *cache, const gp_fit *fit, gp_span span)
{
    gp_stream_cache_lock(cache);
    gp_counter_add(&cache->uncovered_bytes, span.bytes);
    gp_stream_heap_give(fit->chunk ? &cache->spare : &cache->large,
                        gp_address_table_page(span.base), span.bytes,
                        gp_stream_cache_next_give_locked(cache));
    gp_stream_cache_unlock(cache);
}

/* ---- out: what waits behind fences ------------------------------------------------- */

static bool is_for_chunks(const gp_pool *pool, uintptr_t base)
{
    return gp_address_table_segment(base)->commons == &pool->chunks;
}

static bool waits_for_own_work(const gp_stream_cache *cache, const gp_batch *batch)
{
    for (uint32_t i = 0; i < batch->fence_count; i++) {
        if (batch->fences[i]->stream_id != cache->stream_id)
            return false;
    }
    return true;
}

/* Put away the batches that hold nothing any more. */
static void drop_empty_locked(gp_stream_cache *cache)
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

/* The place of a fitting block in a batch; its count if there is none. What waits here of the
 * chunks' commons is small blocks, which are no chunks, of whatever length. */
static uint32_t find_slot(const gp_pool *pool, const gp_batch *batch, const gp_fit *fit)
{
    uint32_t i = fit->chunk ? batch->count : 0;
    while (i < batch->count &&
           (is_for_chunks(pool, batch->slots[i].base) ||
            !gp_fit_is_met(fit, batch->slots[i].base, gp_slot_bytes(batch->slots[i]))))
        i++;
    return i;
}

static void take_slot_locked(gp_stream_cache *cache, gp_batch *batch, uint32_t place, gp_span *span)
{
    const gp_slot slot = batch->slots[place];
    *span = (gp_span){.base = slot.base, .bytes = gp_slot_bytes(slot)};
    batch->slots[place] = batch->slots[--batch->count];
    batch->bytes -= span->bytes;
    gp_counter_sub_shared(&cache->transit_bytes, span->bytes);
    gp_counter_sub_shared(&cache->pending_bytes, span->bytes);
    drop_empty_locked(cache);
}

static bool take_waiting_locked(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    for (gp_batch *batch = cache->waiting; batch != NULL; batch = batch->next) {
        uint32_t place = find_slot(cache->pool, batch, fit);
        if (place < batch->count && waits_for_own_work(cache, batch)) {
            take_slot_locked(cache, batch, place, span);
            return true;
        }
    }
    return false;
}

/* ---- out: what waits behind fences, for another stream -------------------------------- */

/* A block that waits aside, and what for. */
typedef struct pending_block {
    uintptr_t base;
    uint32_t fence_count;
    gp_fence *fences[GP_BATCH_FENCES]; /* With a reference to each. */
} pending_block;

static bool find_pending(gp_stream_cache *cache, const gp_fit *fit, pending_block *block)
{
    gp_stream_cache_lock(cache);
    for (const gp_batch *batch = cache->waiting; batch != NULL && block->fence_count == 0;
         batch = batch->next) {
        uint32_t place = find_slot(cache->pool, batch, fit);
        if (place == batch->count)
            continue;
        block->base = batch->slots[place].base;
        for (uint32_t i = 0; i < batch->fence_count; i++)
            block->fences[block->fence_count++] = gp_fence_retain(batch->fences[i]);
    }
    gp_stream_cache_unlock(cache);
    return block->fence_count > 0;
}

static bool wait_for_block(gp_stream_cache *cache, const pending_block *block, cudaStream_t stream)
{
    bool ordered = true;
    for (uint32_t i = 0; i < block->fence_count; i++)
        ordered = ordered && gp_fence_wait(&cache->pool->fences, block->fences[i], stream) == GP_OK;
    return ordered;
}

/* Is the block still there, and waits for what was waited for? */
static bool take_found(gp_stream_cache *cache, const pending_block *block, gp_span *span)
{
    bool found = false;
    gp_stream_cache_lock(cache);
    for (gp_batch *batch = cache->waiting; batch != NULL && !found; batch = batch->next) {
        if (batch->fence_count != block->fence_count || batch->fences[0] != block->fences[0])
            continue;
        for (uint32_t i = 0; i < batch->count && !found; i++) {
            found = batch->slots[i].base == block->base;
            if (found)
                take_slot_locked(cache, batch, i, span);
        }
        if (found)
            break;
    }
    gp_stream_cache_unlock(cache);
    return found;
}

bool gp_stream_cache_take_pending(gp_stream_cache *cache, const gp_fit *fit, cudaStream_t stream,
                                  gp_span *span)
{
    pending_block block = {.fence_count = 0};
    if (!find_pending(cache, fit, &block))
        return false;
    bool found = wait_for_block(cache, &block, stream) && take_found(cache, &block, span);
    for (uint32_t i = 0; i < block.fence_count; i++)
        gp_fence_release(&cache->pool->fences, block.fences[i]);
    return found;
}

/* ---- out: what is ordered on the stream --------------------------------------------- */

static gp_page *take_whole_locked(gp_stream_cache *cache, const gp_fit *fit, uint64_t limit)
{
    return fit->chunk ? NULL : gp_whole_blocks_take(&cache->whole, fit, limit);
}

static gp_stream_heap *heap_for(gp_stream_cache *cache, const gp_fit *fit)
{
    return fit->chunk ? &cache->spare : &cache->large;
}

static bool found_page(gp_page *page, const gp_fit *fit, gp_span *span)
{
    if (page == NULL)
        return false;
    *span = (gp_span){.base = page->base, .bytes = fit->bytes};
    return true;
}

bool gp_stream_cache_take_kept(gp_stream_cache *cache, const gp_fit *fit, uint64_t limit,
                               gp_span *span)
{
    gp_stream_cache_lock(cache);
    bool found = found_page(take_whole_locked(cache, fit, limit), fit, span) ||
                 gp_stream_heap_take(heap_for(cache, fit), &cache->pool->pages, fit, limit, span);
    gp_stream_cache_unlock(cache);
    return found;
}

static gp_page *take_exact_locked(gp_stream_cache *cache, const gp_fit *fit)
{
    gp_page *page = take_whole_locked(cache, fit, UINT64_MAX);
    return page != NULL ? page : gp_stream_heap_take_exact(heap_for(cache, fit), fit);
}

gp_page *gp_stream_cache_take_exact(gp_stream_cache *cache, const gp_fit *fit)
{
    gp_stream_cache_lock(cache);
    gp_page *page = take_exact_locked(cache, fit);
    gp_stream_cache_unlock(cache);
    return page;
}

bool gp_stream_cache_take_own(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    gp_stream_cache_lock(cache);
    bool found = found_page(take_exact_locked(cache, fit), fit, span) ||
                 take_waiting_locked(cache, fit, span);
    gp_stream_cache_unlock(cache);
    return found;
}

bool gp_stream_cache_join_own(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    if (gp_stream_cache_kept_bytes(cache) < fit->bytes)
        return false;
    gp_stream_cache_lock(cache);
    if (!fit->chunk)
        join_oldest_locked(cache, gp_whole_blocks_count(&cache->whole));
    bool found =
        gp_stream_heap_take(heap_for(cache, fit), &cache->pool->pages, fit, UINT64_MAX, span);
    gp_stream_cache_unlock(cache);
    return found;
}

/* ---- out: to the commons --------------------------------------------------------------- */

/* Spans that a commons takes in under one lock: a few, since others wait for it meanwhile. */
#define SPANS_A_HOLD 4

/* Where spans go, one commons' lock held from one to the next: most are of one. */
typedef struct departure {
    gp_commons *commons; /* Locked; NULL: none is. */
    uint32_t held;       /* Spans since it was locked. */
    bool moved;
} departure;

static void let_go(departure *self)
{
    if (self->commons != NULL)
        gp_commons_unlock(self->commons);
    self->commons = NULL;
    self->held = 0;
}

static void depart(void *user, gp_page *page, size_t bytes)
{
    departure *self = user;
    gp_commons *commons = gp_address_table_segment(page->base)->commons;
    gp_record_set(gp_page_record(page, page->base), GP_CLASS_LARGE | GP_STATE_FREED);
    if (commons != self->commons || self->held == SPANS_A_HOLD) {
        let_go(self);
        gp_commons_lock(commons);
        self->commons = commons;
    }
    self->held++;
    gp_commons_give_locked(commons, (gp_span){.base = page->base, .bytes = bytes});
    self->moved = true;
}

static bool end_departure(departure *self)
{
    let_go(self);
    return self->moved;
}

static void note_completed_locked(gp_stream_cache *cache, uint64_t limit)
{
    if (limit > cache->completed_gives)
        cache->completed_gives = limit;
    if (limit >= gp_counter_get(&cache->gives))
        gp_counter_set(&cache->uncovered_bytes, 0);
}

static void depart_oldest_locked(gp_stream_cache *cache, uint32_t count, departure *to_commons)
{
    gp_whole_blocks *whole = &cache->whole;
    for (uint32_t i = 0; i < count; i++)
        depart(to_commons, whole->pages[i], gp_whole_blocks_bytes_at(whole, i));
    gp_whole_blocks_drop(whole, count);
}

void gp_stream_cache_settle(gp_stream_cache *cache, uint64_t limit)
{
    departure to_commons = {.commons = NULL};
    gp_stream_cache_lock(cache);
    note_completed_locked(cache, limit);
    const uint32_t surplus = gp_whole_blocks_surplus(&cache->whole);
    const uint32_t older = gp_whole_blocks_older(&cache->whole, limit);
    depart_oldest_locked(cache, surplus < older ? surplus : older, &to_commons);
    if (surplus > older)
        join_oldest_locked(cache, surplus - older);
    gp_stream_heap_take_old(&cache->large, limit, depart, &to_commons);
    gp_counter_set(&cache->settled_bytes, gp_counter_get(&cache->large.bytes));
    gp_stream_cache_unlock(cache);
    (void)end_departure(&to_commons);
}

bool gp_stream_cache_evict(gp_stream_cache *cache, uint64_t limit)
{
    departure to_commons = {.commons = NULL};
    gp_span chunk;
    gp_stream_cache_lock(cache);
    note_completed_locked(cache, limit);
    depart_oldest_locked(cache, gp_whole_blocks_older(&cache->whole, limit), &to_commons);
    gp_stream_heap_take_old(&cache->large, limit, depart, &to_commons);
    gp_stream_heap_take_old(&cache->spare, limit, depart, &to_commons);
    while (gp_stream_cache_remove_chunk_locked(cache, limit, false, &chunk))
        depart(&to_commons, gp_address_table_page(chunk.base), chunk.bytes);
    gp_counter_set(&cache->settled_bytes, gp_counter_get(&cache->large.bytes));
    gp_stream_cache_unlock(cache);
    return end_departure(&to_commons);
}
