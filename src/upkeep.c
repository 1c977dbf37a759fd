#include "upkeep.h"

#include "pool.h"
#include "release.h"
#include "share.h"

/* A trim takes 1 us a MiB. */
#define TRIM_SLICE_BYTES ((uint64_t)64 << 20)

/* Of what a load took step by step, so much more when it is to come in one piece for the first
 * time: the steps fitted just what was asked for, and the next time blocks lie otherwise. */
#define FIRST_SPARE_SHARE 8

/* ---- when ----------------------------------------------------------------------- */

static uint64_t reserved_by(const gp_pool *pool)
{
    return gp_counter_get(&pool->global.reserved);
}

/* What would be left if so much of the pool stays in use, and so little is idle. */
static uint64_t lower_mark(const gp_pool *pool, uint64_t used)
{
    const uint64_t mark = used * 100 / (100 - pool->config.release_to_percent);
    const uint64_t floor = gp_counter_get(&pool->global.floor);
    const uint64_t least = floor > pool->config.segment_bytes ? floor : pool->config.segment_bytes;
    return mark > least ? mark : least;
}

/* Of what a pool held before it grew nothing was idle. */
static void note_idle(gp_pool *pool)
{
    gp_upkeep *upkeep = &pool->upkeep;
    const uint64_t allocs = gp_counter_get(&pool->global.allocs);
    const uint64_t idle = gp_idle_bytes(pool, 1);
    if (allocs != upkeep->allocs)
        upkeep->least_idle = UINT64_MAX;
    else if (idle < upkeep->least_idle)
        upkeep->least_idle = idle;
    upkeep->allocs = allocs;
}

static bool is_back(const gp_upkeep *upkeep, uint64_t reserved)
{
    return upkeep->released_from != 0 && reserved >= upkeep->released_from / 8 * 7;
}

/* Some of what is idle at the busiest lies between blocks and is of no use: as much as may be idle
 * at all counts as that. */
static uint64_t surplus_of(const gp_pool *pool, uint64_t reserved)
{
    const uint64_t least = pool->upkeep.least_idle;
    const uint64_t mark = reserved / 100 * pool->config.release_to_percent;
    return least == UINT64_MAX || least <= mark ? 0 : least - mark;
}

/* What threads have told the pool is live: not all, but enough to see whether a question about
 * every stream may lead to something. */
static bool may_be_idle(const gp_pool *pool)
{
    const uint64_t live = gp_counter_get(&pool->live_folded);
    return live * 100 <= reserved_by(pool) * (100 - pool->config.release_idle_percent);
}

static void plan(gp_pool *pool, uint64_t reserved, uint64_t target)
{
    gp_upkeep *upkeep = &pool->upkeep;
    const bool came_back = upkeep->comes_back;
    upkeep->is_set = true;
    upkeep->target = target;
    upkeep->comes_back = is_back(upkeep, reserved);
    upkeep->spare_share = upkeep->comes_back && !came_back ? FIRST_SPARE_SHARE : 0;
    upkeep->released_from = reserved;
    upkeep->surplus = surplus_of(pool, reserved);
    upkeep->least_idle = UINT64_MAX;
    gp_counter_set(&upkeep->large_to_come, 0);
    gp_counter_set(&upkeep->chunks_to_come, 0);
}

static void decide(gp_pool *pool)
{
    if (pool->config.release_idle_percent == 0 || !may_be_idle(pool))
        return;
    /* So that what streams keep is among what is idle the next time. */
    gp_share_reclaim_all(pool);
    const uint64_t reserved = reserved_by(pool);
    const uint64_t idle = gp_idle_bytes(pool, pool->config.release_windows);
    if (idle == 0 || idle * 100 < reserved * pool->config.release_idle_percent)
        return;
    const uint64_t target = lower_mark(pool, reserved > idle ? reserved - idle : 0);
    if (reserved > target)
        plan(pool, reserved, target);
}

/* ---- what ------------------------------------------------------------------------ */

/* What was released comes back at once if the load does, as far as that had a use for it. */
static void expect(gp_pool *pool, const gp_commons *commons, size_t bytes)
{
    gp_upkeep *upkeep = &pool->upkeep;
    const size_t unused = upkeep->surplus < bytes ? upkeep->surplus : bytes;
    const size_t spare = upkeep->spare_share == 0 ? 0 : bytes / upkeep->spare_share;
    upkeep->surplus -= unused;
    if (upkeep->comes_back)
        (void)gp_counter_add_shared(commons == &pool->large ? &upkeep->large_to_come
                                                            : &upkeep->chunks_to_come,
                                    bytes - unused + spare);
}

static bool release_segment(gp_pool *pool, uint64_t excess)
{
    gp_commons *commons = NULL;
    /* What a stream left for itself alone cannot go. */
    if (gp_share_has_user(pool))
        gp_share_reclaim_all(pool);
    const size_t bytes = gp_release_largest(pool, excess, &commons);
    if (bytes > 0)
        expect(pool, commons, bytes);
    return bytes > 0;
}

/* False if there is nothing more to trim. */
static bool trim_slice(gp_pool *pool)
{
    gp_native_usage usage;
    const gp_backend_ops *ops = pool->backend->ops;
    if (ops->pool_usage(pool->backend, pool->global.native, &usage) != GP_OK ||
        usage.reserved_bytes <= usage.used_bytes)
        return false;
    const uint64_t before = usage.reserved_bytes;
    const uint64_t keep = before > TRIM_SLICE_BYTES ? before - TRIM_SLICE_BYTES : 0;
    return gp_release_trim(pool, keep) == GP_OK &&
           ops->pool_usage(pool->backend, pool->global.native, &usage) == GP_OK &&
           usage.reserved_bytes < before;
}

static void do_slice(gp_pool *pool)
{
    gp_upkeep *upkeep = &pool->upkeep;
    const uint64_t reserved = reserved_by(pool);
    const bool released =
        reserved > upkeep->target && release_segment(pool, reserved - upkeep->target);
    const bool trimmed = trim_slice(pool);
    upkeep->is_set = released || trimmed;
}

/* ---- the interface ------------------------------------------------------------------- */

void gp_upkeep_init(gp_upkeep *upkeep)
{
    atomic_flag_clear(&upkeep->busy);
    upkeep->least_idle = UINT64_MAX;
}

void gp_upkeep_run(gp_pool *pool)
{
    gp_upkeep *upkeep = &pool->upkeep;
    if (atomic_flag_test_and_set_explicit(&upkeep->busy, memory_order_acquire))
        return;
    const uint64_t ended = gp_idle_observe(pool);
    if (ended > 0)
        note_idle(pool);
    if (upkeep->is_set)
        do_slice(pool);
    else if (ended == 1) /* After a time in which nobody looked the load may just be back. */
        decide(pool);
    atomic_flag_clear_explicit(&upkeep->busy, memory_order_release);
}

static gp_counter *to_come(gp_pool *pool, bool chunk)
{
    return chunk ? &pool->upkeep.chunks_to_come : &pool->upkeep.large_to_come;
}

/* One large piece would hold more than a limit has to spare. */
static bool may_take_at_once(const gp_pool *pool, uint64_t bytes)
{
    return gp_global_tier_allows(&pool->global, bytes) &&
           !gp_global_tier_is_near_limit(&pool->global);
}

size_t gp_upkeep_growth(gp_pool *pool, bool chunk, size_t bytes)
{
    const uint64_t expected =
        gp_round_up(gp_counter_get(to_come(pool, chunk)), pool->config.segment_bytes);
    const size_t growth = gp_global_tier_growth(&pool->global, bytes);
    return expected > growth && may_take_at_once(pool, expected) ? expected : growth;
}

void gp_upkeep_grows(gp_pool *pool, bool chunk)
{
    gp_counter_set(to_come(pool, chunk), 0);
}
