#include "stats.h"

#include <string.h>

#include "error.h"
#include "pool.h"
#include "registry.h"
#include "thread.h"

/* ---- sums ------------------------------------------------------------------- */

static void add(gp_thread_counters *sum, const gp_thread_counters *counters)
{
    const gp_counter *from = (const gp_counter *)counters;
    gp_counter *to = (gp_counter *)sum;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
        gp_counter_add(&to[i], gp_counter_get(&from[i]));
}

static void sum_locked(gp_pool *pool, gp_thread_counters *sum)
{
    memset(sum, 0, sizeof(*sum));
    add(sum, &pool->ended);
    for (gp_thread_pool *part = pool->threads; part != NULL; part = part->next_of_pool)
        add(sum, &part->counters);
    gp_counter_sub(&sum->frees, gp_counter_get(&pool->twice_freed));
    gp_counter_add(&sum->live_bytes, gp_counter_get(&pool->twice_freed_bytes));
}

void gp_stats_sum(gp_pool *pool, gp_thread_counters *sum)
{
    gp_registry_lock();
    sum_locked(pool, sum);
    gp_registry_unlock();
}

static uint64_t live_of(const gp_pool *pool, const gp_thread_counters *sum)
{
    return gp_counter_get(&sum->live_bytes) - gp_counter_get(&pool->captured.parked_bytes) +
           gp_counter_get(&pool->arenas.bytes);
}

uint64_t gp_stats_live_bytes(gp_pool *pool)
{
    gp_thread_counters sum;
    gp_stats_sum(pool, &sum);
    return live_of(pool, &sum);
}

/* The calling thread's own counters, folded in so that its past peak is not
 * counted after the reset. */
static void fold_own(gp_pool *pool)
{
    gp_registry_lock();
    gp_thread_pool *part = gp_thread_self == NULL ? NULL : gp_thread_self->pools;
    while (part != NULL && part->pool != pool)
        part = part->next_of_thread;
    gp_registry_unlock();
    if (part != NULL)
        gp_thread_fold(pool, &part->counters);
}

/* The thread's own peaks belong to what was pinned before. */
void gp_stats_add_pinned(gp_pool *pool, size_t bytes)
{
    fold_own(pool);
    (void)gp_counter_add_shared(&pool->arenas.bytes, bytes);
    gp_counter_raise(&pool->live_high, gp_counter_add_shared(&pool->live_folded, bytes));
}

void gp_stats_sub_pinned(gp_pool *pool, size_t bytes)
{
    fold_own(pool);
    gp_counter_sub_shared(&pool->arenas.bytes, bytes);
    gp_counter_sub_shared(&pool->live_folded, bytes);
}

/* The peak, with what threads have not folded in yet. */
static uint64_t live_high_locked(const gp_pool *pool, uint64_t live)
{
    uint64_t high = gp_counter_get(&pool->live_high);
    uint64_t folded = gp_counter_get(&pool->live_folded);
    for (const gp_thread_pool *part = pool->threads; part != NULL; part = part->next_of_pool) {
        int64_t peak = (int64_t)(folded - gp_counter_get(&part->counters.live_folded) +
                                 gp_counter_get(&part->counters.live_peak));
        if (peak > 0 && (uint64_t)peak > high)
            high = (uint64_t)peak;
    }
    return live > high ? live : high;
}

/* ---- streams and threads --------------------------------------------------------- */

static void add_thread_caches_locked(const gp_stream_cache *stream, gp_pool_stats *stats)
{
    const gp_thread_cache *cache = stream->thread_caches;
    for (; cache != NULL; cache = cache->next_of_stream) {
        stats->l1_cached_bytes += gp_counter_get(&cache->cached_bytes);
        stats->metadata_bytes += gp_counter_get(&cache->host_bytes);
        stats->threads++;
    }
}

static void note_free_piece(gp_pool_stats *stats, uint64_t bytes)
{
    if (bytes > stats->largest_free_bytes)
        stats->largest_free_bytes = bytes;
}

/* Of what one stream keeps, its lock held. */
static void note_kept_pieces(const gp_stream_cache *stream, gp_pool_stats *stats)
{
    const gp_whole_blocks *whole = &stream->whole;
    for (uint32_t i = 0; i < gp_whole_blocks_count(whole); i++)
        note_free_piece(stats, gp_whole_blocks_at(whole, i).bytes);
    note_free_piece(stats, gp_stream_heap_largest(&stream->large));
    note_free_piece(stats, gp_stream_heap_largest(&stream->spare));
}

/* One policy instance, whose lock is held. */
static void add_policy(const gp_pool *pool, const void *policy, const gp_segment_list *segments,
                       gp_pool_stats *stats)
{
    gp_policy_usage usage;
    pool->policy.usage(policy, &usage);
    stats->metadata_bytes += usage.metadata_bytes;
    note_free_piece(stats, usage.largest_free_bytes);
    for (const gp_segment *segment = segments->first; segment; segment = segment->next)
        stats->metadata_bytes += sizeof(*segment);
}

static void add_commons(gp_commons *commons, gp_pool_stats *stats)
{
    gp_lock_acquire(&commons->lock, GP_RANK_COMMONS);
    add_policy(commons->pool, commons->policy, &commons->segments, stats);
    gp_lock_release(&commons->lock, GP_RANK_COMMONS);
}

static void add_streams_locked(gp_pool *pool, gp_pool_stats *stats)
{
    for (gp_stream_cache *stream = gp_pool_first_stream(pool); stream; stream = stream->next) {
        gp_stream_cache_lock(stream);
        add_policy(pool, stream->policy, &stream->chunks, stats);
        note_kept_pieces(stream, stats);
        gp_stream_cache_unlock(stream);
        stats->metadata_bytes += sizeof(*stream);
        stats->pending_bytes += gp_counter_get(&stream->pending_bytes);
        add_thread_caches_locked(stream, stats);
    }
}

static void add_tiers(gp_pool *pool, const gp_thread_counters *sum, gp_pool_stats *stats)
{
    stats->requests = gp_counter_get(&sum->requests) + gp_counter_get(&sum->failures);
    stats->frees = gp_counter_get(&sum->frees);
    stats->live_blocks = gp_counter_get(&sum->requests) - stats->frees -
                         gp_counter_get(&pool->captured.parked_count);
    stats->frees += gp_counter_get(&pool->captured.parked_count);
    stats->failures = gp_counter_get(&sum->failures);
    stats->shared_hits = gp_counter_get(&sum->shared_hits);
    stats->l1_hits = gp_counter_get(&sum->requests) - gp_counter_get(&sum->l1_misses);
    stats->l2_hits =
        gp_counter_get(&sum->l1_misses) - stats->shared_hits - gp_counter_get(&sum->l3_hits);
    stats->l1_refills = gp_counter_get(&sum->refills);
    stats->l1_flushes = gp_counter_get(&sum->flushes);
    stats->remote_frees = gp_counter_get(&pool->remote_frees);
    stats->shared_waits = gp_counter_get(&pool->shared_waits);
    stats->late_double_frees = gp_counter_get(&pool->twice_freed);
    stats->overruns = gp_counter_get(&pool->findings.overruns);
    stats->late_writes = gp_counter_get(&pool->findings.late_writes);
    stats->unordered_frees = gp_counter_get(&pool->findings.unordered_frees);
    stats->quarantined_bytes = gp_counter_get(&pool->quarantine.bytes);
    stats->unchecked_blocks = gp_counter_get(&pool->findings.unchecked);
    stats->captured = gp_counter_get(&pool->captured.calls);
}

static void add_native(gp_pool *pool, gp_pool_stats *stats)
{
    stats->native_allocs = gp_counter_get(&pool->global.allocs);
    stats->native_frees = gp_counter_get(&pool->global.frees);
    stats->native_trims = gp_counter_get(&pool->global.trims);
    stats->event_records = gp_counter_get(&pool->fences.records);
    stats->event_queries = gp_counter_get(&pool->fences.queries);
    stats->stream_waits = gp_counter_get(&pool->fences.waits);
    stats->metadata_bytes += gp_counter_get(&pool->pages.count) * GP_PAGE_RECORD_BYTES;
    stats->metadata_bytes += gp_counter_get(&pool->batches.count) * sizeof(gp_batch);
    stats->metadata_bytes += gp_counter_get(&pool->direct.count) * sizeof(gp_direct_block);

    gp_native_usage usage = {0};
    if (pool->backend->ops->pool_usage(pool->backend, pool->global.native, &usage) == GP_OK) {
        stats->native_reserved_bytes = usage.reserved_bytes;
        stats->native_reserved_bytes_high = usage.reserved_bytes_high;
    }
}

void gp_stats_sample(gp_pool *pool, gp_trace_sample *sample)
{
    gp_thread_counters sum;
    gp_stats_sum(pool, &sum);
    const uint64_t live = live_of(pool, &sum);
    const uint64_t reserved = gp_counter_get(&pool->global.reserved);
    const uint64_t misses = gp_counter_get(&sum.l1_misses);
    *sample = (gp_trace_sample){
        .struct_bytes = sizeof(*sample),
        .live_bytes = live,
        .cached_bytes = reserved > live ? reserved - live : 0,
        .reserved_bytes = reserved,
        .requests = gp_counter_get(&sum.requests),
        .l1_hits = gp_counter_get(&sum.requests) - misses,
        .l2_hits = misses - gp_counter_get(&sum.shared_hits) - gp_counter_get(&sum.l3_hits),
    };
}

static double share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : (double)part / (double)whole;
}

static void add_measures(gp_pool *pool, const gp_thread_counters *sum, gp_pool_stats *stats)
{
    const uint64_t given = gp_counter_get(&sum->given_bytes);
    stats->internal_fragmentation = share(given - gp_counter_get(&sum->asked_bytes), given);
    if (stats->cached_bytes > 0)
        stats->external_fragmentation = 1.0 - share(stats->largest_free_bytes, stats->cached_bytes);
    stats->idle_share = share(stats->cached_bytes, stats->reserved_bytes);

    (void)gp_idle_observe(pool);
    for (uint32_t age = 0; age < GP_IDLE_AGES; age++)
        stats->idle_bytes_by_age[age] = gp_idle_bytes(pool, 1u << 2 * age);
}

/* ---- the calls ------------------------------------------------------------------ */

static void fill(gp_pool *pool, gp_pool_stats *stats)
{
    gp_thread_counters sum;
    *stats = (gp_pool_stats){.struct_bytes = sizeof(*stats)};

    gp_registry_lock();
    sum_locked(pool, &sum);
    stats->live_bytes = live_of(pool, &sum);
    stats->arena_bytes = gp_counter_get(&pool->arenas.bytes);
    stats->live_bytes_high = live_high_locked(pool, stats->live_bytes);
    stats->streams = pool->registry.count;
    add_streams_locked(pool, stats);
    add_commons(&pool->large, stats);
    add_commons(&pool->chunks, stats);
    gp_registry_unlock();

    stats->reserved_bytes = gp_counter_get(&pool->global.reserved);
    stats->reserved_bytes_high = gp_counter_get(&pool->global.reserved_high);
    /* Read a moment after the live bytes, so the difference may be below nothing. */
    if (stats->reserved_bytes > stats->live_bytes)
        stats->cached_bytes = stats->reserved_bytes - stats->live_bytes;
    stats->pending_bytes += gp_counter_get(&pool->captured.parked_bytes);
    add_tiers(pool, &sum, stats);
    add_native(pool, stats);
    add_measures(pool, &sum, stats);
}

gp_status gp_pool_get_stats(gp_pool *pool, gp_pool_stats *stats)
{
    if (stats == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "stats is NULL");
    if (stats->struct_bytes != sizeof(*stats))
        return gp_error_set(GP_ERR_VERSION_MISMATCH, "gp_pool_stats.struct_bytes is %u, not %zu",
                            stats->struct_bytes, sizeof(*stats));
    gp_status status = gp_registry_check(pool);
    if (status == GP_OK)
        fill(pool, stats);
    return status;
}

gp_status gp_pool_reset_peak(gp_pool *pool)
{
    gp_status status = gp_registry_check(pool);
    if (status != GP_OK)
        return status;

    fold_own(pool);
    gp_counter_set(&pool->live_high, gp_stats_live_bytes(pool));
    gp_counter_set(&pool->global.reserved_high, gp_counter_get(&pool->global.reserved));
    return pool->backend->ops->pool_reset_peak(pool->backend, pool->global.native);
}
