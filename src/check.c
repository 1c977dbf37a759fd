/*
 * gp_pool_check(): every byte is in one place, and every count agrees with what
 * it counts.
 */
#include "gp/stats.h"
#include "block.h"
#include "error.h"
#include "guard.h"
#include "pool.h"
#include "registry.h"
#include "stats.h"
#include "thread_cache.h"

/* What the walk over a pool adds up. */
typedef struct tally {
    uint64_t native;  /* Bytes of native segments. */
    uint64_t live;    /* Bytes of live blocks. */
    uint64_t cached;  /* Bytes of blocks in thread caches and in transit. */
    uint64_t parked;  /* Bytes of parked blocks. */
    uint64_t pinned;  /* Bytes of arenas' pieces. */
    uint64_t l1;      /* What thread caches say they hold. */
    uint64_t transit; /* What stream caches say is on its way. */
    uint64_t kept;    /* Large memory of stream caches. */
} tally;

static gp_status broken(const char *what, uint64_t found, uint64_t expected)
{
    return gp_error_set(GP_ERR_INTERNAL, "invariant broken: %s: found %llu, expected %llu", what,
                        (unsigned long long)found, (unsigned long long)expected);
}

static gp_status expect(const char *what, uint64_t found, uint64_t expected)
{
    return found == expected ? GP_OK : broken(what, found, expected);
}

/* ---- segments ------------------------------------------------------------------ */

static void tally_block(const gp_block *block, tally *sum)
{
    switch (gp_block_state(block)) {
    case GP_STATE_LIVE:
        sum->live += block->bytes;
        break;
    case GP_STATE_PARKED:
        sum->parked += block->bytes;
        break;
    case GP_STATE_PINNED:
        sum->pinned += block->bytes;
        break;
    default:
        sum->cached += block->bytes;
        break;
    }
}

/* Chunks that are blocks of a native segment. */
static uint64_t chunk_bytes_of(gp_pool *pool, const gp_segment *native)
{
    uint64_t bytes = 0;
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        for (const gp_segment *chunk = cache->chunks.first; chunk; chunk = chunk->next)
            bytes += chunk->lender == native ? chunk->span.bytes : 0;
    }
    return bytes;
}

static gp_status check_segment(gp_pool *pool, const void *policy, const gp_segment *segment,
                               tally *sum, uint64_t *free_bytes)
{
    uint64_t taken = chunk_bytes_of(pool, segment);
    uintptr_t address = segment->span.base;
    gp_block block;
    while (gp_block_next(segment, &address, &block)) {
        taken += block.bytes;
        tally_block(&block, sum);
    }
    *free_bytes += segment->span.bytes - taken;
    if (segment->home != NULL) {
        gp_status status = expect("bytes taken of a chunk", segment->taken_bytes, taken);
        if (status != GP_OK)
            return status;
    }
    bool is_free = pool->policy.segment_is_free(policy, segment->span.base);
    return expect("segment is free", is_free, taken == 0);
}

/* A policy instance and its segments, under its lock. */
static gp_status check_instance(gp_pool *pool, const void *policy, const gp_segment_list *segments,
                                uint64_t counted_free, tally *sum)
{
    if (!pool->policy.is_valid(policy))
        return gp_error_set(GP_ERR_INTERNAL, "invariant broken: policy %s", pool->policy.name);

    uint64_t free_bytes = 0;
    for (const gp_segment *segment = segments->first; segment; segment = segment->next) {
        gp_status status = check_segment(pool, policy, segment, sum, &free_bytes);
        if (status != GP_OK)
            return status;
    }
    gp_policy_usage usage;
    pool->policy.usage(policy, &usage);
    gp_status status = expect("free bytes of a policy", usage.free_bytes, free_bytes);
    return status == GP_OK ? expect("free bytes", counted_free, free_bytes) : status;
}

static gp_status check_commons(gp_commons *commons, tally *sum)
{
    gp_lock_acquire(&commons->lock, GP_RANK_COMMONS);
    gp_status status = check_instance(commons->pool, commons->policy, &commons->segments,
                                      gp_counter_get(&commons->free_bytes), sum);
    for (const gp_segment *segment = commons->segments.first; segment; segment = segment->next)
        sum->native += segment->span.bytes;
    gp_lock_release(&commons->lock, GP_RANK_COMMONS);
    return status;
}

/* Blocks that are native allocations by themselves. */
static void tally_direct(gp_pool *pool, tally *sum)
{
    const gp_direct_sum direct = gp_direct_table_sum(&pool->direct);
    sum->native += direct.native;
    sum->live += direct.live;
    sum->parked += direct.parked;
}

/* ---- stream caches ---------------------------------------------------------------- */

static uint64_t batch_bytes(const gp_batch *batch)
{
    uint64_t bytes = 0;
    for (; batch != NULL; batch = batch->next)
        bytes += batch->bytes;
    return bytes;
}

static gp_status check_stream(gp_stream_cache *cache, tally *sum)
{
    uint64_t transit = batch_bytes(cache->waiting) + batch_bytes(cache->guests) +
                       batch_bytes(atomic_load(&cache->returned)) +
                       batch_bytes(atomic_load(&cache->arrived));
    sum->transit += transit;
    sum->kept += gp_stream_cache_kept_bytes(cache);
    const gp_thread_cache *thread = cache->thread_caches;
    for (; thread != NULL; thread = thread->next_of_stream)
        sum->l1 += gp_counter_get(&thread->cached_bytes);

    uint64_t free_chunks = 0;
    for (const gp_segment *chunk = cache->chunks.first; chunk; chunk = chunk->next)
        free_chunks += chunk->taken_bytes == 0;
    gp_status status = expect("free chunks", gp_counter_get(&cache->free_chunks), free_chunks);
    if (status == GP_OK)
        status = expect("bytes in transit", gp_counter_get(&cache->transit_bytes), transit);
    return status == GP_OK ? check_instance(cache->pool, cache->policy, &cache->chunks,
                                            gp_counter_get(&cache->free_bytes), sum)
                           : status;
}

static gp_status check_sums(gp_pool *pool, const tally *sum)
{
    gp_status status = expect("reserved bytes", gp_counter_get(&pool->global.reserved),
                              sum->native + gp_global_tier_kept_bytes(&pool->global));
    if (status == GP_OK)
        status = expect("live bytes", gp_stats_live_bytes(pool), sum->live + sum->pinned);
    if (status == GP_OK)
        status = expect("cached blocks", sum->cached, sum->l1 + sum->transit + sum->kept);
    if (status == GP_OK)
        status = expect("parked bytes", gp_counter_get(&pool->captured.parked_bytes), sum->parked);
    if (status == GP_OK)
        status = expect("arenas' bytes", gp_counter_get(&pool->arenas.bytes), sum->pinned);
    return status;
}

/* What debug aids find. */
static gp_status check_contents(gp_pool *pool)
{
    gp_guard_check_live(pool);
    gp_readback_collect(pool);
    return gp_findings_take(pool);
}

gp_status gp_pool_check(gp_pool *pool)
{
    tally sum = {0};
    gp_status status = gp_registry_check(pool);
    if (status == GP_OK)
        status = check_commons(&pool->large, &sum);
    if (status == GP_OK)
        status = check_commons(&pool->chunks, &sum);
    for (gp_stream_cache *cache = status == GP_OK ? gp_pool_first_stream(pool) : NULL;
         cache != NULL && status == GP_OK; cache = cache->next) {
        gp_stream_cache_lock(cache);
        status = check_stream(cache, &sum);
        gp_stream_cache_unlock(cache);
    }
    if (status != GP_OK)
        return status;
    tally_direct(pool, &sum);
    status = check_sums(pool, &sum);
    return status == GP_OK ? check_contents(pool) : status;
}
