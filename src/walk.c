/* gp_pool_walk(): every segment and block, for leak reports and pictures. */
#include <stdlib.h>

#include "gp/stats.h"
#include "block.h"
#include "direct_table.h"
#include "error.h"
#include "pool.h"
#include "registry.h"

typedef struct walk_state {
    gp_walk_fn visit;
    void *user;
    gp_segment **segments; /* All of the pool, in address order. */
    size_t count;
    gp_direct_block *direct; /* Likewise: blocks that are a native span each. */
    size_t direct_count;
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
    if (walk->segments == NULL ||
        !gp_direct_table_list(&pool->direct, &walk->direct, &walk->direct_count)) {
        free(walk->segments);
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a walk");
    }
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

static bool visit_range(const walk_state *walk, gp_walk_kind kind, uintptr_t base, size_t bytes,
                        uint64_t stream_id)
{
    const gp_walk_entry entry = {
        .kind = kind, .address = (const void *)base, .bytes = bytes, .stream_id = stream_id};
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
        if (!visit_range(walk, kind_of(&block), block.slot.base, block.bytes,
                         stream_id_of(segment)))
            return false;
    }
    return true;
}

static bool visit_segment(const walk_state *walk, const gp_segment *segment)
{
    return visit_range(walk, GP_WALK_SEGMENT, segment->span.base, segment->span.bytes,
                       stream_id_of(segment)) &&
           visit_blocks(walk, segment);
}

static bool visit_direct(const walk_state *walk, const gp_direct_block *block)
{
    const gp_walk_kind kind = block->state == GP_DIRECT_LIVE ? GP_WALK_LIVE : GP_WALK_CACHED;
    return visit_range(walk, GP_WALK_SEGMENT, (uintptr_t)block->native, block->native_bytes,
                       block->stream_id) &&
           visit_range(walk, kind, block->base, block->bytes, block->stream_id);
}

static void visit_all(const walk_state *walk)
{
    size_t segment = 0;
    size_t direct = 0;
    bool goes_on = true;
    while (goes_on && segment + direct < walk->count + walk->direct_count) {
        const bool is_direct = direct < walk->direct_count &&
                               (segment == walk->count ||
                                walk->direct[direct].base < walk->segments[segment]->span.base);
        goes_on = is_direct ? visit_direct(walk, &walk->direct[direct++])
                            : visit_segment(walk, walk->segments[segment++]);
    }
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

    visit_all(&walk);
    free(walk.direct);
    free(walk.segments);
    return GP_OK;
}
