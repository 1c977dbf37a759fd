/*
 * The stream cache's large blocks that wait aside behind fences, since their uses on other
 * streams were recorded: the stream takes those that wait for its own work only, others
 * any, and wait for the fences too.
 */
#include "pool.h"
#include "stream_cache_internal.h"

/* ---- for the stream itself ---------------------------------------------------------- */

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

/* The place of a fitting block in a batch; its count if there is none. No chunk waits here,
 * and small blocks, which may, are shorter than any large request. */
static uint32_t find_slot(const gp_batch *batch, const gp_fit *fit)
{
    uint32_t i = fit->chunk ? batch->count : 0;
    while (i < batch->count &&
           !gp_fit_is_met(fit, batch->slots[i].base, gp_slot_bytes(batch->slots[i])))
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

bool gp_stream_cache_take_waiting_locked(gp_stream_cache *cache, const gp_fit *fit, gp_span *span)
{
    for (gp_batch *batch = cache->waiting; batch != NULL; batch = batch->next) {
        uint32_t place = find_slot(batch, fit);
        if (place < batch->count && waits_for_own_work(cache, batch)) {
            take_slot_locked(cache, batch, place, span);
            return true;
        }
    }
    return false;
}

/* ---- for another stream ------------------------------------------------------------- */

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
        uint32_t place = find_slot(batch, fit);
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

static bool waits_for(const gp_batch *batch, const pending_block *block)
{
    return batch->fence_count == block->fence_count && batch->fences[0] == block->fences[0];
}

/* Is the block still there, and waits for what was waited for? */
static bool take_found_locked(gp_stream_cache *cache, const pending_block *block, gp_span *span)
{
    for (gp_batch *batch = cache->waiting; batch != NULL; batch = batch->next) {
        for (uint32_t i = 0; waits_for(batch, block) && i < batch->count; i++) {
            if (batch->slots[i].base == block->base) {
                take_slot_locked(cache, batch, i, span);
                return true;
            }
        }
    }
    return false;
}

static bool take_found(gp_stream_cache *cache, const pending_block *block, gp_span *span)
{
    gp_stream_cache_lock(cache);
    bool found = take_found_locked(cache, block, span);
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
