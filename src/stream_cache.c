#include "stream_cache.h"

#include <stdlib.h>

#include "address_table.h"
#include "error.h"
#include "pool.h"
#include "stream_cache_internal.h"

/* An attached stream is asked itself, and leaves fences only while it owes some. */
void gp_stream_cache_limit_locked(gp_stream_cache *cache)
{
    const bool at_once = gp_stream_cache_is_careful(cache) || cache->pool->config.visible_order;
    const bool leaves_none = cache->attached && cache->owed_fences == 0;
    gp_counter_set(&cache->guest_limit, at_once ? 1 : GP_GUEST_LIMIT);
    gp_counter_set(&cache->uncovered_limit,
                   leaves_none ? UINT64_MAX : (at_once ? 1 : GP_UNCOVERED_LIMIT));
}

static void set_careful_locked(gp_stream_cache *cache, bool careful)
{
    atomic_store_explicit(&cache->careful, careful, memory_order_relaxed);
    cache->careful_until = gp_counter_get(&cache->gives) + GP_CAREFUL_GIVES;
    gp_stream_cache_limit_locked(cache);
}

void gp_stream_cache_set_careful(gp_stream_cache *cache, bool careful)
{
    gp_stream_cache_lock(cache);
    if (careful != gp_stream_cache_is_careful(cache))
        set_careful_locked(cache, careful && !cache->attached);
    gp_stream_cache_unlock(cache);
}

void gp_stream_cache_set_attached(gp_stream_cache *cache, cudaStream_t handle, bool attached)
{
    gp_stream_cache_lock(cache);
    cache->handle = handle;
    cache->attached = attached;
    cache->capturing = false;
    cache->owed_fences = 0;
    set_careful_locked(cache, gp_stream_cache_is_careful(cache) && !attached);
    gp_stream_cache_unlock(cache);
}

gp_status gp_stream_cache_create(gp_pool *pool, uint64_t stream_id, gp_stream_cache **cache)
{
    gp_stream_cache *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a stream cache");

    const gp_policy_params params = {
        .struct_bytes = sizeof(params),
        .large_bytes = pool->config.large_bytes,
        .policy = &pool->policy,
    };
    gp_status status = pool->policy.create(&made->policy, &params);
    if (status != GP_OK) {
        free(made);
        return gp_error_set(status, "policy %s could not make an instance", pool->policy.name);
    }

    made->pool = pool;
    made->stream_id = stream_id;
    gp_counter_set(&made->budget_bytes, pool->config.stream_budget_bytes);
    gp_whole_blocks_fit(&made->whole, 0);
    set_careful_locked(made, true);
    *cache = made;
    return GP_OK;
}

void gp_stream_cache_destroy(gp_stream_cache *cache)
{
    for (uint32_t i = 0; i < cache->fence_count; i++)
        gp_fence_release(&cache->pool->fences, cache->fences[i]);
    cache->pool->policy.destroy(cache->policy);
    free(cache);
}

/* Third streams need a fence of the new one, which it owes as soon as it is called for. */
void gp_stream_cache_inherit(gp_stream_cache *cache, uint64_t id)
{
    gp_stream_cache_lock(cache);
    cache->stream_id = id;
    gp_counter_set(&cache->budget_bytes, cache->pool->config.stream_budget_bytes);
    atomic_store_explicit(&cache->name, NULL, memory_order_relaxed);
    const uint64_t give = gp_stream_cache_next_give_locked(cache);
    for (gp_segment *chunk = cache->chunks.first; chunk != NULL; chunk = chunk->next)
        chunk->last_give = give;
    gp_whole_blocks_renew(&cache->whole, give);
    gp_stream_heap_renew(&cache->large, give);
    gp_stream_heap_renew(&cache->spare, give);
    gp_counter_add(&cache->uncovered_bytes, 1);
    set_careful_locked(cache, true);
    cache->careful_until += (cache->ordinal - 1) * GP_CAREFUL_GIVES;
    gp_stream_cache_unlock(cache);
}

/* ---- blocks out and in, under the lock ----------------------------------- */

/* Cut one block; false if nothing fits. */
static bool cut(gp_stream_cache *cache, const gp_request *request, gp_slot *slot)
{
    gp_pool *pool = cache->pool;
    uintptr_t base;
    if (!pool->policy.take(cache->policy, request->bytes, request->alignment, &base))
        return false;

    gp_leaf *leaf = gp_address_table_held_leaf(base);
    gp_page *page = gp_leaf_page(leaf, base);
    slot->base = base;
    slot->record = gp_leaf_record(leaf, base);
    gp_record_set(slot->record, request->size_class | GP_STATE_CACHED);
    gp_page_take(page, base);
    gp_page_store_note(&pool->pages, page);

    gp_segment *chunk = atomic_load_explicit(&page->segment, memory_order_relaxed);
    GP_ASSERT(chunk->home == cache);
    if (chunk->taken_bytes == 0)
        gp_counter_sub(&cache->free_chunks, 1);
    chunk->taken_bytes += request->bytes;
    gp_counter_sub(&cache->free_bytes, request->bytes);
    return true;
}

/* A second free chunk is one too many: another stream may want it. */
static void let_chunk_go(gp_stream_cache *cache)
{
    gp_span span;
    if (gp_stream_cache_remove_chunk_locked(cache, UINT64_MAX, true, &span))
        gp_stream_heap_give(&cache->spare, gp_address_table_held(span.base), span.bytes,
                            gp_counter_get(&cache->gives));
}

/* There may be thousands of chunks. Who looks for free ones has them in front, but for others that
 * were free since. */
static void move_to_front(gp_segment_list *list, gp_segment *segment)
{
    gp_segment_unlink(list, segment);
    gp_segment_link(list, segment);
}

/* A block of one of the cache's own chunks is free again. */
static void uncut(gp_stream_cache *cache, gp_segment *chunk, gp_span span, gp_order order)
{
    GP_ASSERT(chunk->home == cache && chunk->taken_bytes >= span.bytes);
    cache->pool->policy.give(cache->policy, span);
    gp_counter_add(&cache->free_bytes, span.bytes);
    if (order == GP_ORDERED_HERE) {
        chunk->last_give = gp_stream_cache_next_give_locked(cache);
        gp_counter_add(&cache->uncovered_bytes, span.bytes);
    }
    chunk->taken_bytes -= span.bytes;
    if (chunk->taken_bytes == 0) {
        move_to_front(&cache->chunks, chunk);
        gp_counter_add(&cache->free_chunks, 1);
        let_chunk_go(cache);
    }
}

size_t gp_slot_bytes(gp_slot slot)
{
    uint32_t value = gp_record_get(slot.record);
    if ((value & GP_RECORD_CLASS_MASK) != GP_CLASS_LARGE)
        return gp_size_class_bytes(value & GP_RECORD_CLASS_MASK);
    return gp_page_large_bytes(gp_address_table_held(slot.base));
}

/* A guest batch with room whose blocks have this home. */
static gp_batch *guest_batch(gp_stream_cache *cache, const gp_stream_cache *home)
{
    for (gp_batch *batch = cache->guests; batch != NULL; batch = batch->next) {
        if (!gp_batch_is_full(batch) &&
            gp_address_table_segment(batch->slots[0].base)->home == home)
            return batch;
    }

    gp_batch *batch = gp_batch_get(&cache->pool->batches);
    if (batch != NULL) {
        batch->next = cache->guests;
        cache->guests = batch;
    }
    return batch;
}

static void keep_guest(gp_stream_cache *cache, gp_slot slot, size_t bytes,
                       const gp_stream_cache *home)
{
    gp_batch *batch = guest_batch(cache, home);
    if (batch == NULL)
        return; /* The host and the reserve are exhausted: cached until the pool goes. */
    gp_batch_add(batch, slot, bytes);
    gp_counter_add(&cache->guest_bytes, bytes);
    (void)gp_counter_add_shared(&cache->transit_bytes, bytes);
}

void gp_stream_cache_note_twice(gp_stream_cache *cache, size_t bytes)
{
    (void)gp_counter_add_shared(&cache->pool->twice_freed, 1);
    (void)gp_counter_add_shared(&cache->pool->twice_freed_bytes, bytes);
}

void gp_stream_cache_accept_locked(gp_stream_cache *cache, gp_slot slot, gp_order order)
{
    if (GP_UNLIKELY((gp_record_get(slot.record) & GP_RECORD_STATE_MASK) != GP_STATE_CACHED)) {
        gp_stream_cache_note_twice(cache, gp_slot_bytes(slot));
        return;
    }
    const gp_span span = {.base = slot.base, .bytes = gp_slot_bytes(slot)};
    gp_page *page = gp_address_table_held(slot.base);
    gp_segment *segment = atomic_load_explicit(&page->segment, memory_order_acquire);
    uint32_t size_class = gp_record_get(slot.record) & GP_RECORD_CLASS_MASK;
    if (size_class == GP_CLASS_LARGE) {
        GP_ASSERT(order == GP_ORDERED_EVERYWHERE);
        gp_record_set(slot.record, size_class | GP_STATE_FREED);
        gp_commons_give(span);
    } else if (GP_UNLIKELY(segment->home != cache)) {
        keep_guest(cache, slot, span.bytes, segment->home);
    } else {
        gp_record_set(slot.record, size_class | GP_STATE_FREED);
        if (GP_LIKELY(gp_page_give(page, slot.base)))
            uncut(cache, segment, span, order);
        else
            gp_stream_cache_note_twice(cache, span.bytes);
    }
}

/* What other threads flushed while the lock was taken. */
bool gp_stream_cache_drain_locked(gp_stream_cache *cache)
{
    gp_batch *batch = gp_batch_take_all(&cache->returned);
    if (GP_LIKELY(batch == NULL))
        return false;

    while (batch != NULL) {
        gp_batch *next = batch->next;
        for (uint32_t i = 0; i < batch->count; i++)
            gp_stream_cache_accept_locked(cache, batch->slots[i], GP_ORDERED_HERE);
        gp_counter_sub_shared(&cache->transit_bytes, batch->bytes);
        gp_batch_put(&cache->pool->batches, batch);
        batch = next;
    }
    return true;
}

/* ---- small blocks ----------------------------------------------------------- */

uint32_t gp_stream_cache_take(gp_stream_cache *cache, const gp_request *request, gp_slot *slots,
                              uint32_t want)
{
    uint32_t taken = 0;

    gp_stream_cache_lock(cache);
    (void)gp_stream_cache_drain_locked(cache);
    while (taken < want && cut(cache, request, &slots[taken]))
        taken++;
    gp_stream_cache_unlock(cache);
    return taken;
}

void gp_stream_cache_give(gp_stream_cache *cache, const gp_slot *slots, uint32_t count)
{
    gp_stream_cache_lock(cache);
    for (uint32_t i = 0; i < count; i++)
        gp_stream_cache_accept_locked(cache, slots[i], GP_ORDERED_HERE);
    gp_stream_cache_unlock(cache);
}

/* Push blocks, at most a batch full of them; false without host memory. */
static bool push_returned(gp_stream_cache *cache, const gp_slot *slots, uint32_t count)
{
    gp_batch *batch = gp_batch_get(&cache->pool->batches);
    if (batch == NULL)
        return false;

    for (uint32_t i = 0; i < count; i++)
        gp_batch_add(batch, slots[i], gp_slot_bytes(slots[i]));
    (void)gp_counter_add_shared(&cache->transit_bytes, batch->bytes);
    gp_batch_push(&cache->returned, batch);
    return true;
}

void gp_stream_cache_flush(gp_stream_cache *cache, const gp_slot *slots, uint32_t count)
{
    while (count > 0) {
        uint32_t part = count < GP_BATCH_SLOTS ? count : GP_BATCH_SLOTS;
        if (gp_lock_try(&cache->lock, GP_RANK_STREAM)) {
            for (uint32_t i = 0; i < part; i++)
                gp_stream_cache_accept_locked(cache, slots[i], GP_ORDERED_HERE);
            gp_stream_cache_unlock(cache);
        } else if (!push_returned(cache, slots, part)) {
            gp_stream_cache_give(cache, slots, part);
        }
        slots += part;
        count -= part;
    }
}

/* ---- chunks -------------------------------------------------------------------- */

static void link_chunk_locked(gp_stream_cache *cache, gp_segment *chunk)
{
    const gp_span span = chunk->span;
    chunk->last_give = gp_stream_cache_next_give_locked(cache);
    gp_counter_add(&cache->uncovered_bytes, span.bytes);
    gp_segment_link(&cache->chunks, chunk);
    gp_address_table_assign(span.base, span.bytes, chunk);
    gp_counter_add(&cache->free_bytes, span.bytes);
    gp_counter_add(&cache->free_chunks, 1);
    gp_counter_add(&cache->chunk_bytes, span.bytes);
}

gp_status gp_stream_cache_add_chunk(gp_stream_cache *cache, gp_page *page,
                                    const gp_request *request, gp_slot *slot, bool *found)
{
    gp_segment *chunk = calloc(1, sizeof(*chunk));
    if (chunk == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a chunk");
    /* No longer one block. */
    const gp_span span = {.base = page->base, .bytes = gp_page_large_bytes(page)};
    gp_record_set(&page->large, GP_STATE_NONE);
    chunk->span = span;
    chunk->pool = cache->pool;
    chunk->home = cache;
    chunk->lender = gp_address_table_segment(span.base);
    chunk->commons = chunk->lender->commons;

    gp_stream_cache_lock(cache);
    gp_status status = cache->pool->policy.add_segment(cache->policy, span);
    if (status == GP_OK) {
        link_chunk_locked(cache, chunk);
        *found = cut(cache, request, slot);
    }
    gp_stream_cache_unlock(cache);

    if (status == GP_OK)
        return GP_OK;
    free(chunk);
    return gp_error_set(status, "no host memory for a chunk");
}

static gp_segment *find_free_chunk(const gp_stream_cache *cache, uint64_t limit)
{
    uint64_t left = gp_counter_get(&cache->free_chunks);
    for (gp_segment *chunk = cache->chunks.first; left > 0; chunk = chunk->next) {
        if (chunk->taken_bytes != 0)
            continue;
        if (chunk->last_give <= limit)
            return chunk;
        left--;
    }
    return NULL;
}

bool gp_stream_cache_remove_chunk_locked(gp_stream_cache *cache, uint64_t limit, bool spare,
                                         gp_span *span)
{
    if (gp_counter_get(&cache->free_chunks) < (spare ? 2 : 1))
        return false;
    gp_segment *chunk = find_free_chunk(cache, limit);
    if (chunk == NULL || !cache->pool->policy.remove_segment(cache->policy, chunk->span.base))
        return false;

    *span = chunk->span;
    gp_segment_unlink(&cache->chunks, chunk);
    gp_counter_sub(&cache->free_bytes, span->bytes);
    gp_counter_sub(&cache->free_chunks, 1);
    gp_counter_sub(&cache->chunk_bytes, span->bytes);
    gp_address_table_assign(span->base, span->bytes, chunk->lender);
    free(chunk);
    return true;
}
