#include "tiers.h"

#include "address_table.h"
#include "budget.h"
#include "error.h"
#include "pool.h"
#include "share.h"
#include "supply.h"

/* Slow calls between two sweeps of a thread's cache: what is flushed too early comes back
 * through L2. */
#define SWEEP_EVERY 4096u

/* Chunks for one request; a policy that has no room in so many is at fault. */
#define MOST_CHUNKS 8

static void count_served(gp_thread_cache *cache, const gp_request *request, gp_tier tier)
{
    gp_counter_add(&cache->counters->asked_bytes, request->asked_bytes);
    gp_counter_add(&cache->counters->given_bytes, request->bytes);
    gp_counter_add(&cache->counters->l1_misses, 1);
    gp_counter_add(&cache->counters->shared_hits, tier == GP_TIER_SHARED || tier == GP_TIER_WAITED);
    gp_counter_add(&cache->counters->l3_hits, tier == GP_TIER_NATIVE);
    gp_thread_cache_count_alloc(cache->counters, request->bytes);
}

/* ---- small blocks ------------------------------------------------------------ */

/* One look into what the stream has. */
static bool look(const gp_target *target, const gp_request *request, gp_slot *slot)
{
    return request->alignment == target->pool->config.alignment
               ? gp_thread_cache_refill(target->cache, request->size_class, slot)
               : gp_stream_cache_take(target->cache->stream, request, slot, 1) > 0;
}

/* What the stream has on its way to itself; false if nothing came of it. */
static bool collect(gp_stream_cache *cache)
{
    return gp_counter_get(&cache->transit_bytes) > 0 && gp_stream_cache_collect(cache);
}

/* The block out of a new chunk, and then what a miss brings along. */
static gp_status take_of_new_chunk(const gp_target *target, const gp_supply *supply,
                                   const gp_request *request, gp_slot *slot, bool *found,
                                   gp_tier *tier)
{
    gp_status status = gp_supply_chunk(supply, request, slot, found, tier);
    if (status != GP_OK)
        return status;
    if (!*found)
        *found = look(target, request, slot);
    else if (request->alignment == target->pool->config.alignment)
        (void)gp_thread_cache_refill(target->cache, request->size_class, NULL);
    return GP_OK;
}

static gp_status alloc_small(const gp_target *target, const gp_supply *supply,
                             const gp_request *request, gp_slot *slot, gp_tier *tier)
{
    *tier = GP_TIER_L2;
    bool found = look(target, request, slot);
    gp_status status = GP_OK;
    for (int chunks = 0; status == GP_OK && !found;) {
        if (collect(supply->cache)) {
            found = look(target, request, slot);
            continue;
        }
        if (chunks++ == MOST_CHUNKS)
            return gp_error_set(GP_ERR_OUT_OF_MEMORY, "policy %s has no room for %zu bytes",
                                target->pool->policy.name, request->bytes);
        status = take_of_new_chunk(target, supply, request, slot, &found, tier);
    }
    return status;
}

/* ---- the interface ----------------------------------------------------------------- */

gp_status gp_tiers_alloc_small(const gp_target *target, cudaStream_t stream,
                               const gp_request *request, uintptr_t *base, gp_tier *tier)
{
    const gp_supply supply = {
        .cache = target->cache->stream, .thread = target->cache, .stream = stream};
    gp_slot slot;
    gp_status status = alloc_small(target, &supply, request, &slot, tier);
    if (status != GP_OK) {
        gp_counter_add(&target->cache->counters->failures, 1);
        return status;
    }
    gp_record_set(slot.record, request->size_class | GP_STATE_LIVE);
    count_served(target->cache, request, *tier);
    *base = slot.base;
    return GP_OK;
}

gp_status gp_tiers_alloc_large(gp_thread_cache *cache, cudaStream_t stream,
                               const gp_request *request, uintptr_t *base, gp_tier *tier)
{
    const gp_supply supply = {.cache = cache->stream, .thread = cache, .stream = stream};
    const gp_fit fit = {.bytes = request->bytes, .alignment = request->alignment};
    gp_span block;
    gp_status status = gp_supply_large(&supply, &fit, &block, tier);
    if (GP_UNLIKELY(status != GP_OK)) {
        gp_counter_add(&cache->counters->failures, 1);
        return status;
    }
    gp_page *page = gp_address_table_held(block.base);
    gp_page_set_large(page, GP_STATE_LIVE);
    if (GP_UNLIKELY(gp_budget_is_set(cache->stream)))
        gp_budget_charge(cache->stream, page);
    count_served(cache, request, *tier);
    *base = block.base;
    return GP_OK;
}

void gp_tiers_settle_due(gp_thread_cache *cache, cudaStream_t stream)
{
    gp_stream_cache_send_guests_if_many(cache->stream, stream);
    gp_stream_cache_leave_fence_if_due(cache->stream, stream);
    gp_thread_cache_adapt(cache);
    gp_share_settle_if_due(cache->stream, stream);
    if (cache->slow_calls % GP_SETTLE_EVERY == 0) {
        gp_thread_fold(cache->stream->pool, cache->counters);
        gp_upkeep_run(cache->stream->pool);
    }
    if (cache->slow_calls % SWEEP_EVERY == 0)
        gp_thread_cache_sweep(cache);
}
