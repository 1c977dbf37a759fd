#include "tiers.h"

#include "address_table.h"
#include "error.h"
#include "pool.h"
#include "share.h"
#include "supply.h"

/* Slow calls between two sweeps of a thread cache. */
#define SETTLE_EVERY 256u

/* Chunks for one request; a policy that has no room in so many is at fault. */
#define MOST_CHUNKS 8

static void count_served(gp_thread_cache *cache, size_t bytes, gp_supply_source source)
{
    gp_counter_add(&cache->counters->l1_misses, 1);
    if (source == GP_SUPPLY_SHARED)
        gp_counter_add(&cache->counters->shared_hits, 1);
    if (source == GP_SUPPLY_GROWN)
        gp_counter_add(&cache->counters->l3_hits, 1);
    gp_thread_cache_count_alloc(cache->counters, bytes);
}

/* ---- small blocks ------------------------------------------------------------ */

/* One look into what the stream has. */
static gp_status look(const gp_target *target, const gp_request *request, gp_slot *slot,
                      bool *found)
{
    if (request->alignment == target->pool->config.alignment)
        return gp_thread_cache_refill(target->cache, request->size_class, slot, found);

    uint32_t got = 0;
    gp_status status = gp_stream_cache_take(target->cache->stream, request, slot, 1, &got);
    *found = got > 0;
    return status;
}

static gp_status alloc_small(const gp_target *target, const gp_supply *supply,
                             const gp_request *request, gp_slot *slot, gp_supply_source *source)
{
    bool found;
    *source = GP_SUPPLY_OWN;
    gp_status status = look(target, request, slot, &found);
    for (int chunks = 0; status == GP_OK && !found;) {
        if (chunks == MOST_CHUNKS)
            return gp_error_set(GP_ERR_OUT_OF_MEMORY, "policy %s has no room for %zu bytes",
                                target->pool->policy.name, request->bytes);
        if (gp_counter_get(&supply->cache->transit_bytes) == 0 ||
            !gp_stream_cache_collect(supply->cache)) {
            status = gp_supply_chunk(supply, request, source);
            chunks++;
        }
        if (status == GP_OK)
            status = look(target, request, slot, &found);
    }
    return status;
}

/* ---- large blocks -------------------------------------------------------------- */

static gp_status alloc_large(const gp_supply *supply, const gp_request *request, gp_slot *slot,
                             size_t *bytes, gp_supply_source *source)
{
    gp_span span;
    gp_status status = gp_supply_large(supply, request, &span, source);
    if (status != GP_OK)
        return status;
    slot->base = span.base;
    slot->record = gp_page_record(gp_address_table_page(span.base), span.base);
    *bytes = span.bytes;
    return GP_OK;
}

/* ---- the interface ----------------------------------------------------------------- */

gp_status gp_tiers_alloc(const gp_target *target, cudaStream_t stream, const gp_request *request,
                         gp_span *block)
{
    const gp_supply supply = {.cache = target->cache->stream, .stream = stream};
    gp_supply_source source;
    gp_slot slot;
    size_t bytes = request->bytes;
    gp_status status = gp_request_is_large(request)
                           ? alloc_large(&supply, request, &slot, &bytes, &source)
                           : alloc_small(target, &supply, request, &slot, &source);
    if (status != GP_OK) {
        gp_counter_add(&target->cache->counters->failures, 1);
        return status;
    }

    gp_record_set(slot.record, request->size_class | GP_STATE_LIVE);
    count_served(target->cache, bytes, source);
    *block = (gp_span){.base = slot.base, .bytes = bytes};
    return GP_OK;
}

void gp_tiers_settle(const gp_target *target, cudaStream_t stream)
{
    gp_thread_cache *cache = target->cache;
    gp_stream_cache_send_guests_if_many(cache->stream, stream);
    gp_stream_cache_leave_fence_if_due(cache->stream, stream);
    gp_share_settle_if_due(cache->stream, stream);
    if (++cache->slow_calls % SETTLE_EVERY == 0) {
        gp_thread_cache_sweep(cache);
        gp_thread_fold(target->pool, cache->counters);
    }
}
