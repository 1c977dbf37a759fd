/* gp_pool_trim_to(): memory goes back to the device because the caller says so. */
#include <time.h>

#include "gp/pool.h"
#include "error.h"
#include "pool.h"
#include "process.h"
#include "registry.h"
#include "release.h"
#include "revocation.h"

/* The driver trims only what it has seen freed. Frees on gp's own idle stream take
 * microseconds; more than this is not waited for. */
#define SETTLE_NS 2000000

static void wait_briefly(gp_pool *pool, gp_fence *fence)
{
    struct timespec start;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (gp_fence_poll(&pool->fences, fence))
            return;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < SETTLE_NS);
}

static void settle_frees(gp_pool *pool)
{
    cudaStream_t stream;
    gp_fence *fence;
    if (!pool->global.has_reclaim || gp_global_tier_reclaim_stream(&pool->global, &stream) != GP_OK)
        return;
    if (gp_fence_record(&pool->fences, stream, 0, 0, &fence) != GP_OK)
        return;
    wait_briefly(pool, fence);
    gp_fence_release(&pool->fences, fence);
}

gp_status gp_pool_trim_to(gp_pool *pool, size_t min_bytes_to_keep)
{
    gp_status status = gp_process_check();
    if (status == GP_OK)
        status = gp_registry_check(pool);
    if (status != GP_OK)
        return status;

    gp_revocation_flush_all(pool);
    gp_release_down_to(pool, (gp_release_caller){.completed_only = true}, min_bytes_to_keep);
    settle_frees(pool);
    return gp_global_tier_trim(&pool->global, min_bytes_to_keep);
}
