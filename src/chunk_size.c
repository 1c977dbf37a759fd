#include "chunk_size.h"

#include "pool.h"

#define CHUNK_BYTES ((size_t)2 << 20)
#define LEAST_CHUNK_BYTES ((size_t)128 << 10)

/* Of a step of growth. */
#define CHUNK_SHARE 16

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t gp_chunk_size(const gp_pool_config *config)
{
    return larger(2 * config->large_bytes, CHUNK_BYTES);
}

/* A policy may have all of a chunk that nothing is taken of, and chunks start with a page. */
static bool fits_from_the_start(const gp_request *request)
{
    return request->alignment <= GP_PAGE_BYTES;
}

size_t gp_chunk_size_least(const gp_pool *pool, const gp_request *request)
{
    size_t least = LEAST_CHUNK_BYTES;
    if (gp_global_tier_is_near_limit(&pool->global) && fits_from_the_start(request))
        return larger(least, gp_round_up(request->bytes, GP_PAGE_BYTES));
    while (least < request->bytes + request->alignment)
        least *= 2;
    return least;
}

size_t gp_chunk_size_now(const gp_pool *pool, const gp_request *request)
{
    const gp_global_tier *global = &pool->global;
    const size_t least = gp_chunk_size_least(pool, request);
    if (gp_global_tier_is_near_limit(global))
        return least;
    const size_t step = CHUNK_SHARE * gp_chunk_size(&pool->config);
    return larger(least, gp_limits_step(&global->limits, gp_counter_get(&global->reserved), step) /
                             CHUNK_SHARE);
}
