#include "order_watch.h"

#include <stdlib.h>

#include "findings.h"
#include "lock.h"
#include "pool.h"

static void lock(gp_order_watch *watch)
{
    gp_mutex_lock(&watch->lock, GP_RANK_LEAF);
}

static void unlock(gp_order_watch *watch)
{
    gp_mutex_unlock(&watch->lock, GP_RANK_LEAF);
}

static void drop(gp_fence_store *fences, const gp_watched_free *watched)
{
    gp_fence_release(fences, watched->allocation);
    gp_fence_release(fences, watched->free);
}

void gp_order_watch_init(gp_order_watch *watch)
{
    (void)pthread_mutex_init(&watch->lock, NULL);
}

/* ---- the ring --------------------------------------------------------------------- */

/* The oldest, if there is one. */
static bool take(gp_order_watch *watch, gp_watched_free *watched)
{
    lock(watch);
    const bool has = watch->begin < watch->end;
    if (has)
        *watched = watch->ring[watch->begin++ % GP_ORDER_WATCHED];
    unlock(watch);
    return has;
}

/* The youngest; *older made way for it. False without host memory. */
static bool put(gp_order_watch *watch, const gp_watched_free *watched, gp_watched_free *older)
{
    *older = (gp_watched_free){.free = NULL};
    lock(watch);
    if (watch->ring == NULL)
        watch->ring = malloc(GP_ORDER_WATCHED * sizeof(*watch->ring));
    const bool has_room = watch->ring != NULL;
    if (has_room && watch->end - watch->begin == GP_ORDER_WATCHED)
        *older = watch->ring[watch->begin++ % GP_ORDER_WATCHED];
    if (has_room)
        watch->ring[watch->end++ % GP_ORDER_WATCHED] = *watched;
    unlock(watch);
    return has_room;
}

void gp_order_watch_destroy(gp_order_watch *watch, gp_fence_store *fences)
{
    gp_watched_free watched;
    while (take(watch, &watched))
        drop(fences, &watched);
    free(watch->ring);
    (void)pthread_mutex_destroy(&watch->lock);
}

/* ---- in ------------------------------------------------------------------------------ */

static void keep(gp_pool *pool, const gp_watched_free *watched)
{
    gp_watched_free gone;
    if (!put(&pool->order_watch, watched, &gone))
        gone = *watched;
    if (gone.free != NULL)
        drop(&pool->fences, &gone);
}

void gp_order_watch_free(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    if (!pool->config.watch_order || block->freed_on == block->stream_id)
        return;
    gp_watched_free watched = {
        .finding =
            {
                .kind = GP_FINDING_UNORDERED_FREE,
                .block = (const void *)block->base,
                .address = (const void *)block->base,
                .bytes = block->bytes,
                .stream_id = block->stream_id,
                .freed_on = block->freed_on,
            },
    };
    if (gp_fence_poll(&pool->fences, block->fence) ||
        gp_fence_record(&pool->fences, stream, block->freed_on, 0, &watched.free) != GP_OK)
        return;
    watched.allocation = gp_fence_retain(block->fence);
    keep(pool, &watched);
}

/* ---- out ------------------------------------------------------------------------------ */

/* Unlike gp_fence_poll() a call that failed is no answer. */
static bool is_pending(gp_pool *pool, const gp_fence *fence)
{
    bool complete = true;
    gp_status status = pool->backend->ops->event_query(pool->backend, fence->event, &complete);
    return status == GP_OK && !complete;
}

/* Is there nothing more to see? The free is asked about first. */
static bool judge(gp_pool *pool, gp_watched_free *watched)
{
    if (!gp_fence_poll(&pool->fences, watched->free))
        return gp_fence_poll(&pool->fences, watched->allocation);
    if (is_pending(pool, watched->allocation))
        gp_findings_add(pool, &watched->finding);
    return true;
}

void gp_order_watch_collect(gp_pool *pool)
{
    gp_order_watch *watch = &pool->order_watch;
    if (!pool->config.watch_order)
        return;
    lock(watch);
    uint64_t count = watch->end - watch->begin;
    unlock(watch);
    gp_watched_free watched;
    while (count-- > 0 && take(watch, &watched)) {
        if (judge(pool, &watched))
            drop(&pool->fences, &watched);
        else
            keep(pool, &watched);
    }
}
