#include "readback.h"

#include <stdlib.h>

#include "findings.h"
#include "lock.h"
#include "pool.h"

/* A driver may take long to lock memory for a device, so there are few of them. */
#define SLAB_BYTES ((size_t)1 << 20)

/* Slabs that a device may write to yet. */
static _Atomic(gp_readback_slab *) abandoned;

static void lock(gp_readbacks *readbacks)
{
    gp_mutex_lock(&readbacks->lock, GP_RANK_LEAF);
}

static void unlock(gp_readbacks *readbacks)
{
    gp_mutex_unlock(&readbacks->lock, GP_RANK_LEAF);
}

void gp_readbacks_init(gp_readbacks *readbacks, size_t slot_bytes)
{
    readbacks->slot_bytes = slot_bytes;
    readbacks->pending_end = &readbacks->pending;
    (void)pthread_mutex_init(&readbacks->lock, NULL);
}

/* ---- the stream ---------------------------------------------------------------------- */

static gp_status make_stream(gp_pool *pool)
{
    gp_readbacks *readbacks = &pool->readbacks;
    cudaStream_t stream;
    gp_status status = pool->backend->ops->stream_create(pool->backend, &stream);
    if (status != GP_OK)
        return status;
    lock(readbacks);
    const bool mine = !readbacks->has_stream;
    if (mine) {
        readbacks->stream = stream;
        readbacks->has_stream = true;
    }
    unlock(readbacks);
    if (!mine)
        pool->backend->ops->stream_destroy(pool->backend, stream);
    return GP_OK;
}

gp_status gp_readback_stream(gp_pool *pool, cudaStream_t *stream)
{
    gp_readbacks *readbacks = &pool->readbacks;
    lock(readbacks);
    const bool ready = readbacks->has_stream;
    unlock(readbacks);
    gp_status status = ready ? GP_OK : make_stream(pool);
    if (status == GP_OK)
        *stream = readbacks->stream;
    return status;
}

void gp_readback_order(gp_pool *pool, cudaStream_t stream)
{
    gp_fence *fence;
    if (!pool->readbacks.has_stream ||
        gp_fence_record(&pool->fences, pool->readbacks.stream, 0, 0, &fence) != GP_OK)
        return;
    (void)gp_fence_wait(&pool->fences, fence, stream);
    gp_fence_release(&pool->fences, fence);
}

/* ---- slots ----------------------------------------------------------------------- */

static size_t slots_of_slab(const gp_readbacks *readbacks)
{
    return readbacks->slot_bytes < SLAB_BYTES ? SLAB_BYTES / readbacks->slot_bytes : 1;
}

static gp_readback_slab *make_slab(gp_pool *pool)
{
    const size_t count = slots_of_slab(&pool->readbacks);
    const size_t slot_bytes = pool->readbacks.slot_bytes;
    gp_readback_slab *slab = calloc(1, sizeof(*slab));
    gp_readback *slots = calloc(count, sizeof(*slots));
    if (slab == NULL || slots == NULL ||
        pool->backend->ops->host_alloc(pool->backend, &slab->host, count * slot_bytes) != GP_OK) {
        free(slots);
        free(slab);
        return NULL;
    }
    slab->slots = slots;
    for (size_t i = 0; i < count; i++) {
        slots[i].host = (unsigned char *)slab->host + i * slot_bytes;
        slots[i].next = i + 1 < count ? &slots[i + 1] : NULL;
    }
    return slab;
}

static gp_readback *take_spare(gp_readbacks *readbacks)
{
    lock(readbacks);
    gp_readback *spare = readbacks->spare;
    if (spare != NULL)
        readbacks->spare = spare->next;
    unlock(readbacks);
    return spare;
}

static void put_spare(gp_readbacks *readbacks, gp_readback *readback)
{
    lock(readbacks);
    readback->next = readbacks->spare;
    readbacks->spare = readback;
    unlock(readbacks);
}

/* The first slot is the caller's. */
static gp_readback *add_slab(gp_pool *pool)
{
    gp_readbacks *readbacks = &pool->readbacks;
    gp_readback_slab *slab = make_slab(pool);
    if (slab == NULL)
        return NULL;
    gp_readback *last = &slab->slots[slots_of_slab(readbacks) - 1];
    lock(readbacks);
    slab->next = readbacks->slabs;
    readbacks->slabs = slab;
    if (last != slab->slots) {
        last->next = readbacks->spare;
        readbacks->spare = &slab->slots[1];
    }
    unlock(readbacks);
    return slab->slots;
}

void gp_readbacks_prepare(gp_pool *pool)
{
    gp_readback *first = pool->readbacks.slot_bytes > 0 ? add_slab(pool) : NULL;
    if (first != NULL)
        put_spare(&pool->readbacks, first);
}

gp_readback *gp_readback_begin(gp_pool *pool, gp_finding_kind kind, const gp_direct_block *block)
{
    gp_readback *readback = take_spare(&pool->readbacks);
    if (readback == NULL)
        readback = add_slab(pool);
    if (readback == NULL)
        return NULL;
    readback->finding = (gp_finding){
        .kind = kind,
        .block = (const void *)block->base,
        .bytes = block->bytes,
        .stream_id = block->stream_id,
        .freed_on = block->freed_on,
    };
    readback->fence = NULL;
    readback->part_count = 0;
    readback->used = 0;
    return readback;
}

/* ---- copies -------------------------------------------------------------------------- */

gp_status gp_readback_copy(gp_pool *pool, gp_readback *readback, const gp_readback_part *part,
                           cudaStream_t stream)
{
    gp_status status =
        pool->backend->ops->copy_to_host(pool->backend, readback->host + readback->used,
                                         (const void *)part->base, part->bytes, stream);
    if (status != GP_OK)
        return status;
    readback->parts[readback->part_count++] = *part;
    readback->used += part->bytes;
    return GP_OK;
}

static void add_pending(gp_readbacks *readbacks, gp_readback *readback)
{
    lock(readbacks);
    readback->next = NULL;
    *readbacks->pending_end = readback;
    readbacks->pending_end = &readback->next;
    unlock(readbacks);
}

/* Without a fence the room is not used again. */
gp_status gp_readback_end(gp_pool *pool, gp_readback *readback, cudaStream_t stream,
                          gp_fence **fence)
{
    if (readback->part_count == 0) {
        put_spare(&pool->readbacks, readback);
        return GP_OK;
    }
    gp_status status = gp_fence_record(&pool->fences, stream, 0, 0, &readback->fence);
    if (status != GP_OK) {
        lock(&pool->readbacks);
        pool->readbacks.has_lost = true;
        unlock(&pool->readbacks);
        return status;
    }
    if (fence != NULL)
        *fence = gp_fence_retain(readback->fence);
    add_pending(&pool->readbacks, readback);
    return GP_OK;
}

/* ---- comparing --------------------------------------------------------------------------- */

static bool differs(const gp_readback *readback, uintptr_t *address)
{
    const unsigned char *host = readback->host;
    for (uint32_t i = 0; i < readback->part_count; i++) {
        const gp_readback_part *part = &readback->parts[i];
        for (size_t k = 0; k < part->bytes; k++) {
            if (host[k] != part->expected) {
                *address = part->base + k;
                return true;
            }
        }
        host += part->bytes;
    }
    return false;
}

/* The oldest, if the device is past it. */
static gp_readback *take_complete(gp_pool *pool)
{
    gp_readbacks *readbacks = &pool->readbacks;
    lock(readbacks);
    gp_readback *oldest = readbacks->pending;
    gp_fence *fence = oldest == NULL ? NULL : gp_fence_retain(oldest->fence);
    unlock(readbacks);
    if (oldest == NULL)
        return NULL;

    const bool complete = gp_fence_poll(&pool->fences, fence);
    lock(readbacks);
    /* Another thread may have taken it meanwhile, and the next one is for the next look. */
    const bool mine = complete && readbacks->pending == oldest && oldest->fence == fence;
    if (mine) {
        readbacks->pending = oldest->next;
        if (readbacks->pending == NULL)
            readbacks->pending_end = &readbacks->pending;
    }
    unlock(readbacks);
    gp_fence_release(&pool->fences, fence);
    return mine ? oldest : NULL;
}

void gp_readback_collect(gp_pool *pool)
{
    gp_readback *readback;
    while (pool->readbacks.slot_bytes > 0 && (readback = take_complete(pool)) != NULL) {
        gp_finding finding = readback->finding;
        uintptr_t address = 0;
        const bool found = differs(readback, &address);
        gp_fence_release(&pool->fences, readback->fence);
        put_spare(&pool->readbacks, readback);
        if (!found)
            continue;
        finding.address = (const void *)address;
        gp_findings_add(pool, &finding);
    }
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Wait for all copies, for a moment. */
static bool settle(gp_pool *pool)
{
    cudaStream_t stream;
    if (gp_readback_stream(pool, &stream) != GP_OK)
        return false;
    for (gp_readback *each = pool->readbacks.pending; each != NULL; each = each->next) {
        if (gp_fence_wait(&pool->fences, each->fence, stream) != GP_OK)
            return false;
    }
    return gp_global_tier_wait_briefly(&pool->global, stream);
}

static void drop_slab(gp_pool *pool, gp_readback_slab *slab, bool is_idle)
{
    if (is_idle) {
        pool->backend->ops->host_free(pool->backend, slab->host);
        free(slab->slots);
        free(slab);
        return;
    }
    slab->next = atomic_load(&abandoned);
    while (!atomic_compare_exchange_weak(&abandoned, &slab->next, slab)) {
    }
}

void gp_readbacks_destroy(gp_pool *pool)
{
    gp_readbacks *readbacks = &pool->readbacks;
    bool is_idle = true;
    gp_readback_collect(pool);
    if (readbacks->pending != NULL) {
        is_idle = settle(pool);
        gp_readback_collect(pool);
    }
    for (gp_readback *each = readbacks->pending; each != NULL; each = each->next)
        gp_fence_release(&pool->fences, each->fence);
    while (readbacks->slabs != NULL) {
        gp_readback_slab *slab = readbacks->slabs;
        readbacks->slabs = slab->next;
        drop_slab(pool, slab, is_idle && !readbacks->has_lost);
    }
    if (readbacks->has_stream)
        pool->backend->ops->stream_destroy(pool->backend, readbacks->stream);
    (void)pthread_mutex_destroy(&readbacks->lock);
}
