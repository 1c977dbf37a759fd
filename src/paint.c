#include "paint.h"

#include "pool.h"

static gp_status fill(gp_pool *pool, uintptr_t base, size_t bytes, unsigned char value,
                      cudaStream_t stream)
{
    return pool->backend->ops->fill(pool->backend, (void *)base, value, bytes, stream);
}

gp_status gp_paint_fresh(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    return pool->config.poison ? fill(pool, block->base, block->bytes, GP_POISON_FRESH, stream)
                               : GP_OK;
}

gp_status gp_paint_freed(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    return pool->config.poison ? fill(pool, block->base, block->bytes, GP_POISON_FREED, stream)
                               : GP_OK;
}
