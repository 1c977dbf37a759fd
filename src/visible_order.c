#include "visible_order.h"

#include "pool.h"

/* gp's own stream, if the pool's order is to be seen. */
static bool get_own_stream(gp_pool *pool, cudaStream_t *own_stream)
{
    return pool->config.visible_order &&
           gp_global_tier_own_stream(&pool->global, own_stream) == GP_OK;
}

/* Let `after` wait for where `before` is now. Best effort: it changes nothing but what tools
 * see. */
static void order(gp_pool *pool, cudaStream_t before, cudaStream_t after)
{
    gp_fence *fence;
    if (gp_fence_record(&pool->fences, before, 0, 0, &fence) != GP_OK)
        return;
    (void)gp_fence_order(&pool->fences, fence, after);
    gp_fence_release(&pool->fences, fence);
}

void gp_visible_order_idle(gp_pool *pool, cudaStream_t stream)
{
    cudaStream_t own_stream;
    if (get_own_stream(pool, &own_stream))
        order(pool, stream, own_stream);
}

void gp_visible_order_complete(gp_pool *pool, const gp_fence *fence)
{
    cudaStream_t own_stream;
    if (get_own_stream(pool, &own_stream))
        (void)gp_fence_order(&pool->fences, fence, own_stream);
}

void gp_visible_order_taken(gp_pool *pool, cudaStream_t stream)
{
    cudaStream_t own_stream;
    if (get_own_stream(pool, &own_stream))
        order(pool, own_stream, stream);
}
