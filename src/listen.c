#include "listen.h"

#include "pool.h"

bool gp_listen_is_wanted(const gp_pool *pool)
{
    return gp_pool_listener(pool) != NULL || gp_trace_hears(&pool->trace, GP_TRACE_ALL);
}

void gp_listen_settle_locked(gp_pool *pool)
{
    const bool wanted = gp_listen_is_wanted(pool);
    for (gp_stream_cache *stream = gp_pool_first_stream(pool); stream; stream = stream->next) {
        for (gp_thread_cache *cache = stream->thread_caches; cache; cache = cache->next_of_stream)
            atomic_store_explicit(&cache->heard, wanted, memory_order_relaxed);
    }
}

void gp_listen_alloc(const gp_thread_cache *cache, const gp_trace_block *block)
{
    gp_pool *pool = cache->stream->pool;
    const gp_backend_ops *listener = gp_pool_listener(pool);
    if (listener != NULL && block->status == GP_OK)
        listener->note_alloc(block->address, block->block_bytes, block->stream);
    gp_trace_block told = *block;
    told.stream_id = cache->stream->stream_id;
    told.stream_name = gp_stream_cache_name(cache->stream);
    gp_trace_alloc(&pool->trace, &told);
}

static gp_trace_block make_block(const gp_thread_cache *cache, uintptr_t base, size_t bytes,
                                 cudaStream_t stream, gp_tier tier)
{
    return (gp_trace_block){
        .address = (const void *)base,
        .block_bytes = bytes,
        .stream = stream,
        .stream_id = cache->stream->stream_id,
        .tier = tier,
        .stream_name = gp_stream_cache_name(cache->stream),
    };
}

void gp_listen_free(const gp_thread_cache *cache, uintptr_t base, size_t bytes, cudaStream_t stream,
                    gp_tier tier)
{
    gp_pool *pool = cache->stream->pool;
    const gp_backend_ops *listener = gp_pool_listener(pool);
    if (listener != NULL)
        listener->note_free((const void *)base, stream);
    if (tier == GP_TIER_NONE)
        return;
    const gp_trace_block told = make_block(cache, base, bytes, stream, tier);
    gp_trace_free(&pool->trace, &told);
}

void gp_listen_parked(gp_pool *pool, uintptr_t base, size_t bytes, cudaStream_t stream)
{
    const gp_trace_block told = {
        .address = (const void *)base,
        .block_bytes = bytes,
        .stream = stream,
        .tier = GP_TIER_PARKED,
    };
    gp_trace_mark(&pool->trace, GP_TRACE_PARK, bytes, NULL, stream);
    gp_trace_free(&pool->trace, &told);
}

void gp_listen_use(const gp_thread_cache *cache, uintptr_t base, size_t bytes, cudaStream_t stream)
{
    gp_pool *pool = cache->stream->pool;
    const gp_backend_ops *listener = gp_pool_listener(pool);
    if (listener != NULL)
        listener->note_use((const void *)base, stream);
    const gp_trace_block told = make_block(cache, base, bytes, stream, GP_TIER_NONE);
    gp_trace_use(&pool->trace, &told);
}
