/*
 * The stream cache's traffic with other streams: blocks that come home behind
 * fences, and guests that are sent home.
 */
#include <stdlib.h>

#include "address_table.h"
#include "pool.h"
#include "stream_cache_internal.h"

/* Batches whose fences are asked about in one go; the rest waits for the next. */
#define POLL_LIMIT 16

/* ---- arrivals -------------------------------------------------------------- */

static gp_batch **last_link(gp_batch **link)
{
    while (*link != NULL)
        link = &(*link)->next;
    return link;
}

/* Everything that came in, oldest first; it is invisible to others meanwhile. */
static gp_batch *detach_waiting(gp_stream_cache *cache, bool *drained)
{
    gp_stream_cache_lock(cache);
    *drained = gp_stream_cache_drain_locked(cache);
    gp_batch *waiting = cache->waiting;
    cache->waiting = NULL;
    gp_stream_cache_unlock(cache);

    *last_link(&waiting) = gp_batch_take_all(&cache->arrived);
    return waiting;
}

/* Put what is settled where it belongs and the rest back in front. */
static void attach(gp_stream_cache *cache, gp_batch *settled, gp_batch *waiting)
{
    gp_stream_cache_lock(cache);
    for (gp_batch *batch = settled; batch != NULL; batch = batch->next) {
        for (uint32_t i = 0; i < batch->count; i++)
            gp_stream_cache_accept_locked(cache, batch->slots[i], GP_ORDERED_EVERYWHERE);
        gp_counter_sub_shared(&cache->transit_bytes, batch->bytes);
        gp_counter_sub_shared(&cache->pending_bytes, batch->bytes);
    }
    *last_link(&waiting) = cache->waiting;
    cache->waiting = waiting;
    gp_stream_cache_unlock(cache);

    while (settled != NULL) {
        gp_batch *next = settled->next;
        gp_batch_drop_fences(&cache->pool->fences, settled);
        gp_batch_put(&cache->pool->batches, settled);
        settled = next;
    }
}

bool gp_stream_cache_collect(gp_stream_cache *cache)
{
    bool drained;
    gp_batch *waiting = detach_waiting(cache, &drained);
    if (waiting == NULL)
        return drained;

    gp_batch *settled = NULL;
    gp_batch **link = &waiting;
    for (int polls = 0; *link != NULL && polls < POLL_LIMIT; polls++) {
        gp_batch *batch = *link;
        /* Without a fence, for want of one, it was freed here and is ordered nowhere else. */
        if (batch->fence_count > 0 && gp_batch_poll(&cache->pool->fences, batch)) {
            *link = batch->next;
            batch->next = settled;
            settled = batch;
        } else {
            link = &batch->next;
        }
    }

    bool moved = drained || settled != NULL;
    attach(cache, settled, waiting);
    return moved;
}

bool gp_stream_cache_order_after_arrivals(gp_stream_cache *cache, cudaStream_t stream)
{
    bool ordered = true;
    bool drained;
    gp_batch *waiting = detach_waiting(cache, &drained);
    for (const gp_batch *batch = waiting; batch != NULL; batch = batch->next) {
        ordered = ordered && batch->fence_count > 0;
        for (uint32_t i = 0; i < batch->fence_count; i++)
            ordered =
                gp_fence_wait(&cache->pool->fences, batch->fences[i], stream) == GP_OK && ordered;
    }
    attach(cache, NULL, waiting);
    return ordered;
}

/* ---- guests ------------------------------------------------------------------ */

void gp_stream_cache_arrive(gp_stream_cache *cache, gp_batch *batch)
{
    (void)gp_counter_add_shared(&cache->transit_bytes, batch->bytes);
    (void)gp_counter_add_shared(&cache->pending_bytes, batch->bytes);
    (void)gp_counter_add_shared(&cache->pool->remote_frees, batch->count);
    gp_batch_push(&cache->arrived, batch);
}

/* All blocks of a guest batch have one home (keep_guest() sees to that). */
static void send_home(gp_batch *batch, gp_fence *fence)
{
    batch->fences[0] = gp_fence_retain(fence);
    batch->fence_count = 1;
    gp_stream_cache_arrive(gp_address_table_segment(batch->slots[0].base)->home, batch);
}

void gp_stream_cache_send_guests(gp_stream_cache *cache, cudaStream_t stream)
{
    gp_pool *pool = cache->pool;

    gp_stream_cache_lock(cache);
    gp_batch *guests = cache->guests;
    uint64_t bytes = gp_counter_get(&cache->guest_bytes);
    cache->guests = NULL;
    gp_counter_set(&cache->guest_bytes, 0);
    gp_stream_cache_unlock(cache);
    if (guests == NULL)
        return;

    /* Recorded after the blocks were freed and before any home can see them. */
    gp_fence *fence = NULL;
    if (gp_fence_record(&pool->fences, stream, cache->stream_id, 0, &fence) != GP_OK) {
        gp_stream_cache_lock(cache);
        *last_link(&guests) = cache->guests;
        cache->guests = guests;
        gp_counter_add(&cache->guest_bytes, bytes);
        gp_stream_cache_unlock(cache);
        return;
    }
    while (guests != NULL) {
        gp_batch *next = guests->next;
        gp_counter_sub_shared(&cache->transit_bytes, guests->bytes);
        send_home(guests, fence);
        guests = next;
    }
    gp_fence_release(&pool->fences, fence);
}

void gp_stream_cache_send_guests_if_many(gp_stream_cache *cache, cudaStream_t stream)
{
    if (gp_counter_get(&cache->guest_bytes) >= gp_counter_get(&cache->guest_limit))
        gp_stream_cache_send_guests(cache, stream);
}

/* ---- the end ------------------------------------------------------------------ */

static void drop_batches(gp_pool *pool, gp_batch *batch)
{
    while (batch != NULL) {
        gp_batch *next = batch->next;
        gp_batch_drop_fences(&pool->fences, batch);
        gp_batch_put(&pool->batches, batch);
        batch = next;
    }
}

void gp_stream_cache_drop_all(gp_stream_cache *cache)
{
    drop_batches(cache->pool, gp_batch_take_all(&cache->returned));
    drop_batches(cache->pool, gp_batch_take_all(&cache->arrived));
    drop_batches(cache->pool, cache->waiting);
    drop_batches(cache->pool, cache->guests);
    cache->waiting = NULL;
    cache->guests = NULL;
    gp_stream_heap_clear(&cache->large);
    gp_stream_heap_clear(&cache->spare);
    while (cache->chunks.first != NULL) {
        gp_segment *chunk = cache->chunks.first;
        gp_segment_unlink(&cache->chunks, chunk);
        free(chunk);
    }
}
