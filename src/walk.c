/* gp_pool_walk(): every segment and block, for leak reports and pictures. */
#include <stdlib.h>

#include "gp/stats.h"
#include "block.h"
#include "error.h"
#include "pool.h"
#include "registry.h"

typedef struct walk_state {
    gp_walk_fn visit;
    void *user;
    gp_segment **segments; /* All of the pool, in address order. */
    size_t count;
} walk_state;

static size_t count_list(const gp_segment_list *list)
{
    size_t count = 0;
    for (const gp_segment *segment = list->first; segment; segment = segment->next)
        count++;
    return count;
}

static size_t count_segments(gp_pool *pool)
{
    size_t count = count_list(&pool->large.segments) + count_list(&pool->chunks.segments);
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next)
        count += count_list(&cache->chunks);
    return count;
}

static void add_list(const gp_segment_list *list, walk_state *walk)
{
    for (gp_segment *segment = list->first; segment; segment = segment->next)
        walk->segments[walk->count++] = segment;
}

static int compare_addresses(const void *left, const void *right)
{
    const gp_segment *a = *(gp_segment *const *)left;
    const gp_segment *b = *(gp_segment *const *)right;
    return (a->span.base > b->span.base) - (a->span.base < b->span.base);
}

static gp_status gather(gp_pool *pool, walk_state *walk)
{
    walk->count = 0;
    walk->segments = malloc((count_segments(pool) + 1) * sizeof(gp_segment *));
    if (walk->segments == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a walk");
    add_list(&pool->large.segments, walk);
    add_list(&pool->chunks.segments, walk);
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next)
        add_list(&cache->chunks, walk);
    qsort(walk->segments, walk->count, sizeof(gp_segment *), compare_addresses);
    return GP_OK;
}

/* 0, which is no stream's id, for the commons. */
static uint64_t stream_id_of(const gp_segment *segment)
{
    return segment->home == NULL ? 0 : segment->home->stream_id;
}

static bool visit_segment(const walk_state *walk, const gp_segment *segment)
{
    const gp_walk_entry entry = {
        .kind = GP_WALK_SEGMENT,
        .address = (const void *)segment->span.base,
        .bytes = segment->span.bytes,
        .stream_id = stream_id_of(segment),
    };
    return walk->visit(&entry, walk->user);
}

static gp_walk_kind kind_of(const gp_block *block)
{
    switch (gp_block_state(block)) {
    case GP_STATE_LIVE:
        return GP_WALK_LIVE;
    case GP_STATE_PINNED:
        return GP_WALK_ARENA;
    default:
        return GP_WALK_CACHED;
    }
}

static bool visit_blocks(const walk_state *walk, const gp_segment *segment)
{
    uintptr_t address = segment->span.base;
    gp_block block;
    while (gp_block_next(segment, &address, &block)) {
        const gp_walk_entry entry = {
            .kind = kind_of(&block),
            .address = (const void *)block.slot.base,
            .bytes = block.bytes,
            .stream_id = stream_id_of(segment),
        };
        if (!walk->visit(&entry, walk->user))
            return false;
    }
    return true;
}

gp_status gp_pool_walk(gp_pool *pool, gp_walk_fn visit, void *user)
{
    if (visit == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "visit is NULL");
    walk_state walk = {.visit = visit, .user = user};
    gp_status status = gp_registry_check(pool);
    if (status == GP_OK)
        status = gather(pool, &walk);
    if (status != GP_OK)
        return status;

    for (size_t i = 0; i < walk.count; i++) {
        if (!visit_segment(&walk, walk.segments[i]) || !visit_blocks(&walk, walk.segments[i]))
            break;
    }
    free(walk.segments);
    return GP_OK;
}
