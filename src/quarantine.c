#include "quarantine.h"

#include "direct.h"
#include "findings.h"
#include "lock.h"
#include "pool.h"
#include "readback.h"

static void lock(gp_quarantine *quarantine)
{
    gp_mutex_lock(&quarantine->lock, GP_RANK_LEAF);
}

static void unlock(gp_quarantine *quarantine)
{
    gp_mutex_unlock(&quarantine->lock, GP_RANK_LEAF);
}

void gp_quarantine_init(gp_quarantine *quarantine)
{
    (void)pthread_mutex_init(&quarantine->lock, NULL);
    TAILQ_INIT(&quarantine->held);
}

void gp_quarantine_destroy(gp_quarantine *quarantine)
{
    (void)pthread_mutex_destroy(&quarantine->lock);
}

/* ---- in --------------------------------------------------------------------------- */

bool gp_quarantine_take_in(gp_pool *pool, gp_direct_block *block, cudaStream_t stream)
{
    gp_quarantine *quarantine = &pool->quarantine;
    if (pool->config.quarantine_bytes == 0 ||
        gp_fence_record(&pool->fences, stream, block->freed_on, 0, &block->fence) != GP_OK)
        return false;
    gp_direct_table_restore(&pool->direct, block, GP_DIRECT_HELD);
    lock(quarantine);
    TAILQ_INSERT_TAIL(&quarantine->held, block, by_age);
    gp_counter_add(&quarantine->bytes, block->native_bytes);
    unlock(quarantine);
    return true;
}

/* ---- out -------------------------------------------------------------------------- */

/* The oldest, if the device is past its free. */
static gp_direct_block *take_oldest(gp_pool *pool, uint64_t keep_bytes)
{
    gp_quarantine *quarantine = &pool->quarantine;
    lock(quarantine);
    gp_direct_block *oldest = TAILQ_FIRST(&quarantine->held);
    if (gp_counter_get(&quarantine->bytes) <= keep_bytes)
        oldest = NULL;
    gp_fence *fence = oldest == NULL ? NULL : gp_fence_retain(oldest->fence);
    unlock(quarantine);
    if (oldest == NULL)
        return NULL;

    const bool complete = gp_fence_poll(&pool->fences, fence);
    lock(quarantine);
    /* Unless another thread was faster. */
    const bool mine =
        complete && TAILQ_FIRST(&quarantine->held) == oldest && oldest->fence == fence;
    if (mine) {
        TAILQ_REMOVE(&quarantine->held, oldest, by_age);
        gp_counter_sub(&quarantine->bytes, oldest->native_bytes);
    }
    unlock(quarantine);
    gp_fence_release(&pool->fences, fence);
    return mine ? oldest : NULL;
}

static gp_status copy_ends(gp_pool *pool, gp_readback *readback, const gp_direct_block *block,
                           cudaStream_t stream)
{
    const size_t half = GP_QUARANTINE_LOOK_BYTES / 2;
    gp_readback_part part = {block->base, block->bytes, GP_POISON_FREED};
    if (block->bytes <= 2 * half)
        return gp_readback_copy(pool, readback, &part, stream);
    part.bytes = half;
    gp_status status = gp_readback_copy(pool, readback, &part, stream);
    part.base = block->base + block->bytes - half;
    return status == GP_OK ? gp_readback_copy(pool, readback, &part, stream) : status;
}

static gp_status look(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    gp_readback *readback = gp_readback_begin(pool, GP_FINDING_LATE_WRITE, block);
    if (readback == NULL)
        return GP_ERR_OUT_OF_HOST_MEMORY;
    gp_status copied = copy_ends(pool, readback, block, stream);
    gp_status status = gp_readback_end(pool, readback, stream, NULL);
    return copied == GP_OK ? status : copied;
}

void gp_quarantine_look(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    if (block->is_poisoned)
        gp_findings_count_look(pool, look(pool, block, stream));
}

static void let_go(gp_pool *pool, gp_direct_block *block, cudaStream_t stream)
{
    gp_quarantine_look(pool, block, stream);
    gp_fence_release(&pool->fences, block->fence);
    block->fence = NULL;
    gp_direct_table_restore(&pool->direct, block, GP_DIRECT_ENDING);
    gp_direct_give_back(pool, block, stream);
}

void gp_quarantine_let_out(gp_pool *pool, uint64_t keep_bytes)
{
    cudaStream_t stream;
    if (gp_counter_get(&pool->quarantine.bytes) <= keep_bytes ||
        gp_readback_stream(pool, &stream) != GP_OK)
        return;
    gp_direct_block *block;
    while ((block = take_oldest(pool, keep_bytes)) != NULL)
        let_go(pool, block, stream);
}
