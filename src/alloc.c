/* The public allocation calls. The hit is here, in full; all else is elsewhere. */
#include "gp/pool.h"
#include "error.h"
#include "pool.h"
#include "thread.h"
#include "tiers.h"

/* ---- past the hit ------------------------------------------------------------ */

/* As a memory node of the graph. */
static gp_status alloc_node(void **ptr, size_t bytes, gp_pool *pool, cudaStream_t stream)
{
    void *block;
    gp_status status =
        pool->backend->ops->alloc(pool->backend, &block, bytes, pool->global.native, stream);
    if (status != GP_OK)
        return status;
    status = gp_captured_blocks_add(&pool->captured, (uintptr_t)block);
    if (status != GP_OK) {
        (void)pool->backend->ops->free(pool->backend, block, stream);
        return status;
    }
    *ptr = block;
    return GP_OK;
}

static gp_request make_request(size_t bytes, size_t alignment, const gp_pool_config *config)
{
    return gp_request_make(bytes, alignment > config->alignment ? alignment : config->alignment,
                           config->large_bytes);
}

static gp_status alloc_captured(void **ptr, size_t bytes, size_t alignment, gp_pool *pool,
                                cudaStream_t stream)
{
    const gp_request request = make_request(bytes, alignment, &pool->config);
    gp_status status = pool->config.capture == GP_CAPTURE_ARENA
                           ? gp_arenas_alloc(pool, ptr, &request, stream)
                           : alloc_node(ptr, bytes, pool, stream);
    if (status == GP_OK)
        (void)gp_counter_add_shared(&pool->captured.calls, 1);
    return status;
}

/* What every allocation past the hit ends with. */
static gp_status hand_out(void **ptr, uintptr_t base, size_t bytes, gp_thread_cache *cache,
                          cudaStream_t stream)
{
    gp_tiers_settle(cache, stream);
    if (cache->listener != NULL)
        cache->listener->note_alloc((void *)base, bytes, stream);
    *ptr = (void *)base;
    return GP_OK;
}

static gp_status alloc_eager(void **ptr, size_t bytes, size_t alignment, const gp_target *target,
                             cudaStream_t stream)
{
    const gp_request request = make_request(bytes, alignment, &target->pool->config);
    uintptr_t base;
    gp_status status = gp_request_is_large(&request)
                           ? gp_tiers_alloc_large(target->cache, stream, &request, &base)
                           : gp_tiers_alloc_small(target, stream, &request, &base);
    if (status != GP_OK)
        return status;

    return hand_out(ptr, base, request.bytes, target->cache, stream);
}

static GP_NOINLINE gp_status alloc_slow(void **ptr, size_t bytes, size_t alignment, gp_pool *pool,
                                        cudaStream_t stream)
{
    if (ptr == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "ptr is NULL");
    if (bytes > GP_MAX_REQUEST_BYTES)
        return gp_error_set(GP_ERR_SIZE_OVERFLOW, "%zu bytes are more than any device has", bytes);

    gp_target target;
    gp_status status = gp_thread_target(pool, stream, &target);
    if (status != GP_OK)
        return status;
    if (bytes == 0) {
        *ptr = NULL;
        return GP_OK;
    }
    if (target.cache == NULL)
        return alloc_captured(ptr, bytes, alignment, target.pool, stream);
    return alloc_eager(ptr, bytes, alignment, &target, stream);
}

/* A large block, on a stream that this thread knows. */
static GP_NOINLINE gp_status alloc_large(void **ptr, size_t bytes, gp_thread_cache *cache,
                                         cudaStream_t stream)
{
    const gp_request request = {
        .asked_bytes = bytes,
        .bytes = gp_round_up(bytes, GP_LARGE_STEP_BYTES),
        .alignment = cache->stream->pool->config.alignment,
        .size_class = GP_CLASS_LARGE,
    };
    uintptr_t base;
    gp_status status = gp_tiers_alloc_large(cache, stream, &request, &base);
    return status == GP_OK ? hand_out(ptr, base, request.bytes, cache, stream) : status;
}

/* What some hits owe: the class is refilled before it is dry, a listener told. */
static GP_NOINLINE gp_status after_hit(gp_thread_cache *cache, uint32_t size_class, void *block,
                                       cudaStream_t stream)
{
    if (cache->listener != NULL)
        cache->listener->note_alloc(block, gp_size_class_bytes(size_class), stream);
    gp_thread_cache_refill_low(cache, size_class);
    return GP_OK;
}

/* ---- the calls ------------------------------------------------------------------- */

static inline gp_status alloc(void **ptr, size_t bytes, gp_pool *pool, cudaStream_t stream)
{
    gp_thread_cache *cache = gp_thread_find(pool, stream);
    /* Zero bytes wrap around and leave the fast path with those that are too many. */
    if (GP_UNLIKELY(cache == NULL || ptr == NULL || bytes - 1 >= GP_MAX_REQUEST_BYTES))
        return alloc_slow(ptr, bytes, 1, pool, stream);
    if (bytes > cache->small_bytes)
        return alloc_large(ptr, bytes, cache, stream);

    uint32_t size_class = gp_size_class_of(bytes);
    uintptr_t base;
    gp_hit hit = gp_thread_cache_pop(cache, size_class, &base);
    if (GP_UNLIKELY(hit == GP_MISS))
        return alloc_slow(ptr, bytes, 1, pool, stream);
    *ptr = (void *)base;
    if (GP_UNLIKELY(hit == GP_HIT_LOW || cache->listener != NULL))
        return after_hit(cache, size_class, (void *)base, stream);
    return GP_OK;
}

gp_status gp_alloc_async(void **ptr, size_t bytes, cudaStream_t stream)
{
    return alloc(ptr, bytes, NULL, stream);
}

static GP_NOINLINE gp_status no_pool(void)
{
    return gp_error_set(GP_ERR_INVALID_POOL, "pool is NULL");
}

gp_status gp_alloc_from_pool_async(void **ptr, size_t bytes, gp_pool *pool, cudaStream_t stream)
{
    if (GP_UNLIKELY(pool == NULL))
        return no_pool();
    return alloc(ptr, bytes, pool, stream);
}

gp_status gp_alloc_aligned_from_pool_async(void **ptr, size_t bytes, size_t alignment,
                                           gp_pool *pool, cudaStream_t stream)
{
    const size_t most = (size_t)2 << 20;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > most)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT,
                            "alignment %zu is not a power of two up to 2 MiB", alignment);
    if (pool == NULL)
        return no_pool();
    return alloc_slow(ptr, bytes, alignment, pool, stream);
}
