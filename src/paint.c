#include "paint.h"

#include "pool.h"

static gp_status fill(gp_pool *pool, uintptr_t base, size_t bytes, unsigned char value,
                      cudaStream_t stream)
{
    return pool->backend->ops->fill(pool->backend, (void *)base, value, bytes, stream);
}

static gp_status fill_guards(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    const size_t bytes = pool->config.guard_bytes;
    if (bytes == 0)
        return GP_OK;
    gp_status status = fill(pool, block->base - bytes, bytes, GP_PAINT_GUARD, stream);
    return status == GP_OK ? fill(pool, block->base + block->bytes, bytes, GP_PAINT_GUARD, stream)
                           : status;
}

gp_status gp_paint_fresh(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    gp_status status = fill_guards(pool, block, stream);
    if (status != GP_OK)
        return status;
    return pool->config.poison ? fill(pool, block->base, block->bytes, GP_POISON_FRESH, stream)
                               : GP_OK;
}

void gp_paint_freed(gp_pool *pool, gp_direct_block *block, cudaStream_t stream)
{
    block->is_poisoned = pool->config.poison &&
                         fill(pool, block->base, block->bytes, GP_POISON_FREED, stream) == GP_OK;
}
