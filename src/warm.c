/* gp_pool_warm_from_trace(): a pool gets ready for a run like one that was recorded. */
#include "gp/pool.h"
#include "chunk_size.h"
#include "error.h"
#include "peak_profile.h"
#include "pool.h"
#include "registry.h"
#include "set_aside.h"
#include "share.h"

/* Memory is not used to the last byte: some lies between blocks, and chunks are one stream's each.
 * Of what small blocks have at their peak, so many times are set aside, and a chunk for each
 * stream; of large ones so much more for each of its parts. Measured on the traces of
 * docs/benchmarks.md: half of either is enough for a first run, but not for every later one. */
#define SMALL_TIMES 2
#define LARGE_MARGIN 8

/* What a pool needs in each of its commons. */
typedef struct needs {
    size_t large, chunks;
} needs;

static needs needs_of(const gp_peak_profile *profile, const gp_pool_config *config)
{
    needs sum = {0, 0};
    const size_t chunk = gp_chunk_size(config);
    for (size_t i = 0; i < profile->stream_count; i++) {
        const size_t small = profile->streams[i].small.most;
        const size_t large = profile->streams[i].large.most;
        sum.large += large;
        if (small > 0)
            sum.chunks += gp_round_up(SMALL_TIMES * small, chunk) + chunk;
    }
    sum.large += sum.large / LARGE_MARGIN;
    return sum;
}

/* In one piece, so that nothing of it is lost between segments. */
static gp_status provide(gp_commons *commons, size_t bytes, size_t segment_bytes)
{
    if (gp_commons_largest_free(commons) >= bytes)
        return GP_OK;
    return gp_set_aside(commons, gp_round_up(bytes, segment_bytes));
}

gp_status gp_pool_warm_from_trace(gp_pool *pool, const char *path)
{
    gp_peak_profile profile;
    if (path == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "path is NULL");
    gp_status status = gp_registry_check(pool);
    if (status == GP_OK)
        status = gp_peak_profile_read(&profile, path, &pool->config);
    if (status != GP_OK)
        return status;

    const needs needed = needs_of(&profile, &pool->config);
    gp_peak_profile_destroy(&profile);
    gp_share_reclaim_all(pool);
    status = provide(&pool->chunks, needed.chunks, pool->config.segment_bytes);
    return status == GP_OK ? provide(&pool->large, needed.large, pool->config.segment_bytes)
                           : status;
}
