#include "fence.h"

#include <stdlib.h>

#include "error.h"
#include "visible_order.h"

void gp_fence_store_init(gp_fence_store *store, gp_backend *backend, gp_trace *trace)
{
    store->pool = NULL;
    store->backend = backend;
    store->trace = trace;
    store->spare = NULL;
}

void gp_fence_store_destroy(gp_fence_store *store)
{
    gp_fence *fence = store->spare;
    while (fence != NULL) {
        gp_fence *next = fence->next;
        store->backend->ops->event_destroy(store->backend, fence->event);
        free(fence);
        fence = next;
    }
}

static gp_fence *take_spare(gp_fence_store *store)
{
    gp_lock_acquire(&store->lock, GP_RANK_LEAF);
    gp_fence *fence = store->spare;
    if (fence != NULL)
        store->spare = fence->next;
    gp_lock_release(&store->lock, GP_RANK_LEAF);
    return fence;
}

static void keep_spare(gp_fence_store *store, gp_fence *fence)
{
    gp_lock_acquire(&store->lock, GP_RANK_LEAF);
    fence->next = store->spare;
    store->spare = fence;
    gp_lock_release(&store->lock, GP_RANK_LEAF);
}

static gp_status make(gp_fence_store *store, gp_fence **fence)
{
    gp_fence *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a fence");

    gp_status status = store->backend->ops->event_create(store->backend, &made->event);
    if (status != GP_OK) {
        free(made);
        return status;
    }
    *fence = made;
    return GP_OK;
}

gp_status gp_fence_record(gp_fence_store *store, cudaStream_t stream, uint64_t stream_id,
                          uint64_t covers, gp_fence **fence)
{
    gp_fence *recorded = take_spare(store);
    if (recorded == NULL) {
        gp_status status = make(store, &recorded);
        if (status != GP_OK)
            return status;
    }

    (void)gp_counter_add_shared(&store->records, 1);
    gp_status status = store->backend->ops->event_record(store->backend, recorded->event, stream);
    if (status != GP_OK) {
        keep_spare(store, recorded);
        return status;
    }

    recorded->stream_id = stream_id;
    recorded->covers = covers;
    atomic_store(&recorded->references, 1);
    atomic_store(&recorded->complete, false);
    *fence = recorded;
    return GP_OK;
}

gp_fence *gp_fence_retain(gp_fence *fence)
{
    atomic_fetch_add_explicit(&fence->references, 1, memory_order_relaxed);
    return fence;
}

void gp_fence_release(gp_fence_store *store, gp_fence *fence)
{
    if (fence == NULL)
        return;
    /* Recording the event again does not disturb waits that were queued on it:
     * a wait holds the position the event had when the wait was queued. */
    if (atomic_fetch_sub_explicit(&fence->references, 1, memory_order_acq_rel) == 1)
        keep_spare(store, fence);
}

bool gp_fence_poll(gp_fence_store *store, gp_fence *fence)
{
    if (atomic_load_explicit(&fence->complete, memory_order_acquire))
        return true;

    bool complete = false;
    (void)gp_counter_add_shared(&store->queries, 1);
    gp_status status = store->backend->ops->event_query(store->backend, fence->event, &complete);
    if (status != GP_OK || !complete)
        return false;
    if (store->pool != NULL)
        gp_visible_order_complete(store->pool, fence);
    atomic_store_explicit(&fence->complete, true, memory_order_release);
    return true;
}

gp_status gp_fence_wait(gp_fence_store *store, gp_fence *fence, cudaStream_t stream)
{
    if (store->pool == NULL && atomic_load_explicit(&fence->complete, memory_order_acquire))
        return GP_OK;
    return gp_fence_order(store, fence, stream);
}

gp_status gp_fence_order(gp_fence_store *store, const gp_fence *fence, cudaStream_t stream)
{
    (void)gp_counter_add_shared(&store->waits, 1);
    gp_trace_mark(store->trace, GP_TRACE_STREAM_WAIT, 0, NULL, stream);
    return store->backend->ops->stream_wait(store->backend, stream, fence->event);
}
