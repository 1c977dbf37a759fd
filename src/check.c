/*
 * gp_pool_check(): every byte is in one place, and every count agrees with what
 * it counts.
 */
#include "gp/stats.h"
#include "block.h"
#include "error.h"
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
    uint64_t l1;      /* What thread caches say they hold. */
    uint64_t transit; /* What stream caches say is on its way, loans aside. */
} tally;

static gp_status broken(const char *what, uint64_t found, uint64_t expected)
{
    return gp_error_set(GP_ERR_INVALID_POOL, "invariant broken: %s: found %llu, expected %llu",
                        what, (unsigned long long)found, (unsigned long long)expected);
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
    default:
        sum->cached += block->bytes;
        break;
    }
}

static uint64_t lent_out_of(gp_pool *pool, const gp_segment *lender)
{
    uint64_t bytes = 0;
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next) {
        for (const gp_segment *segment = cache->segments; segment; segment = segment->next)
            bytes += segment->lender == lender ? segment->span.bytes : 0;
        for (const gp_batch *batch = cache->waiting; batch; batch = batch->next)
            bytes += batch->loan != NULL && batch->loan->lender == lender ? batch->bytes : 0;
        for (const gp_batch *batch = atomic_load(&cache->arrived); batch; batch = batch->next)
            bytes += batch->loan != NULL && batch->loan->lender == lender ? batch->bytes : 0;
    }
    return bytes;
}

static gp_status check_segment(gp_stream_cache *cache, const gp_segment *segment, tally *sum)
{
    if (segment->home != cache)
        return gp_error_set(GP_ERR_INVALID_POOL, "invariant broken: a segment's home");
    if (!gp_segment_is_loan(segment))
        sum->native += segment->span.bytes;

    uint64_t taken = lent_out_of(cache->pool, segment);
    uintptr_t address = segment->span.base;
    gp_block block;
    while (gp_block_next(segment, &address, &block)) {
        taken += block.bytes;
        tally_block(&block, sum);
    }
    gp_status status = expect("bytes taken of a segment", segment->taken_bytes, taken);
    if (status != GP_OK)
        return status;
    bool is_free = cache->pool->policy.segment_is_free(cache->policy, segment->span.base);
    return expect("segment is free", is_free, taken == 0);
}

/* ---- stream caches ---------------------------------------------------------------- */

static uint64_t slot_bytes_of(const gp_batch *batch)
{
    uint64_t bytes = 0;
    for (; batch != NULL; batch = batch->next)
        bytes += batch->loan == NULL ? batch->bytes : 0;
    return bytes;
}

static void tally_transit(gp_stream_cache *cache, tally *sum)
{
    sum->transit += slot_bytes_of(cache->waiting) + slot_bytes_of(cache->guests) +
                    slot_bytes_of(atomic_load(&cache->returned)) +
                    slot_bytes_of(atomic_load(&cache->arrived));
    const gp_thread_cache *thread = cache->thread_caches;
    for (; thread != NULL; thread = thread->next_of_stream)
        sum->l1 += gp_counter_get(&thread->cached_bytes);
}

static gp_status check_stream(gp_stream_cache *cache, tally *sum)
{
    const gp_policy_ops *policy = &cache->pool->policy;
    if (!policy->is_valid(cache->policy))
        return gp_error_set(GP_ERR_INVALID_POOL, "invariant broken: policy %s", policy->name);

    uint64_t free_bytes = 0;
    for (const gp_segment *segment = cache->segments; segment; segment = segment->next) {
        gp_status status = check_segment(cache, segment, sum);
        if (status != GP_OK)
            return status;
        free_bytes += segment->span.bytes - segment->taken_bytes;
    }
    tally_transit(cache, sum);

    gp_policy_usage usage;
    policy->usage(cache->policy, &usage);
    gp_status status = expect("free bytes of a policy", usage.free_bytes, free_bytes);
    if (status == GP_OK)
        status = expect("free bytes of a stream", gp_counter_get(&cache->free_bytes), free_bytes);
    return status;
}

static gp_status check_sums(gp_pool *pool, const tally *sum)
{
    gp_status status =
        expect("reserved bytes", gp_counter_get(&pool->global.reserved), sum->native);
    if (status == GP_OK)
        status = expect("live bytes", gp_stats_live_bytes(pool), sum->live);
    if (status == GP_OK)
        status = expect("cached blocks", sum->cached, sum->l1 + sum->transit);
    if (status == GP_OK)
        status = expect("parked bytes", gp_counter_get(&pool->captured.parked_bytes), sum->parked);
    return status;
}

gp_status gp_pool_check(gp_pool *pool)
{
    tally sum = {0};
    gp_status status = gp_registry_check(pool);
    for (gp_stream_cache *cache = status == GP_OK ? gp_pool_first_stream(pool) : NULL;
         cache != NULL && status == GP_OK; cache = cache->next) {
        gp_stream_cache_lock(cache);
        status = check_stream(cache, &sum);
        gp_stream_cache_unlock(cache);
    }
    return status == GP_OK ? check_sums(pool, &sum) : status;
}
