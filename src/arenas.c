#include "arenas.h"

#include "address_table.h"
#include "arena_supply.h"
#include "error.h"
#include "listen.h"
#include "lock.h"
#include "pool.h"
#include "process.h"
#include "registry.h"
#include "stats.h"
#include "thread.h"
#include "tiers.h"

void gp_arenas_init(gp_arenas *arenas)
{
    (void)pthread_mutex_init(&arenas->lock, NULL);
}

void gp_arenas_destroy(gp_arenas *arenas)
{
    while (arenas->first != NULL) {
        gp_arena *next = arenas->first->next;
        gp_arena_drop(arenas->first);
        arenas->first = next;
    }
    (void)pthread_mutex_destroy(&arenas->lock);
}

static void lock(gp_arenas *arenas)
{
    gp_mutex_lock(&arenas->lock, GP_RANK_LEAF);
}

static void unlock(gp_arenas *arenas)
{
    gp_mutex_unlock(&arenas->lock, GP_RANK_LEAF);
}

/* ---- the list, under the lock ------------------------------------------------ */

static gp_arena *find_locked(const gp_arenas *arenas, uint64_t capture_id)
{
    gp_arena *arena = arenas->first;
    while (arena != NULL && arena->capture_id != capture_id)
        arena = arena->next;
    return arena;
}

static gp_status find_or_make_locked(gp_arenas *arenas, uint64_t capture_id, gp_arena **found)
{
    gp_arena *arena = find_locked(arenas, capture_id);
    if (arena == NULL) {
        arena = gp_arena_make(capture_id);
        if (arena == NULL)
            return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for an arena");
        arena->next = arenas->first;
        arenas->first = arena;
        gp_counter_add(&arenas->count, 1);
    }
    *found = arena;
    return GP_OK;
}

static bool has_locked(const gp_arenas *arenas, const gp_arena *arena)
{
    const gp_arena *other = arenas->first;
    while (other != NULL && other != arena)
        other = other->next;
    return other != NULL;
}

static gp_arena_span *span_at_locked(const gp_arenas *arenas, uintptr_t address, gp_arena **owner)
{
    gp_arena_span *span = NULL;
    for (*owner = arenas->first; *owner != NULL; *owner = (*owner)->next) {
        span = gp_arena_find(*owner, address);
        if (span != NULL)
            break;
    }
    return span;
}

/* ---- allocating ----------------------------------------------------------------- */

/* Who allocates. */
typedef struct captured_stream {
    cudaStream_t stream;
    uint64_t capture_id;
} captured_stream;

static gp_status take_locked(gp_arena *arena, const captured_stream *from,
                             const gp_request *request, uintptr_t *base)
{
    uint32_t lane = gp_arena_lane_of(arena, from->stream);
    if (lane == GP_ARENA_ANY_LANE)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a captured stream");
    gp_arena_span *block;
    gp_status status = gp_arena_take(arena, lane, request, &block);
    if (status == GP_OK)
        *base = block == NULL ? 0 : block->base;
    return status;
}

/* 0 in *base: the arena has no room. */
static gp_status take(gp_arenas *arenas, const captured_stream *from, const gp_request *request,
                      uintptr_t *base)
{
    gp_arena *arena;
    lock(arenas);
    gp_status status = find_or_make_locked(arenas, from->capture_id, &arena);
    if (status == GP_OK)
        status = take_locked(arena, from, request, base);
    unlock(arenas);
    return status;
}

/* The piece joins the arena, and is live from here on. In one step with the block that is cut from
 * it, so that nobody else takes what was found for the caller. */
static gp_status add_and_take(gp_pool *pool, gp_span piece, const captured_stream *from,
                              const gp_request *request, uintptr_t *base)
{
    gp_arenas *arenas = &pool->arenas;
    gp_arena *arena;
    lock(arenas);
    gp_status status = find_or_make_locked(arenas, from->capture_id, &arena);
    const bool added = status == GP_OK && gp_arena_add(arena, piece);
    if (added)
        status = take_locked(arena, from, request, base);
    unlock(arenas);

    if (!added) {
        gp_arena_supply_take_back(pool, piece);
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a piece of an arena");
    }
    gp_stats_add_pinned(pool, piece.bytes);
    return status;
}

gp_status gp_arenas_alloc(gp_pool *pool, void **ptr, const gp_request *request, cudaStream_t stream)
{
    captured_stream from = {.stream = stream};
    uintptr_t base = 0;
    gp_status status = pool->backend->ops->capture_id(stream, &from.capture_id);
    if (status == GP_OK)
        status = take(&pool->arenas, &from, request, &base);
    if (status != GP_OK)
        return status;

    if (base == 0) {
        gp_span piece;
        status = gp_arena_supply(pool, request, &piece);
        if (status == GP_OK)
            status = add_and_take(pool, piece, &from, request, &base);
        if (status != GP_OK)
            return status;
    }
    *ptr = (void *)base;
    return GP_OK;
}

/* ---- freeing -------------------------------------------------------------------------- */

static gp_status explain(const gp_arena_span *span, const void *ptr)
{
    if (span == NULL || (span->state == GP_ARENA_FREE && span->lane == GP_ARENA_ANY_LANE))
        return gp_error_set(GP_ERR_NOT_OWNED, "%p lies in free memory of an arena", ptr);
    if (span->state != GP_ARENA_LIVE)
        return gp_error_set(GP_ERR_DOUBLE_FREE, "the block of an arena at %p is free already", ptr);
    return gp_error_set(GP_ERR_INTERIOR_POINTER,
                        "%p lies %zu bytes inside the block of an arena at %p of %zu bytes", ptr,
                        (uintptr_t)ptr - span->base, (const void *)span->base, span->bytes);
}

static gp_status find_live_locked(const gp_arenas *arenas, const void *ptr, gp_arena **owner,
                                  gp_arena_span **block)
{
    *block = span_at_locked(arenas, (uintptr_t)ptr, owner);
    const bool is_live =
        *block != NULL && (*block)->state == GP_ARENA_LIVE && (*block)->base == (uintptr_t)ptr;
    return is_live ? GP_OK : explain(*block, ptr);
}

gp_status gp_arenas_usable_size(gp_pool *pool, const void *ptr, size_t *bytes)
{
    gp_arena *arena;
    gp_arena_span *block;
    lock(&pool->arenas);
    gp_status status = find_live_locked(&pool->arenas, ptr, &arena, &block);
    if (status == GP_OK)
        *bytes = block->bytes;
    unlock(&pool->arenas);
    return status;
}

gp_pool *gp_arenas_pool_of(const void *ptr)
{
    gp_pool *pool = gp_address_table_pool((uintptr_t)ptr);
    /* In a forked child the lock may be somebody's for ever. */
    if (pool == NULL || gp_counter_get(&pool->arenas.count) == 0 || !gp_process_is_running())
        return NULL;
    gp_arena *arena;
    lock(&pool->arenas);
    const bool is_inside = span_at_locked(&pool->arenas, (uintptr_t)ptr, &arena) != NULL;
    unlock(&pool->arenas);
    return is_inside ? pool : NULL;
}

/* The capture that the free is part of; 0, which is no capture's, for none that is under way. */
static gp_status capture_of_free(gp_pool *pool, cudaStream_t stream, uint64_t *capture_id)
{
    gp_target target;
    *capture_id = 0;
    gp_status status = gp_thread_target(pool, stream, &target);
    if (status != GP_OK || target.cache != NULL)
        return status;
    status = pool->backend->ops->capture_id(stream, capture_id);
    return status == GP_ERR_CAPTURE ? GP_OK : status;
}

/* Only in the arena's own capture is the free ordered before what comes later there. */
static void give_locked(gp_arena *arena, gp_arena_span *block, const captured_stream *from)
{
    uint32_t lane = arena->capture_id == from->capture_id ? gp_arena_lane_of(arena, from->stream)
                                                          : GP_ARENA_ANY_LANE;
    if (lane == GP_ARENA_ANY_LANE)
        block->state = GP_ARENA_RETURNED;
    else
        gp_arena_give(arena, block, lane);
}

gp_status gp_arenas_free(gp_pool *pool, void *ptr, cudaStream_t stream)
{
    captured_stream from = {.stream = stream};
    gp_status status = capture_of_free(pool, stream, &from.capture_id);
    if (status != GP_OK)
        return status;

    gp_trace_block told = {.address = ptr, .stream = stream, .tier = GP_TIER_ARENA};
    gp_arena *arena;
    gp_arena_span *block;
    lock(&pool->arenas);
    status = find_live_locked(&pool->arenas, ptr, &arena, &block);
    if (status == GP_OK) {
        told.block_bytes = block->bytes;
        give_locked(arena, block, &from);
    }
    unlock(&pool->arenas);
    if (status != GP_OK)
        return status;
    if (from.capture_id != 0)
        (void)gp_counter_add_shared(&pool->captured.calls, 1);
    gp_trace_free(&pool->trace, &told);
    return GP_OK;
}

/* ---- the arena's owner ------------------------------------------------------------------ */

static gp_status capture_id_of(gp_pool *pool, cudaStream_t stream, uint64_t *capture_id)
{
    gp_target target;
    gp_status status = gp_thread_target(pool, stream, &target);
    if (status != GP_OK)
        return status;
    if (target.cache != NULL)
        return gp_error_set(GP_ERR_CAPTURE, "the stream does not capture");
    return pool->backend->ops->capture_id(stream, capture_id);
}

gp_status gp_capture_get_arena(gp_pool *pool, gp_arena **arena, cudaStream_t stream)
{
    if (arena == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "arena is NULL");
    gp_status status = gp_registry_check(pool);
    if (status != GP_OK)
        return status;
    if (pool->config.capture != GP_CAPTURE_ARENA)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "the pool's captures have no arenas");

    uint64_t capture_id;
    status = capture_id_of(pool, stream, &capture_id);
    if (status != GP_OK)
        return status;
    gp_arena *found;
    lock(&pool->arenas);
    status = find_or_make_locked(&pool->arenas, capture_id, &found);
    unlock(&pool->arenas);
    if (status == GP_OK)
        *arena = found;
    return status;
}

static bool has_arena(gp_pool *pool, const void *arena)
{
    lock(&pool->arenas);
    const bool has = has_locked(&pool->arenas, arena);
    unlock(&pool->arenas);
    return has;
}

/* False: another thread was faster. */
static bool unlist(gp_arenas *arenas, gp_arena *arena)
{
    lock(arenas);
    const bool has = has_locked(arenas, arena);
    if (has) {
        gp_arena **link = &arenas->first;
        while (*link != arena)
            link = &(*link)->next;
        *link = arena->next;
        gp_counter_sub(&arenas->count, 1);
    }
    unlock(arenas);
    return has;
}

static void give_back(gp_arena *arena, gp_thread_cache *cache, cudaStream_t stream)
{
    gp_pool *pool = cache->stream->pool;
    gp_span piece = {.base = 0, .bytes = 0};
    while (gp_arena_next_piece(arena, piece.base + piece.bytes, &piece)) {
        gp_trace_mark(&pool->trace, GP_TRACE_ARENA_GIVE, piece.bytes, cache->stream, stream);
        if (gp_thread_cache_is_heard(cache))
            gp_listen_free(cache, piece.base, piece.bytes, stream, GP_TIER_NONE);
        gp_page_set_large(gp_address_table_held(piece.base), GP_STATE_CACHED);
        gp_stats_sub_pinned(pool, piece.bytes);
        gp_stream_cache_give_large(cache->stream, piece);
        gp_tiers_settle(cache, stream);
    }
}

static gp_status not_an_arena(const gp_arena *arena)
{
    return gp_error_set(GP_ERR_INVALID_ARGUMENT, "%p is not an arena, or was released",
                        (const void *)arena);
}

gp_status gp_arena_release(gp_arena *arena, cudaStream_t stream)
{
    gp_status status = gp_process_check();
    if (status != GP_OK)
        return status;
    gp_pool *pool = arena == NULL ? NULL : gp_registry_find(has_arena, arena);
    if (pool == NULL)
        return not_an_arena(arena);
    gp_target target;
    status = gp_thread_target(pool, stream, &target);
    if (status != GP_OK)
        return status;
    if (target.cache == NULL)
        return gp_error_set(GP_ERR_CAPTURE, "an arena cannot be released on a capturing stream");
    if (!unlist(&pool->arenas, arena))
        return not_an_arena(arena);

    give_back(arena, target.cache, stream);
    gp_arena_drop(arena);
    return GP_OK;
}
