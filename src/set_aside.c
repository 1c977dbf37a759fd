#include "set_aside.h"

#include "chunk_size.h"
#include "error.h"
#include "pool.h"
#include "release.h"

/* Of what a new pool sets aside, the part that small blocks are cut from. */
#define CHUNKS_SHARE 8

static gp_status add_segment(gp_commons *commons, gp_segment *segment, cudaStream_t own_stream)
{
    const gp_span span = segment->span;
    if (!gp_global_tier_wait(&commons->pool->global, own_stream))
        return gp_error_set(GP_ERR_CUDA, "the device is not past the allocation of %zu bytes",
                            span.bytes);
    gp_status status = gp_commons_add_taken_segment(commons, segment);
    if (status == GP_OK)
        gp_commons_give(span);
    return status;
}

gp_status gp_set_aside(gp_commons *commons, size_t bytes)
{
    gp_pool *pool = commons->pool;
    gp_global_tier *global = &pool->global;
    cudaStream_t own_stream;
    gp_segment *segment;
    if (bytes == 0)
        return GP_OK;
    gp_status status = gp_global_tier_take_segment(global, gp_round_up(bytes, GP_PAGE_BYTES),
                                                   &own_stream, &segment);
    if (status != GP_OK)
        return status;

    const gp_span span = segment->span;
    status = add_segment(commons, segment, own_stream);
    if (status != GP_OK)
        gp_release_unused(pool, segment, span, own_stream);
    else
        (void)gp_counter_add_shared(&global->floor, span.bytes);
    return status;
}

gp_status gp_set_aside_initial(gp_pool *pool)
{
    const size_t bytes = gp_limits_initial(&pool->global.limits, &pool->config, pool->backend);
    const size_t share = gp_round_up(bytes / CHUNKS_SHARE, gp_chunk_size(&pool->config));
    const size_t chunks = share < bytes ? share : bytes;
    gp_status status = gp_set_aside(&pool->chunks, chunks);
    return status == GP_OK ? gp_set_aside(&pool->large, bytes - chunks) : status;
}
