#include "tiers.h"

#include "pool.h"
#include "supply.h"

/* Slow calls between two sweeps of a thread cache. */
#define SETTLE_EVERY 256u

static bool goes_through_l1(const gp_pool *pool, const gp_request *request)
{
    return !gp_request_is_large(request) && request->alignment == pool->config.alignment;
}

/* One look into what the stream has. */
static gp_status look(const gp_target *target, const gp_request *request, gp_slot *slot,
                      bool *found)
{
    if (goes_through_l1(target->pool, request))
        return gp_thread_cache_refill(target->cache, request->size_class, slot, found);

    uint32_t got = 0;
    gp_status status = gp_stream_cache_take(target->cache->stream, request, slot, 1, &got);
    *found = got > 0;
    return status;
}

static void count_served(gp_thread_cache *cache, const gp_request *request, gp_supply_source source)
{
    gp_counter_add(&cache->counters->l1_misses, 1);
    if (source == GP_SUPPLY_SHARED)
        gp_counter_add(&cache->counters->shared_hits, 1);
    if (source == GP_SUPPLY_GROWN)
        gp_counter_add(&cache->counters->l3_hits, 1);
    gp_thread_cache_count_alloc(cache->counters, request->bytes);
}

gp_status gp_tiers_alloc(const gp_target *target, cudaStream_t stream, const gp_request *request,
                         uintptr_t *base)
{
    gp_supply supply;
    gp_supply_begin(&supply, target->cache->stream, stream, request);

    gp_slot slot;
    bool found;
    for (;;) {
        gp_status status = look(target, request, &slot, &found);
        if (status == GP_OK && !found)
            status = gp_supply_next(&supply);
        if (status != GP_OK) {
            gp_counter_add(&target->cache->counters->failures, 1);
            return status;
        }
        if (found)
            break;
    }

    gp_record_set(slot.record, request->size_class | GP_STATE_LIVE);
    count_served(target->cache, request, supply.source);
    *base = slot.base;
    return GP_OK;
}

void gp_tiers_settle(const gp_target *target, cudaStream_t stream)
{
    gp_thread_cache *cache = target->cache;
    gp_stream_cache_send_guests_if_many(cache->stream, stream);
    gp_stream_cache_leave_fence_if_due(cache->stream, stream);
    if (++cache->slow_calls % SETTLE_EVERY == 0) {
        gp_thread_cache_sweep(cache);
        gp_thread_fold(target->pool, cache->counters);
    }
}
