/* The last rung: a segment of the native pool, and what was asked for out of it. */
#include "pool.h"
#include "release.h"
#include "supply_internal.h"

/* If gp's own stream does take longer, the caller's waits, and has the segment alone. */
static gp_status add_for_caller(const gp_supply *supply, gp_segment *segment,
                                cudaStream_t own_stream, const gp_fit *fit, gp_span *span)
{
    gp_pool *pool = supply->cache->pool;
    gp_fence *fence;
    gp_status status = gp_fence_record(&pool->fences, own_stream, 0, 0, &fence);
    if (status != GP_OK)
        return status;
    status = gp_fence_wait(&pool->fences, fence, supply->stream);
    gp_fence_release(&pool->fences, fence);
    if (status != GP_OK)
        return status;
    *span = segment->span;
    return gp_commons_add_taken_segment(gp_pool_commons(pool, fit->chunk), segment);
}

/* All of a segment that the stream has alone, as it may have to, is cut here. */
static bool is_uncut(const gp_fit *fit, gp_span span)
{
    return !gp_fit_is_met(fit, span.base, span.bytes);
}

/* The stream does nothing but this, so the allocation is complete within microseconds;
 * then the rest of the segment is for any stream. */
static gp_status add_segment(const gp_supply *supply, gp_segment *segment, cudaStream_t own_stream,
                             const gp_fit *fit, gp_span *span)
{
    gp_pool *pool = supply->cache->pool;
    const gp_commons_request request = gp_supply_request(supply, fit);
    gp_status status =
        gp_global_tier_wait(&pool->global, own_stream)
            ? gp_commons_add_segment(gp_pool_commons(pool, fit->chunk), segment, &request, span)
            : add_for_caller(supply, segment, own_stream, fit, span);
    if (status == GP_OK && is_uncut(fit, *span))
        gp_stream_cache_cut(supply->cache, fit, span);
    return status;
}

gp_status gp_supply_native(const gp_supply *supply, size_t bytes, const gp_fit *fit, gp_span *span)
{
    gp_pool *pool = supply->cache->pool;
    cudaStream_t own_stream;
    gp_segment *segment;
    gp_status status = gp_global_tier_take_segment(&pool->global, bytes, &own_stream, &segment);
    if (status != GP_OK)
        return status;

    const gp_span all = segment->span;
    status = add_segment(supply, segment, own_stream, fit, span);
    if (status != GP_OK)
        gp_release_unused(pool, segment, all, own_stream);
    return status;
}
