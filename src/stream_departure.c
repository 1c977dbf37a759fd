/*
 * What leaves a stream cache for the commons, once the device is past it.
 */
#include "address_table.h"
#include "pool.h"
#include "stream_cache_internal.h"

/* Spans that a commons takes in under one lock: a few, since others wait for it meanwhile. */
#define SPANS_A_HOLD 4

/* Where spans go, one commons' lock held from one to the next: most are of one. */
typedef struct departure {
    gp_stream_cache *cache;
    gp_order order;      /* Of what goes: for anybody, or for this stream only. */
    uint64_t limit;      /* The youngest that goes. */
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

static void depart(void *user, gp_span span)
{
    departure *self = user;
    gp_page *page = gp_address_table_held(span.base);
    gp_commons *commons = atomic_load_explicit(&page->segment, memory_order_acquire)->commons;
    gp_page_set_large(page, GP_STATE_FREED);
    if (commons != self->commons || self->held == SPANS_A_HOLD) {
        let_go(self);
        gp_commons_lock(commons);
        self->commons = commons;
        if (self->order == GP_ORDERED_HERE)
            gp_commons_use_locked(commons, self->cache, gp_counter_get(&self->cache->gives));
    }
    self->held++;
    gp_commons_give_locked(commons, span);
    self->moved = true;
}

static bool end_departure(departure *self)
{
    let_go(self);
    return self->moved;
}

/* True if the commons are for everybody because of that. */
static bool note_completed_locked(gp_stream_cache *cache, uint64_t limit)
{
    gp_pool *pool = cache->pool;
    if (limit > cache->completed_gives)
        cache->completed_gives = limit;
    if (limit >= gp_counter_get(&cache->gives))
        gp_counter_set(&cache->uncovered_bytes, 0);
    const bool opened = gp_commons_complete(&pool->large, cache, limit);
    return gp_commons_complete(&pool->chunks, cache, limit) || opened;
}

/* What leaves is no younger than the limit, and that is known of all that is. */
static bool begin_departure_locked(departure *self)
{
    return self->order == GP_ORDERED_EVERYWHERE && note_completed_locked(self->cache, self->limit);
}

static void depart_oldest_locked(gp_stream_cache *cache, uint32_t count, departure *to_commons)
{
    gp_whole_blocks *whole = &cache->whole;
    /* Freed a while ago, so that they may lie in no cache; not one by one, under a lock. */
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(gp_address_table_held(whole->bases[i]), 1);
    for (uint32_t i = 0; i < count; i++)
        depart(to_commons, gp_whole_blocks_at(whole, i));
    gp_whole_blocks_drop(whole, count);
}

void gp_stream_cache_settle(gp_stream_cache *cache, uint64_t limit, gp_order order)
{
    departure to_commons = {.cache = cache, .order = order, .limit = limit};
    gp_stream_cache_lock(cache);
    (void)begin_departure_locked(&to_commons);
    gp_whole_blocks_fit(&cache->whole, gp_counter_get(&cache->pool->global.reserved));
    const uint32_t surplus = gp_whole_blocks_surplus(&cache->whole);
    const uint32_t older = gp_whole_blocks_older(&cache->whole, limit);
    depart_oldest_locked(cache, surplus < older ? surplus : older, &to_commons);
    if (surplus > older)
        gp_stream_cache_join_oldest_locked(cache, surplus - older);
    gp_stream_heap_take_old(&cache->large, limit, depart, &to_commons);
    gp_counter_set(&cache->settled_bytes, gp_counter_get(&cache->large.bytes));
    gp_stream_cache_unlock(cache);
    (void)end_departure(&to_commons);
}

bool gp_stream_cache_evict(gp_stream_cache *cache, uint64_t limit, gp_order order)
{
    departure to_commons = {.cache = cache, .order = order, .limit = limit};
    gp_span chunk;
    gp_stream_cache_lock(cache);
    const bool opened = begin_departure_locked(&to_commons);
    depart_oldest_locked(cache, gp_whole_blocks_older(&cache->whole, limit), &to_commons);
    gp_stream_heap_take_old(&cache->large, limit, depart, &to_commons);
    gp_stream_heap_take_old(&cache->spare, limit, depart, &to_commons);
    while (gp_stream_cache_remove_chunk_locked(cache, limit, false, &chunk))
        depart(&to_commons, chunk);
    gp_counter_set(&cache->settled_bytes, gp_counter_get(&cache->large.bytes));
    gp_stream_cache_unlock(cache);
    return end_departure(&to_commons) || opened;
}
