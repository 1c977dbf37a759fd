#include "guard.h"

#include <stdlib.h>

#include "findings.h"
#include "paint.h"
#include "pool.h"
#include "readback.h"

/* Copy both sides; *fence is behind that. */
static gp_status look(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream,
                      gp_fence **fence)
{
    const size_t bytes = pool->config.guard_bytes;
    const gp_readback_part before = {block->base - bytes, bytes, GP_PAINT_GUARD};
    const gp_readback_part behind = {block->base + block->bytes, bytes, GP_PAINT_GUARD};
    gp_readback *readback = gp_readback_begin(pool, GP_FINDING_OVERRUN, block);
    if (readback == NULL)
        return GP_ERR_OUT_OF_HOST_MEMORY;
    gp_status copied = gp_readback_copy(pool, readback, &before, stream);
    if (copied == GP_OK)
        copied = gp_readback_copy(pool, readback, &behind, stream);
    gp_status status = gp_readback_end(pool, readback, stream, fence);
    return copied == GP_OK ? status : copied;
}

void gp_guard_end(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    if (pool->config.guard_bytes > 0)
        gp_findings_count_look(pool, look(pool, block, stream, NULL));
}

static gp_status check_live(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    gp_fence *fence = NULL;
    /* Known complete: for tools that follow streams. */
    gp_status status = gp_fence_order(&pool->fences, block->fence, stream);
    if (status == GP_OK)
        status = look(pool, block, stream, &fence);
    if (fence != NULL)
        (void)gp_use_table_add(&pool->uses, &pool->fences, block->base, fence);
    return status;
}

void gp_guard_check_live(gp_pool *pool)
{
    gp_direct_block *blocks;
    size_t count;
    cudaStream_t stream;
    bool complete;
    if (pool->config.guard_bytes == 0)
        return;
    if (gp_readback_stream(pool, &stream) != GP_OK ||
        !gp_direct_table_list(&pool->direct, &blocks, &count)) {
        gp_findings_count_look(pool, GP_ERR_OUT_OF_HOST_MEMORY);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].state == GP_DIRECT_LIVE && gp_fence_poll(&pool->fences, blocks[i].fence))
            gp_findings_count_look(pool, check_live(pool, &blocks[i], stream));
    }
    free(blocks);
    (void)pool->backend->ops->stream_synchronize(pool->backend, stream, &complete);
}
