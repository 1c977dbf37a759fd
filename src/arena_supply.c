#include "arena_supply.h"

#include <sched.h>

#include "address_table.h"
#include "clock.h"
#include "error.h"
#include "pool.h"
#include "pressure.h"
#include "release.h"
#include "revocation.h"
#include "share.h"

/* Pieces that small blocks are cut from have this size, or twice that of the largest of them; if
 * there is no more, as much as is needed. The commons give out more than a page only. */
#define PIECE_BYTES ((size_t)2 << 20)
#define LEAST_PIECE_BYTES (2 * GP_PAGE_BYTES)

/* ---- without growth ------------------------------------------------------------- */

/* For no stream: what is ordered on one only is not for a graph. */
static gp_commons_request for_nobody(size_t bytes, size_t alignment)
{
    return (gp_commons_request){.taker = NULL, .bytes = bytes, .alignment = alignment};
}

static bool take_complete(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    if (gp_commons_take(&pool->large, request, piece))
        return true;
    gp_share_reclaim_all(pool);
    return gp_commons_take(&pool->large, request, piece);
}

/* ---- growth ------------------------------------------------------------------------ */

/* Of a segment that was taken whole the rest goes to the commons, complete as it is. */
static void cut(const gp_commons_request *request, gp_span *span)
{
    const uintptr_t base = gp_round_up(span->base, request->alignment);
    const uintptr_t end = base + request->bytes;
    const gp_span below = {.base = span->base, .bytes = base - span->base};
    const gp_span above = {.base = end, .bytes = span->base + span->bytes - end};
    if (below.bytes > 0)
        gp_commons_give(below);
    if (above.bytes > 0)
        gp_commons_give(above);
    *span = (gp_span){.base = base, .bytes = request->bytes};
}

static gp_status see_complete(gp_pool *pool, size_t bytes, cudaStream_t own_stream)
{
    if (gp_global_tier_wait(&pool->global, own_stream))
        return GP_OK;
    return gp_error_set(GP_ERR_CAPTURE,
                        "the device is not past the allocation of %zu bytes, "
                        "and a stream that captures cannot wait for it",
                        bytes);
}

static gp_status add_segment(gp_pool *pool, gp_segment *segment, cudaStream_t own_stream,
                             const gp_commons_request *request, gp_span *piece)
{
    gp_status status = see_complete(pool, segment->span.bytes, own_stream);
    if (status == GP_OK)
        status = gp_commons_add_segment(&pool->large, segment, request, piece);
    if (status == GP_OK && piece->bytes > request->bytes)
        cut(request, piece);
    return status;
}

static gp_status add_native(gp_pool *pool, size_t bytes, const gp_commons_request *request,
                            gp_span *piece)
{
    cudaStream_t own_stream;
    gp_segment *segment;
    gp_status status = gp_global_tier_take_segment(&pool->global, bytes, &own_stream, &segment);
    if (status != GP_OK)
        return status;

    const gp_span all = segment->span;
    status = add_segment(pool, segment, own_stream, request, piece);
    if (status != GP_OK)
        gp_release_unused(pool, segment, all, own_stream);
    return status;
}

/* Room in which the request fits wherever the segment starts. */
static size_t bytes_to_grow(const gp_commons_request *request)
{
    const size_t slack = request->alignment > GP_PAGE_BYTES ? request->alignment : 0;
    return gp_round_up(request->bytes + slack, GP_PAGE_BYTES);
}

static gp_status grow_by(gp_pool *pool, size_t bytes, const gp_commons_request *request,
                         gp_span *piece)
{
    const uint64_t ceiling = gp_global_tier_ceiling(&pool->global, bytes);
    if (gp_counter_get(&pool->global.reserved) + bytes > ceiling &&
        gp_release_down_to(pool, gp_global_tier_room_target(&pool->global, ceiling, bytes)))
        (void)gp_release_trim(pool, 0);
    gp_status status = add_native(pool, bytes, request, piece);
    if (status == GP_OK)
        gp_global_tier_note_growth(&pool->global);
    return status;
}

static gp_status grow(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    const size_t bytes = gp_global_tier_growth(&pool->global, bytes_to_grow(request));
    gp_trace_scope scope;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_GROW, bytes);
    gp_status status = grow_by(pool, bytes, request, piece);
    gp_trace_end(&scope);
    return status;
}

/* One thread grows; whoever waited for it looks again first. */
static gp_status find_or_grow(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    do {
        if (take_complete(pool, request, piece))
            return GP_OK;
    } while (!gp_global_tier_begin_growth(&pool->global));
    gp_status status = grow(pool, request, piece);
    gp_global_tier_end_growth(&pool->global);
    return status;
}

/* ---- when growth fails ---------------------------------------------------------------- */

static bool try_while_pending(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    const uint64_t start = gp_clock_ns();
    do {
        if (take_complete(pool, request, piece))
            return true;
        (void)sched_yield();
    } while (gp_share_is_pending(pool) && gp_clock_ns() - start < GP_PRESSURE_WAIT_NS);
    return false;
}

static bool wait_for_pending(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    gp_trace_scope scope;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_OOM_WAIT, request->bytes);
    const bool found = try_while_pending(pool, request, piece);
    gp_trace_end(&scope);
    return found;
}

static gp_status grow_at_last(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    (void)gp_release_down_to(pool, 0);
    (void)gp_release_trim(pool, 0);
    return add_native(pool, bytes_to_grow(request), request, piece);
}

static gp_status find_at_last(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    gp_revocation_flush_all(pool);
    do {
        if (wait_for_pending(pool, request, piece))
            return GP_OK;
    } while (!gp_global_tier_begin_growth(&pool->global));
    gp_status status = grow_at_last(pool, request, piece);
    gp_global_tier_end_growth(&pool->global);
    return status;
}

static gp_status climb(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    gp_status status = find_at_last(pool, request, piece);
    if (gp_pressure_is_cause(status) && gp_pressure_ask_pools(pool, bytes_to_grow(request)))
        status = find_at_last(pool, request, piece);
    for (int round = 0; gp_pressure_is_cause(status) && round < GP_PRESSURE_ROUNDS; round++) {
        if (!gp_pressure_relieve(pool, request->bytes))
            break;
        status = find_at_last(pool, request, piece);
    }
    return gp_pressure_is_cause(status)
               ? gp_pressure_fail(pool, NULL, request->bytes, status, GP_PRESSURE_TRIED_ALL)
               : status;
}

static gp_status find_in_need(gp_pool *pool, const gp_commons_request *request, gp_span *piece)
{
    gp_trace_scope scope;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_OOM, request->bytes);
    gp_status status = climb(pool, request, piece);
    gp_trace_end(&scope);
    return status;
}

/* ---- the interface -------------------------------------------------------------------- */

/* A checker knows the whole piece as one block, from here to the arena's release. The host sees
 * its beginning complete, as it saw the end of all that was there before. */
static gp_status announce(gp_pool *pool, gp_span piece)
{
    const gp_backend_ops *listener = gp_pool_listener(pool);
    cudaStream_t own_stream;
    if (listener == NULL)
        return GP_OK;
    gp_status status = gp_global_tier_own_stream(&pool->global, &own_stream);
    if (status != GP_OK)
        return status;
    listener->note_alloc((void *)piece.base, piece.bytes, own_stream);
    status = see_complete(pool, piece.bytes, own_stream);
    if (status != GP_OK)
        listener->note_free((void *)piece.base, own_stream);
    return status;
}

static gp_status find(gp_pool *pool, const gp_request *request, gp_span *piece)
{
    const size_t twice = 2 * pool->config.large_bytes;
    const size_t needed = gp_round_up(request->bytes, GP_PAGE_BYTES);
    const size_t least = needed > LEAST_PIECE_BYTES ? needed : LEAST_PIECE_BYTES;
    gp_commons_request asked = for_nobody(least, request->alignment);
    if (!gp_request_is_large(request))
        asked.bytes = twice > PIECE_BYTES ? twice : PIECE_BYTES;

    gp_status status = find_or_grow(pool, &asked, piece);
    if (!gp_pressure_is_cause(status))
        return status;
    asked.bytes = least;
    return find_in_need(pool, &asked, piece);
}

gp_status gp_arena_supply(gp_pool *pool, const gp_request *request, gp_span *piece)
{
    gp_span found;
    gp_trace_scope scope;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_MISS, request->bytes);
    gp_status status = find(pool, request, &found);
    gp_trace_end(&scope);
    if (status != GP_OK)
        return status;
    status = announce(pool, found);
    if (status != GP_OK) {
        gp_commons_give(found);
        return status;
    }
    gp_page *page = gp_address_table_held(found.base);
    gp_page_set_large_bytes(page, found.bytes);
    gp_page_set_large(page, GP_STATE_PINNED);
    gp_trace_mark(&pool->trace, GP_TRACE_ARENA_TAKE, found.bytes, NULL, NULL);
    *piece = found;
    return GP_OK;
}

void gp_arena_supply_take_back(gp_pool *pool, gp_span piece)
{
    const gp_backend_ops *listener = gp_pool_listener(pool);
    if (listener != NULL)
        listener->note_free((void *)piece.base, pool->global.own_stream);
    gp_page_set_large(gp_address_table_held(piece.base), GP_STATE_FREED);
    gp_commons_give(piece);
}
