#include "stream_cache.h"

#include <stdlib.h>

#include "address_table.h"
#include "error.h"
#include "pool.h"
#include "stream_cache_internal.h"

gp_status gp_stream_cache_create(gp_pool *pool, uint64_t stream_id, gp_stream_cache **cache)
{
    gp_stream_cache *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a stream cache");

    const gp_policy_params params = {
        .struct_bytes = sizeof(params),
        .large_bytes = pool->config.large_bytes,
    };
    gp_status status = pool->policy.create(&made->policy, &params);
    if (status != GP_OK) {
        free(made);
        return gp_error_set(status, "policy %s could not make an instance", pool->policy.name);
    }

    made->pool = pool;
    made->stream_id = stream_id;
    (void)pthread_mutex_init(&made->lock, NULL);
    *cache = made;
    return GP_OK;
}

void gp_stream_cache_destroy(gp_stream_cache *cache)
{
    for (uint32_t i = 0; i < cache->fence_count; i++)
        gp_fence_release(&cache->pool->fences, cache->fences[i]);
    cache->pool->policy.destroy(cache->policy);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* ---- blocks out and in, under the lock ----------------------------------- */

/* Cut one block; false if nothing fits or (status) it could not be recorded. */
static bool cut(gp_stream_cache *cache, const gp_request *request, gp_slot *slot, gp_status *status)
{
    gp_pool *pool = cache->pool;
    uintptr_t base;
    if (!pool->policy.take(cache->policy, request->bytes, request->alignment, &base))
        return false;

    gp_page *page = gp_page_store_at(&pool->pages, base);
    if (GP_UNLIKELY(page == NULL)) {
        pool->policy.give(cache->policy, (gp_span){.base = base, .bytes = request->bytes});
        *status = gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for block records");
        return false;
    }

    if (gp_request_is_large(request))
        atomic_store_explicit(&page->large, request->bytes, memory_order_relaxed);
    slot->base = base;
    slot->record = gp_page_record(page, base);
    gp_record_set(slot->record, request->size_class | GP_STATE_CACHED);

    gp_segment *segment = gp_address_table_segment(base);
    GP_ASSERT(segment->home == cache);
    segment->taken_bytes += request->bytes;
    gp_counter_sub(&cache->free_bytes, request->bytes);
    return true;
}

/* A span of one of the cache's own segments is free again. */
static void uncut(gp_stream_cache *cache, gp_segment *segment, gp_span span, gp_order order)
{
    GP_ASSERT(segment->home == cache && segment->taken_bytes >= span.bytes);
    cache->pool->policy.give(cache->policy, span);
    segment->taken_bytes -= span.bytes;
    gp_counter_add(&cache->free_bytes, span.bytes);
    if (order == GP_ORDERED_HERE) {
        segment->last_give = ++cache->gives;
        gp_counter_add(&cache->uncovered_bytes, span.bytes);
    }
}

static size_t slot_bytes(gp_slot slot)
{
    uint32_t value = gp_record_get(slot.record);
    if ((value & GP_RECORD_CLASS_MASK) != GP_CLASS_LARGE)
        return gp_size_class_bytes(value & GP_RECORD_CLASS_MASK);
    return gp_page_block_bytes(gp_address_table_page(slot.base), value);
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

void gp_stream_cache_accept_locked(gp_stream_cache *cache, gp_slot slot, gp_order order)
{
    size_t bytes = slot_bytes(slot);
    gp_segment *segment = gp_address_table_segment(slot.base);
    if (GP_UNLIKELY(segment->home != cache)) {
        keep_guest(cache, slot, bytes, segment->home);
        return;
    }
    uint32_t size_class = gp_record_get(slot.record) & GP_RECORD_CLASS_MASK;
    gp_record_set(slot.record, size_class | GP_STATE_FREED);
    uncut(cache, segment, (gp_span){.base = slot.base, .bytes = bytes}, order);
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

/* ---- the interface --------------------------------------------------------- */

gp_status gp_stream_cache_take(gp_stream_cache *cache, const gp_request *request, gp_slot *slots,
                               uint32_t want, uint32_t *got)
{
    gp_status status = GP_OK;
    uint32_t taken = 0;

    gp_stream_cache_lock(cache);
    (void)gp_stream_cache_drain_locked(cache);
    while (taken < want && cut(cache, request, &slots[taken], &status))
        taken++;
    gp_stream_cache_unlock(cache);

    if (taken == 0 && status != GP_OK)
        return status;
    *got = taken;
    return GP_OK;
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
        gp_batch_add(batch, slots[i], slot_bytes(slots[i]));
    (void)gp_counter_add_shared(&cache->transit_bytes, batch->bytes);
    gp_batch_push(&cache->returned, batch);
    return true;
}

void gp_stream_cache_flush(gp_stream_cache *cache, const gp_slot *slots, uint32_t count)
{
    while (count > 0) {
        uint32_t part = count < GP_BATCH_SLOTS ? count : GP_BATCH_SLOTS;
        if (pthread_mutex_trylock(&cache->lock) == 0) {
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

/* ---- segments ----------------------------------------------------------------- */

static void link_segment(gp_stream_cache *cache, gp_segment *segment)
{
    segment->prev = NULL;
    segment->next = cache->segments;
    if (segment->next != NULL)
        segment->next->prev = segment;
    cache->segments = segment;
}

static void unlink_segment(gp_stream_cache *cache, gp_segment *segment)
{
    if (segment->prev != NULL)
        segment->prev->next = segment->next;
    else
        cache->segments = segment->next;
    if (segment->next != NULL)
        segment->next->prev = segment->prev;
}

gp_status gp_stream_cache_add_segment(gp_stream_cache *cache, gp_segment *segment, gp_order order)
{
    gp_stream_cache_lock(cache);
    gp_status status = cache->pool->policy.add_segment(cache->policy, segment->span);
    if (status == GP_OK) {
        segment->home = cache;
        segment->taken_bytes = 0;
        segment->last_give = 0;
        if (order == GP_ORDERED_HERE) {
            /* A third stream needs a fence that is recorded after this. */
            segment->last_give = ++cache->gives;
            gp_counter_add(&cache->uncovered_bytes, segment->span.bytes);
        }
        link_segment(cache, segment);
        gp_address_table_assign(segment->span.base, segment->span.bytes, segment);
        gp_counter_add(&cache->free_bytes, segment->span.bytes);
        gp_counter_add(&cache->loans, gp_segment_is_loan(segment));
    }
    gp_stream_cache_unlock(cache);

    if (status != GP_OK)
        return gp_error_set(status, "no host memory for a segment");
    return GP_OK;
}

static bool is_chosen(const gp_segment *segment, gp_segment_choice choice)
{
    switch (choice) {
    case GP_SEGMENT_NATIVE:
        return !gp_segment_is_loan(segment);
    case GP_SEGMENT_LOAN:
        return gp_segment_is_loan(segment);
    default:
        return true;
    }
}

/* Smallest wholly free segment within the limits; ties by address. */
static gp_segment *find_segment(gp_stream_cache *cache, gp_segment_choice choice, size_t min_bytes,
                                size_t max_bytes, uint64_t limit)
{
    gp_segment *best = NULL;
    for (gp_segment *segment = cache->segments; segment != NULL; segment = segment->next) {
        size_t bytes = segment->span.bytes;
        if (segment->taken_bytes != 0 || segment->last_give > limit || bytes < min_bytes ||
            bytes > max_bytes || !is_chosen(segment, choice))
            continue;
        if (best == NULL || bytes < best->span.bytes ||
            (bytes == best->span.bytes && segment->span.base < best->span.base))
            best = segment;
    }
    return best;
}

gp_segment *gp_stream_cache_remove_segment(gp_stream_cache *cache, gp_segment_choice choice,
                                           size_t min_bytes, size_t max_bytes, uint64_t limit)
{
    gp_stream_cache_lock(cache);
    gp_segment *segment = find_segment(cache, choice, min_bytes, max_bytes, limit);
    if (segment != NULL) {
        bool removed = cache->pool->policy.remove_segment(cache->policy, segment->span.base);
        GP_ASSERT(removed);
        if (removed) {
            unlink_segment(cache, segment);
            gp_counter_sub(&cache->free_bytes, segment->span.bytes);
            gp_counter_sub(&cache->loans, gp_segment_is_loan(segment));
        } else {
            segment = NULL; /* A policy that keeps a free segment to itself. */
        }
    }
    gp_stream_cache_unlock(cache);
    return segment;
}

/* ---- loans ---------------------------------------------------------------------- */

static bool cut_span(gp_stream_cache *cache, size_t bytes, uint64_t limit, gp_segment *loan)
{
    uintptr_t base;
    if (!cache->pool->policy.take(cache->policy, bytes, GP_PAGE_BYTES, &base))
        return false;

    /* Out of native segments only: a loan out of a loan could come to lie inside a
     * segment of its own borrower. */
    gp_segment *lender = gp_address_table_segment(base);
    if (lender->last_give > limit || gp_segment_is_loan(lender)) {
        cache->pool->policy.give(cache->policy, (gp_span){.base = base, .bytes = bytes});
        return false;
    }
    lender->taken_bytes += bytes;
    gp_counter_sub(&cache->free_bytes, bytes);
    loan->span = (gp_span){.base = base, .bytes = bytes};
    loan->lender = lender;
    return true;
}

gp_segment *gp_stream_cache_cut_loan(gp_stream_cache *cache, size_t bytes, uint64_t limit)
{
    gp_segment *loan = calloc(1, sizeof(*loan));
    if (loan == NULL)
        return NULL;

    gp_stream_cache_lock(cache);
    bool found = cut_span(cache, bytes, limit, loan);
    gp_stream_cache_unlock(cache);

    if (!found) {
        free(loan);
        return NULL;
    }
    return loan;
}

void gp_stream_cache_end_loan_locked(gp_stream_cache *cache, gp_segment *loan, gp_order order)
{
    gp_address_table_assign(loan->span.base, loan->span.bytes, loan->lender);
    uncut(cache, loan->lender, loan->span, order);
    free(loan);
}

void gp_stream_cache_end_loan(gp_stream_cache *cache, gp_segment *loan, gp_order order)
{
    gp_stream_cache_lock(cache);
    gp_stream_cache_end_loan_locked(cache, loan, order);
    gp_stream_cache_unlock(cache);
}

bool gp_stream_cache_is_empty(gp_stream_cache *cache)
{
    gp_stream_cache_lock(cache);
    bool empty = cache->segments == NULL && cache->waiting == NULL && cache->guests == NULL &&
                 atomic_load(&cache->returned) == NULL && atomic_load(&cache->arrived) == NULL;
    gp_stream_cache_unlock(cache);
    return empty;
}
