#include "supply_internal.h"

#include <sched.h>

#include "address_table.h"
#include "budget.h"
#include "chunk_size.h"
#include "clock.h"
#include "error.h"
#include "near_limit.h"
#include "pool.h"
#include "pressure.h"
#include "release.h"
#include "revocation.h"
#include "share.h"
#include "thread_cache.h"
#include "visible_order.h"

/* Of what was given back to make room, the part by which the pool may grow next time. */
#define SLACK_SHARE 8

/* A pool that finds enough by squeezing alone does it so many times at most, then grows: each
 * costs every thread its cache. */
#define SQUEEZE_SHARE 16

static void begin(gp_trace_scope *scope, const gp_supply *supply, gp_trace_kind kind, size_t bytes)
{
    scope->trace = NULL;
    if (!supply->quiet)
        gp_trace_begin_on(scope, &supply->cache->pool->trace, kind, bytes, supply->cache,
                          supply->stream);
}

/* ---- without growth ------------------------------------------------------------- */

static bool is_near_limit(const gp_supply *supply)
{
    return GP_UNLIKELY(gp_global_tier_is_near_limit(&supply->cache->pool->global));
}

static bool take_commons(const gp_supply *supply, const gp_fit *fit, gp_span *span)
{
    gp_commons *commons = gp_pool_commons(supply->cache->pool, fit->chunk);
    const gp_commons_request request = gp_supply_request(supply, fit);
    return is_near_limit(supply) && !supply->in_need ? gp_near_limit_take(commons, &request, span)
                                                     : gp_commons_take(commons, &request, span);
}

/* In need one kind of memory is cut out of the other's: it goes back there, but holds its segment
 * until then. */
static bool take_other_kind(const gp_supply *supply, const gp_fit *fit, gp_span *span)
{
    gp_pool *pool = supply->cache->pool;
    const gp_commons_request request = gp_supply_request(supply, fit);
    return gp_commons_take(fit->chunk ? &pool->large : &pool->chunks, &request, span);
}

/* What was freed on this stream and nobody else could have. */
static bool take_own(const gp_supply *supply, const gp_fit *fit, gp_span *span)
{
    return gp_stream_cache_take_own(supply->cache, fit, span);
}

/* Near the limit the device is asked each time: what the commons have for this stream alone cannot
 * go back, nor what it keeps. */
static bool leave(const gp_supply *supply)
{
    return is_near_limit(supply) ? gp_share_reclaim(supply->cache, true, supply->stream)
                                 : gp_share_leave(supply->cache, supply->stream);
}

/* The commons, with what this stream leaves to them: blocks of other sizes may make
 * room once they are joined. */
static bool take_common(const gp_supply *supply, const gp_fit *fit, gp_span *span)
{
    return take_commons(supply, fit, span) || (leave(supply) && take_commons(supply, fit, span));
}

static bool borrow(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    if (!gp_share_borrow(supply->cache, supply->stream, fit, span))
        return false;
    *tier = GP_TIER_WAITED;
    return true;
}

static bool is_within_budget(const gp_supply *supply, const gp_fit *fit)
{
    return gp_budget_allows(supply->cache, fit->bytes);
}

static bool take_of_others(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    const gp_share_mode mode = supply->cache->pool->config.share;
    if (mode == GP_SHARE_NEVER)
        return false;
    *tier = GP_TIER_SHARED;
    return gp_share_reclaim_others(supply->cache, fit, span) ||
           (mode == GP_SHARE_WAIT && borrow(supply, fit, span, tier));
}

static bool take_shared(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    gp_trace_scope scope;
    begin(&scope, supply, GP_TRACE_SHARE, fit->bytes);
    const bool found = take_of_others(supply, fit, span, tier);
    gp_trace_end(&scope);
    return found;
}

static bool join_own(const gp_supply *supply, const gp_fit *fit, gp_span *span)
{
    gp_trace_scope scope;
    begin(&scope, supply, GP_TRACE_JOIN, fit->bytes);
    const bool found = gp_stream_cache_join_own(supply->cache, fit, span);
    gp_trace_end(&scope);
    return found;
}

/* What no other stream has to be asked for. */
static bool take_near(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    *tier = GP_TIER_L2;
    if (take_own(supply, fit, span))
        return true;
    if (!is_within_budget(supply, fit))
        return join_own(supply, fit, span);
    *tier = GP_TIER_SHARED;
    if (take_common(supply, fit, span))
        return true;
    *tier = GP_TIER_L2;
    return join_own(supply, fit, span);
}

static bool take_any(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    return take_near(supply, fit, span, tier) ||
           (is_within_budget(supply, fit) && take_shared(supply, fit, span, tier));
}

/* ---- growth ---------------------------------------------------------------------- */

/* What streams keep for themselves joins the commons, as far as the device is past it. */
static bool gather(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    (void)gp_share_reclaim(supply->cache, true, supply->stream);
    if (supply->cache->pool->config.share != GP_SHARE_NEVER)
        gp_share_reclaim_all(supply->cache->pool);
    return take_any(supply, fit, span, tier);
}

/* It may be what streams keep that keeps a request from fitting, or what threads keep, which is
 * asked last: all of them have to fetch theirs again. */
static bool squeeze(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    gp_trace_scope scope;
    begin(&scope, supply, GP_TRACE_SQUEEZE, fit->bytes);
    bool found = gather(supply, fit, span, tier);
    if (!found) {
        gp_revocation_flush_all(supply->cache->pool);
        found = gather(supply, fit, span, tier);
    }
    gp_trace_end(&scope);
    return found;
}

/* What lies wholly free goes back first, so that memory is not held twice in pieces of the
 * wrong size. Each time that keeps the pool from a new peak it may come a little closer to
 * one: two kinds of memory that are wanted in turn would else replace each other for ever. */
static void make_room(gp_pool *pool, uint64_t ceiling, size_t bytes)
{
    gp_global_tier *global = &pool->global;
    const uint64_t before = gp_counter_get(&global->reserved);
    /* Near its limit a pool takes again at once what it gives back, in other pieces: what the
     * native pool keeps mapped can be joined for them. */
    if (gp_release_down_to(pool, gp_global_tier_room_target(global, ceiling, bytes)) &&
        !gp_global_tier_is_near_limit(global))
        (void)gp_release_trim(pool, 0);

    const uint64_t after = gp_counter_get(&global->reserved);
    if (after + bytes > gp_counter_get(&global->reserved_ever_high))
        gp_counter_set(&global->slack, 0);
    else if (after < before)
        (void)gp_counter_add_shared(&global->slack, (before - after) / SLACK_SHARE);
}

/* Room in which the request fits wherever the segment starts. */
static size_t bytes_to_grow(const gp_fit *fit)
{
    return fit->bytes + (fit->alignment > GP_PAGE_BYTES ? fit->alignment : 0);
}

static gp_status grow_by(const gp_supply *supply, size_t bytes, const gp_fit *fit, gp_span *span,
                         gp_tier *tier)
{
    gp_pool *pool = supply->cache->pool;
    gp_global_tier *global = &pool->global;
    const uint64_t ceiling = gp_global_tier_ceiling(global, bytes);
    if (gp_share_reclaim(supply->cache, true, supply->stream) && take_any(supply, fit, span, tier))
        return GP_OK;
    if (gp_counter_get(&global->reserved) + bytes > ceiling) {
        if (squeeze(supply, fit, span, tier)) {
            (void)gp_counter_add_shared(&global->slack, bytes / SQUEEZE_SHARE);
            return GP_OK;
        }
        make_room(pool, ceiling, bytes);
    }
    *tier = GP_TIER_NATIVE;
    gp_upkeep_grows(pool, fit->chunk);
    gp_status status = gp_supply_native(supply, bytes, fit, span);
    if (status == GP_OK)
        gp_global_tier_note_growth(global);
    return status;
}

static gp_status grow(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    const size_t bytes = gp_upkeep_growth(supply->cache->pool, fit->chunk, bytes_to_grow(fit));
    gp_trace_scope scope;
    begin(&scope, supply, GP_TRACE_GROW, bytes);
    gp_status status = grow_by(supply, bytes, fit, span, tier);
    gp_trace_end(&scope);
    return status;
}

/* ---- when growth fails -------------------------------------------------------------- */

/* Work that is under way may leave what is needed. */
static bool try_while_pending(const gp_supply *supply, const gp_fit *fit, gp_span *span,
                              gp_tier *tier)
{
    const uint64_t start = gp_clock_ns();
    do {
        /* Also of the stream itself: what it left unasked cannot go back before, and what it
         * keeps counts in its budget. */
        if (gp_share_has_user(supply->cache->pool) || !is_within_budget(supply, fit))
            (void)gp_share_reclaim(supply->cache, true, supply->stream);
        if (take_any(supply, fit, span, tier))
            return true;
        if (is_within_budget(supply, fit) && take_other_kind(supply, fit, span))
            return true;
        (void)sched_yield();
    } while (gp_share_is_pending(supply->cache->pool) &&
             gp_clock_ns() - start < GP_PRESSURE_WAIT_NS);
    return false;
}

static bool wait_for_pending(const gp_supply *supply, const gp_fit *fit, gp_span *span,
                             gp_tier *tier)
{
    gp_supply last = *supply;
    last.quiet = true;
    last.in_need = true;
    gp_trace_scope scope;
    begin(&scope, supply, GP_TRACE_OOM_WAIT, fit->bytes);
    const bool found = try_while_pending(&last, fit, span, tier);
    gp_trace_end(&scope);
    return found;
}

static gp_status grow_at_last(const gp_supply *supply, const gp_fit *fit, gp_span *span)
{
    gp_pool *pool = supply->cache->pool;
    if (!is_within_budget(supply, fit))
        return gp_budget_refuse(supply->cache, fit->bytes);
    gp_share_reclaim_all(pool);
    (void)gp_release_down_to(pool, 0);
    (void)gp_release_trim(pool, 0);
    return gp_supply_native(supply, gp_round_up(bytes_to_grow(fit), GP_PAGE_BYTES), fit, span);
}

/* ---- a span --------------------------------------------------------------------------- */

/* One thread grows; whoever waited for it looks everywhere again first. */
static gp_status find_or_grow(const gp_supply *supply, const gp_fit *fit, gp_span *span,
                              gp_tier *tier)
{
    gp_global_tier *global = &supply->cache->pool->global;
    for (;;) {
        if (take_any(supply, fit, span, tier))
            return GP_OK;
        if (!is_within_budget(supply, fit))
            return gp_budget_refuse(supply->cache, fit->bytes);
        if (gp_global_tier_begin_growth(global))
            break;
    }
    gp_status status = grow(supply, fit, span, tier);
    gp_global_tier_end_growth(global);
    return status;
}

static gp_status find_at_last(const gp_supply *supply, const gp_fit *fit, gp_span *span,
                              gp_tier *tier)
{
    gp_global_tier *global = &supply->cache->pool->global;
    gp_revocation_flush_all(supply->cache->pool);
    do {
        if (wait_for_pending(supply, fit, span, tier))
            return GP_OK;
    } while (!gp_global_tier_begin_growth(global));
    gp_status status = grow_at_last(supply, fit, span);
    gp_global_tier_end_growth(global);
    *tier = GP_TIER_NATIVE;
    return status;
}

static gp_status climb(const gp_supply *supply, const gp_fit *fit, gp_span *span, gp_tier *tier)
{
    gp_pool *pool = supply->cache->pool;
    gp_status status = find_at_last(supply, fit, span, tier);
    if (gp_pressure_is_cause(status) && is_within_budget(supply, fit) &&
        gp_pressure_ask_pools(pool, bytes_to_grow(fit)))
        status = find_at_last(supply, fit, span, tier);
    for (int round = 0; gp_pressure_is_cause(status) && round < GP_PRESSURE_ROUNDS; round++) {
        if (!gp_pressure_relieve(pool, fit->bytes))
            break;
        status = find_at_last(supply, fit, span, tier);
    }
    return gp_pressure_is_cause(status)
               ? gp_pressure_fail(pool, supply->cache, fit->bytes, status, GP_PRESSURE_TRIED_ALL)
               : status;
}

static gp_status find_in_need(const gp_supply *supply, const gp_fit *fit, gp_span *span,
                              gp_tier *tier)
{
    gp_trace_scope scope;
    begin(&scope, supply, GP_TRACE_OOM, fit->bytes);
    gp_status status = climb(supply, fit, span, tier);
    gp_trace_end(&scope);
    return status;
}

/* ---- the interface -------------------------------------------------------------------- */

/* The span is a block from here on, so that it can come back as one. */
static void make_block(const gp_supply *supply, gp_span span)
{
    gp_page *page = gp_address_table_held(span.base);
    gp_page_set_large_bytes(page, span.bytes);
    gp_page_set_large(page, GP_STATE_CACHED);
    gp_visible_order_taken(supply->cache->pool, supply->stream);
}

static GP_NOINLINE gp_status find_large(const gp_supply *supply, const gp_fit *fit, gp_span *span,
                                        gp_tier *tier)
{
    gp_trace_scope scope;
    begin(&scope, supply, GP_TRACE_MISS, fit->bytes);
    gp_status status = find_or_grow(supply, fit, span, tier);
    if (gp_pressure_is_cause(status))
        status = find_in_need(supply, fit, span, tier);
    gp_trace_end(&scope);
    return status;
}

/* The first two rungs by themselves: they serve nearly all. */
gp_status gp_supply_large(const gp_supply *supply, const gp_fit *fit, gp_span *block, gp_tier *tier)
{
    *tier = GP_TIER_L2;
    if (gp_stream_cache_take_exact(supply->cache, fit, block))
        return GP_OK;

    *tier = GP_TIER_SHARED;
    if (!is_within_budget(supply, fit) || !take_commons(supply, fit, block)) {
        gp_status status = find_large(supply, fit, block, tier);
        if (status != GP_OK)
            return status;
    }
    make_block(supply, *block);
    return GP_OK;
}

static gp_fit chunk_fit(const gp_supply *supply, const gp_request *request, size_t least)
{
    gp_fit fit = {.bytes = gp_chunk_size_now(supply->cache->pool, request),
                  .alignment = GP_PAGE_BYTES,
                  .chunk = true};
    if (!is_within_budget(supply, &fit))
        fit.bytes = least;
    return fit;
}

/* fit->bytes becomes `least` if there is no more. */
static gp_status find_far_chunk(const gp_supply *supply, size_t least, gp_fit *fit, gp_span *span,
                                gp_tier *tier)
{
    gp_status status = find_or_grow(supply, fit, span, tier);
    if (gp_pressure_is_cause(status)) {
        fit->bytes = least;
        status = find_in_need(supply, fit, span, tier);
    }
    return status;
}

static gp_status add_chunk(const gp_supply *supply, const gp_request *request, const gp_fit *fit,
                           gp_span span, gp_slot *slot, bool *found)
{
    make_block(supply, span);
    gp_status status = gp_stream_cache_add_chunk(supply->cache, gp_address_table_held(span.base),
                                                 request, slot, found);
    if (status != GP_OK)
        gp_stream_cache_put_back(supply->cache, fit, span);
    return status;
}

/* What the thread keeps in other classes may hold what is wanted, or join into it. */
static bool look_after_yield(const gp_supply *supply, const gp_request *request, gp_slot *slot)
{
    bool found = false;
    while (!found && gp_thread_cache_yield(supply->thread, request->size_class))
        found = gp_stream_cache_take(supply->cache, request, slot, 1) > 0;
    return found;
}

static gp_status supply_chunk(const gp_supply *supply, const gp_request *request, gp_slot *slot,
                              bool *found, gp_tier *tier)
{
    const size_t least = gp_chunk_size_least(supply->cache->pool, request);
    gp_fit fit = chunk_fit(supply, request, least);
    gp_span span;
    if (!take_near(supply, &fit, &span, tier)) {
        *found = look_after_yield(supply, request, slot);
        if (*found)
            return GP_OK;
        gp_status status = find_far_chunk(supply, least, &fit, &span, tier);
        if (status != GP_OK)
            return status;
    }
    return add_chunk(supply, request, &fit, span, slot, found);
}

gp_status gp_supply_chunk(const gp_supply *supply, const gp_request *request, gp_slot *slot,
                          bool *found, gp_tier *tier)
{
    gp_trace_scope scope;
    begin(&scope, supply, GP_TRACE_MISS, request->bytes);
    gp_status status = supply_chunk(supply, request, slot, found, tier);
    gp_trace_end(&scope);
    return status;
}
