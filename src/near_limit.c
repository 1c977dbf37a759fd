#include "near_limit.h"

#include "pool.h"
#include "release.h"

/* Segments that one request gives back at most. */
#define MOST_RELEASED 64

/* What was set aside is for use: it does not go back for this. */
static uint64_t releasable_bytes(const gp_pool *pool)
{
    const uint64_t reserved = gp_counter_get(&pool->global.reserved);
    const uint64_t floor = gp_counter_get(&pool->global.floor);
    return reserved > floor ? reserved - floor : 0;
}

bool gp_near_limit_take(gp_commons *commons, const gp_commons_request *request, gp_span *span)
{
    for (int released = 0; released < MOST_RELEASED; released++) {
        gp_segment *spared;
        const uint64_t most = releasable_bytes(commons->pool);
        if (gp_commons_take_sparing(commons, request, most, span, &spared))
            return true;
        if (spared == NULL || !gp_release_segment(commons->pool, spared))
            return false;
    }
    return false;
}
