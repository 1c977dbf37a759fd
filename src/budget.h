/*
 * Budgets: how much one stream of a pool may hold.
 *
 * It holds its chunks, the large memory that it keeps, and its *charged* blocks: live large ones
 * that it allocated while it had a budget. These carry GP_RECORD_CHARGED, which keeps them off the
 * short way of a free, and their page names the holder, since any stream may free them:
 *
 *     alloc of a large block ──charge──▶ page.holder ──end of the block, on any stream──▶ credit
 *
 * What the stream has serves it whatever its budget is; the ladder does not go past that for it
 * while the request would pass the budget. Threads that allocate on one stream at once may each
 * pass it by their one request.
 */
#ifndef GP_SRC_BUDGET_H
#define GP_SRC_BUDGET_H

#include "stream_cache.h"

static inline bool gp_budget_is_set(const gp_stream_cache *cache)
{
    return gp_counter_get(&cache->budget_bytes) != 0;
}

/* Bytes that count. */
static inline uint64_t gp_budget_held(const gp_stream_cache *cache)
{
    return gp_counter_get(&cache->chunk_bytes) + gp_counter_get(&cache->charged_bytes) +
           gp_stream_cache_kept_bytes(cache);
}

/* May the stream take so many bytes more? */
static inline bool gp_budget_allows(const gp_stream_cache *cache, size_t bytes)
{
    return GP_LIKELY(!gp_budget_is_set(cache)) ||
           gp_budget_held(cache) + bytes <= gp_counter_get(&cache->budget_bytes);
}

/* GP_ERR_LIMIT, with a text. */
gp_status gp_budget_refuse(const gp_stream_cache *cache, size_t bytes);

/* A large block of a stream with a budget goes live: count it, and mark it. */
void gp_budget_charge(gp_stream_cache *cache, gp_page *page);

/* A block that is marked ends; its record is the caller's to set. */
void gp_budget_credit(uintptr_t base);

#endif
