/* The public allocation calls. The hit is here, in full; all else is elsewhere. */
#include "gp/pool.h"
#include "direct.h"
#include "error.h"
#include "listen.h"
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

static size_t larger_alignment(size_t alignment, const gp_pool_config *config)
{
    return alignment > config->alignment ? alignment : config->alignment;
}

static gp_request make_request(size_t bytes, size_t alignment, const gp_pool_config *config)
{
    return gp_request_make(bytes, larger_alignment(alignment, config), config->large_bytes);
}

static gp_status alloc_in_arena(void **ptr, size_t bytes, size_t alignment, gp_pool *pool,
                                cudaStream_t stream, gp_trace_block *told)
{
    const gp_request request = make_request(bytes, alignment, &pool->config);
    told->tier = GP_TIER_ARENA;
    told->block_bytes = request.bytes;
    return gp_arenas_alloc(pool, ptr, &request, stream);
}

static gp_status alloc_as_node(void **ptr, size_t bytes, gp_pool *pool, cudaStream_t stream,
                               gp_trace_block *told)
{
    told->tier = GP_TIER_NODE;
    told->block_bytes = bytes;
    gp_status status = alloc_node(ptr, bytes, pool, stream);
    if (status == GP_OK)
        gp_trace_mark(&pool->trace, GP_TRACE_NODE_ALLOC, bytes, NULL, stream);
    return status;
}

static gp_status alloc_captured(void **ptr, size_t bytes, size_t alignment, gp_pool *pool,
                                cudaStream_t stream)
{
    gp_trace_block told = {.asked_bytes = bytes, .stream = stream};
    told.status = pool->config.capture == GP_CAPTURE_ARENA
                      ? alloc_in_arena(ptr, bytes, alignment, pool, stream, &told)
                      : alloc_as_node(ptr, bytes, pool, stream, &told);
    if (told.status == GP_OK) {
        told.address = *ptr;
        (void)gp_counter_add_shared(&pool->captured.calls, 1);
        gp_trace_alloc(&pool->trace, &told);
    } else {
        gp_trace_mark(&pool->trace, GP_TRACE_ALLOC_FAILED, bytes, NULL, stream);
        gp_trace_alloc(
            &pool->trace,
            &(gp_trace_block){.status = told.status, .asked_bytes = bytes, .stream = stream});
    }
    return told.status;
}

/* A small block, or a large one of any alignment, and what every allocation past the hit ends
 * with. */
GP_ALWAYS_INLINE gp_status serve(void **ptr, const gp_request *request, gp_thread_cache *cache,
                                 cudaStream_t stream, gp_tier *tier)
{
    const gp_target target = {.pool = cache->stream->pool, .cache = cache};
    uintptr_t base;
    gp_status status = gp_request_is_large(request)
                           ? gp_tiers_alloc_large(cache, stream, request, &base, tier)
                           : gp_tiers_alloc_small(&target, stream, request, &base, tier);
    if (status != GP_OK)
        return status;
    gp_tiers_settle(cache, stream);
    *ptr = (void *)base;
    return GP_OK;
}

static void tell(const void *ptr, const gp_request *request, const gp_thread_cache *cache,
                 gp_trace_block *told)
{
    told->asked_bytes = request->asked_bytes;
    if (told->status == GP_OK) {
        told->address = ptr;
        told->block_bytes = request->bytes;
    } else {
        told->tier = GP_TIER_NONE;
    }
    gp_listen_alloc(cache, told);
}

/* The same, for those who listen. */
static GP_NOINLINE gp_status serve_heard(void **ptr, const gp_request *request,
                                         gp_thread_cache *cache, cudaStream_t stream)
{
    gp_trace_block told = {.stream = stream};
    gp_trace_scope scope;
    gp_trace_begin_on(&scope, &cache->stream->pool->trace, GP_TRACE_ALLOC, request->asked_bytes,
                      cache->stream, stream);
    void *block = NULL;
    told.status = serve(&block, request, cache, stream, &told.tier);
    tell(block, request, cache, &told);
    gp_trace_end(&scope);
    if (told.status == GP_OK)
        *ptr = block;
    return told.status;
}

GP_ALWAYS_INLINE gp_status alloc_eager(void **ptr, const gp_request *request,
                                       gp_thread_cache *cache, cudaStream_t stream)
{
    gp_tier tier;
    gp_status status = GP_UNLIKELY(gp_thread_cache_is_heard(cache))
                           ? serve_heard(ptr, request, cache, stream)
                           : serve(ptr, request, cache, stream, &tier);
    if (GP_UNLIKELY(status != GP_OK))
        gp_trace_mark(&cache->stream->pool->trace, GP_TRACE_ALLOC_FAILED, request->asked_bytes,
                      cache->stream, stream);
    return status;
}

static gp_status alloc_direct(void **ptr, size_t bytes, size_t alignment, const gp_target *target,
                              cudaStream_t stream)
{
    const gp_request request = {.asked_bytes = bytes,
                                .bytes = bytes,
                                .alignment = larger_alignment(alignment, &target->pool->config)};
    gp_trace_block told = {.stream = stream, .tier = GP_TIER_NATIVE};
    gp_trace_scope scope;
    gp_trace_begin_on(&scope, &target->pool->trace, GP_TRACE_ALLOC, bytes, target->cache->stream,
                      stream);
    void *block = NULL;
    told.status = gp_direct_alloc(target, stream, &request, &block);
    if (gp_thread_cache_is_heard(target->cache))
        tell(block, &request, target->cache, &told);
    gp_trace_end(&scope);
    if (told.status == GP_OK)
        *ptr = block;
    else
        gp_trace_mark(&target->pool->trace, GP_TRACE_ALLOC_FAILED, bytes, target->cache->stream,
                      stream);
    return told.status;
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
    if (target.pool->config.pass_through)
        return alloc_direct(ptr, bytes, alignment, &target, stream);
    const gp_request request = make_request(bytes, alignment, &target.pool->config);
    return alloc_eager(ptr, &request, target.cache, stream);
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
    return alloc_eager(ptr, &request, cache, stream);
}

/* What some hits owe: the class is refilled before it is dry, who listens told. */
static GP_NOINLINE gp_status after_hit(gp_thread_cache *cache, size_t bytes, void *block,
                                       cudaStream_t stream)
{
    const uint32_t size_class = gp_size_class_of(bytes);
    if (gp_thread_cache_is_heard(cache)) {
        const gp_trace_block told = {
            .address = block,
            .asked_bytes = bytes,
            .block_bytes = gp_size_class_bytes(size_class),
            .stream = stream,
            .tier = GP_TIER_L1,
        };
        gp_listen_alloc(cache, &told);
    }
    gp_thread_cache_refill_low(cache, size_class);
    return GP_OK;
}

/* ---- the calls ------------------------------------------------------------------- */

static GP_NOINLINE gp_status alloc_past_twice(void **ptr, size_t bytes, gp_pool *pool,
                                              gp_thread_cache *cache, cudaStream_t stream)
{
    gp_stream_cache_note_twice(cache->stream, gp_size_class_bytes(gp_size_class_of(bytes)));
    return alloc_slow(ptr, bytes, 1, pool, stream);
}

/* On a stream this thread knows. Every call is the last thing done, so that the hit saves no
 * registers. */
GP_ALWAYS_INLINE gp_status alloc_known(void **ptr, size_t bytes, gp_pool *pool,
                                       gp_thread_cache *cache, cudaStream_t stream)
{
    if (bytes > cache->small_bytes)
        return alloc_large(ptr, bytes, cache, stream);

    uint32_t size_class = gp_size_class_of(bytes);
    uintptr_t base;
    gp_hit hit = gp_thread_cache_pop(cache, size_class, &base);
    if (GP_UNLIKELY(hit == GP_MISS))
        return alloc_slow(ptr, bytes, 1, pool, stream);
    if (GP_UNLIKELY(hit == GP_MISS_TWICE))
        return alloc_past_twice(ptr, bytes, pool, cache, stream);
    *ptr = (void *)base;
    if (GP_UNLIKELY(hit == GP_HIT_LOW || gp_thread_cache_is_heard(cache)))
        return after_hit(cache, bytes, (void *)base, stream);
    return GP_OK;
}

static GP_NOINLINE gp_status alloc_from(const gp_lookup *lookup, void **ptr, size_t bytes,
                                        gp_pool *pool, cudaStream_t stream)
{
    gp_thread_cache *cache = gp_thread_find_from(lookup, pool, stream);
    return cache == NULL ? alloc_slow(ptr, bytes, 1, pool, stream)
                         : alloc_known(ptr, bytes, pool, cache, stream);
}

GP_ALWAYS_INLINE gp_status alloc(void **ptr, size_t bytes, gp_pool *pool, cudaStream_t stream)
{
    const gp_lookup *lookup;
    /* Zero bytes wrap around and leave the fast path with those that are too many. */
    if (GP_UNLIKELY(ptr == NULL || bytes - 1 >= GP_MAX_REQUEST_BYTES ||
                    !gp_thread_look_up(pool, stream, &lookup)))
        return alloc_slow(ptr, bytes, 1, pool, stream);
    if (GP_UNLIKELY(!gp_thread_is_at(lookup, pool, stream) || lookup->cache == NULL))
        return alloc_from(lookup, ptr, bytes, pool, stream);
    return alloc_known(ptr, bytes, pool, lookup->cache, stream);
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
