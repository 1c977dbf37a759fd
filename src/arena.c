#include "arena.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "error.h"

/* cudaStreamPerThread */
#define PER_THREAD_HANDLE ((uintptr_t)2)

static int compare(const gp_arena_span *a, const gp_arena_span *b)
{
    return (a->base > b->base) - (a->base < b->base);
}

GP_TREE_GENERATE(gp_arena_tree, gp_arena_span, by_address, compare)

/* ---- life ------------------------------------------------------------------- */

gp_arena *gp_arena_make(uint64_t capture_id)
{
    gp_arena *arena = calloc(1, sizeof(*arena));
    if (arena == NULL)
        return NULL;
    arena->capture_id = capture_id;
    RB_INIT(&arena->spans);
    return arena;
}

void gp_arena_drop(gp_arena *arena)
{
    gp_arena_span *span;
    while ((span = RB_MIN(gp_arena_tree, &arena->spans)) != NULL) {
        (void)RB_REMOVE(gp_arena_tree, &arena->spans, span);
        free(span);
    }
    free(arena->lanes);
    free(arena);
}

/* ---- lanes -------------------------------------------------------------------- */

/* A number that no other thread of the process ever has. */
static uint64_t thread_number(void)
{
    static _Atomic(uint64_t) last;
    static _Thread_local uint64_t own;
    if (own == 0)
        own = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return own;
}

uint32_t gp_arena_lane_of(gp_arena *arena, cudaStream_t stream)
{
    const uint64_t thread = (uintptr_t)stream == PER_THREAD_HANDLE ? thread_number() : 0;
    for (uint32_t i = 0; i < arena->lane_count; i++) {
        if (arena->lanes[i].stream == stream && arena->lanes[i].thread == thread)
            return i + 1;
    }
    gp_arena_lane *lanes = realloc(arena->lanes, (arena->lane_count + 1) * sizeof(*lanes));
    if (lanes == NULL)
        return GP_ARENA_ANY_LANE;
    lanes[arena->lane_count++] = (gp_arena_lane){.stream = stream, .thread = thread};
    arena->lanes = lanes;
    return arena->lane_count;
}

/* ---- cutting ---------------------------------------------------------------------- */

static gp_arena_span *insert_free(gp_arena *arena, uintptr_t base, size_t bytes, uint32_t lane)
{
    gp_arena_span *span = calloc(1, sizeof(*span));
    if (span == NULL)
        return NULL;
    *span = (gp_arena_span){.base = base, .bytes = bytes, .state = GP_ARENA_FREE, .lane = lane};
    (void)RB_INSERT(gp_arena_tree, &arena->spans, span);
    return span;
}

bool gp_arena_add(gp_arena *arena, gp_span piece)
{
    gp_arena_span *span = insert_free(arena, piece.base, piece.bytes, GP_ARENA_ANY_LANE);
    if (span == NULL)
        return false;
    span->starts_piece = true;
    return true;
}

static size_t bytes_to_align(const gp_arena_span *span, size_t alignment)
{
    return gp_round_up(span->base, alignment) - span->base;
}

static bool fits(const gp_arena_span *span, uint32_t lane, const gp_request *request)
{
    return span->state == GP_ARENA_FREE &&
           (span->lane == lane || span->lane == GP_ARENA_ANY_LANE) &&
           span->bytes >= request->bytes &&
           bytes_to_align(span, request->alignment) <= span->bytes - request->bytes;
}

/* What the lane freed before is of no use to others, so it goes first; then the smallest. */
static bool is_better(const gp_arena_span *span, const gp_arena_span *best)
{
    const bool is_own = span->lane != GP_ARENA_ANY_LANE;
    if (best == NULL || is_own != (best->lane != GP_ARENA_ANY_LANE))
        return best == NULL || is_own;
    return span->bytes < best->bytes;
}

static gp_arena_span *find_best(gp_arena *arena, uint32_t lane, const gp_request *request)
{
    gp_arena_span *best = NULL;
    gp_arena_span *span;
    RB_FOREACH (span, gp_arena_tree, &arena->spans) {
        if (fits(span, lane, request) && is_better(span, best))
            best = span;
    }
    return best;
}

/* The upper part of a free span becomes a span of its own. NULL without host memory. */
static gp_arena_span *split(gp_arena *arena, gp_arena_span *span, size_t bytes)
{
    gp_arena_span *upper = insert_free(arena, span->base + bytes, span->bytes - bytes, span->lane);
    if (upper != NULL)
        span->bytes = bytes;
    return upper;
}

static gp_status no_memory(void)
{
    return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a block of an arena");
}

gp_status gp_arena_take(gp_arena *arena, uint32_t lane, const gp_request *request,
                        gp_arena_span **block)
{
    gp_arena_span *span = find_best(arena, lane, request);
    if (span == NULL) {
        *block = NULL;
        return GP_OK;
    }
    const size_t head = bytes_to_align(span, request->alignment);
    if (head > 0 && (span = split(arena, span, head)) == NULL)
        return no_memory();
    if (span->bytes > request->bytes && split(arena, span, request->bytes) == NULL)
        return no_memory();
    span->state = GP_ARENA_LIVE;
    *block = span;
    return GP_OK;
}

static bool joins(const gp_arena_span *lower, const gp_arena_span *upper)
{
    return lower != NULL && upper != NULL && lower->state == GP_ARENA_FREE &&
           upper->state == GP_ARENA_FREE && lower->lane == upper->lane && !upper->starts_piece &&
           lower->base + lower->bytes == upper->base;
}

static void join(gp_arena *arena, gp_arena_span *lower, gp_arena_span *upper)
{
    (void)RB_REMOVE(gp_arena_tree, &arena->spans, upper);
    lower->bytes += upper->bytes;
    free(upper);
}

void gp_arena_give(gp_arena *arena, gp_arena_span *block, uint32_t lane)
{
    block->state = GP_ARENA_FREE;
    block->lane = lane;
    gp_arena_span *above = RB_NEXT(gp_arena_tree, &arena->spans, block);
    if (joins(block, above))
        join(arena, block, above);
    gp_arena_span *below = RB_PREV(gp_arena_tree, &arena->spans, block);
    if (joins(below, block))
        join(arena, below, block);
}

/* ---- looking -------------------------------------------------------------------------- */

gp_arena_span *gp_arena_find(gp_arena *arena, uintptr_t address)
{
    gp_arena_span *found = NULL;
    gp_arena_span *span = RB_ROOT(&arena->spans);
    while (span != NULL) {
        if (span->base <= address)
            found = span;
        span = span->base <= address ? RB_RIGHT(span, by_address) : RB_LEFT(span, by_address);
    }
    return found != NULL && address - found->base < found->bytes ? found : NULL;
}

bool gp_arena_next_piece(gp_arena *arena, uintptr_t address, gp_span *piece)
{
    gp_arena_span key = {.base = address};
    gp_arena_span *span = RB_NFIND(gp_arena_tree, &arena->spans, &key);
    while (span != NULL && !span->starts_piece)
        span = RB_NEXT(gp_arena_tree, &arena->spans, span);
    if (span == NULL)
        return false;

    *piece = (gp_span){.base = span->base, .bytes = span->bytes};
    for (span = RB_NEXT(gp_arena_tree, &arena->spans, span); span != NULL && !span->starts_piece;
         span = RB_NEXT(gp_arena_tree, &arena->spans, span))
        piece->bytes += span->bytes;
    return true;
}
