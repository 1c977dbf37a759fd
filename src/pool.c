#include "pool.h"

#include <stdlib.h>

#include "asymmetric.h"
#include "backend_choice.h"
#include "block_list.h"
#include "direct.h"
#include "error.h"
#include "pool_config.h"
#include "process.h"
#include "registry.h"
#include "release.h"
#include "set_aside.h"
#include "stats.h"
#include "thread.h"

/* ---- making --------------------------------------------------------------- */

static gp_status open_device(gp_pool *pool)
{
    const gp_backend_ops *ops = gp_backend_of_kind(pool->config.backend);
    gp_status status = ops->probe();
    if (status == GP_OK)
        status = ops->open(pool->config.device, &pool->backend);
    return status;
}

/* The most that is read back of one block. */
static size_t readback_bytes(const gp_pool_config *config)
{
    const size_t guards = 2 * config->guard_bytes;
    const bool looks = config->poison && config->quarantine_bytes > 0;
    return looks && guards < GP_QUARANTINE_LOOK_BYTES ? GP_QUARANTINE_LOOK_BYTES : guards;
}

static gp_status build_tiers(gp_pool *pool)
{
    gp_status status =
        gp_global_tier_init(&pool->global, pool->backend, &pool->trace, &pool->config);
    if (status != GP_OK)
        return status;
    status = gp_commons_init(&pool->large, pool);
    if (status != GP_OK)
        goto destroy_native;
    status = gp_commons_init(&pool->chunks, pool);
    if (status != GP_OK)
        goto destroy_large;
    status = gp_batch_store_init(&pool->batches);
    if (status != GP_OK)
        goto destroy_chunks;

    gp_fence_store_init(&pool->fences, pool->backend, &pool->trace);
    pool->fences.pool = pool->config.visible_order ? pool : NULL;
    gp_use_table_init(&pool->uses);
    gp_stream_names_init(&pool->names);
    gp_captured_blocks_init(&pool->captured);
    gp_arenas_init(&pool->arenas);
    gp_direct_init(pool);
    gp_readbacks_init(&pool->readbacks, readback_bytes(&pool->config));
    gp_readbacks_prepare(pool);
    gp_quarantine_init(&pool->quarantine);
    gp_order_watch_init(&pool->order_watch);
    gp_findings_init(&pool->findings);
    gp_idle_init(pool);
    gp_upkeep_init(&pool->upkeep);
    (void)pthread_mutex_init(&pool->revocation, NULL);
    return GP_OK;

destroy_chunks:
    gp_commons_destroy(&pool->chunks);
destroy_large:
    gp_commons_destroy(&pool->large);
destroy_native:
    gp_global_tier_destroy(&pool->global);
    return status;
}

/* Tools want to be called once the driver is up, no earlier. */
static gp_status build_parts(gp_pool *pool)
{
    gp_status status = open_device(pool);
    if (status != GP_OK)
        return status;

    gp_trace_scope scope;
    gp_trace_init(&pool->trace, pool);
    gp_trace_open_nvtx(&pool->trace);
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_POOL_CREATE, 0);
    status = build_tiers(pool);
    gp_trace_end(&scope);
    if (status != GP_OK) {
        gp_trace_destroy(&pool->trace);
        pool->backend->ops->close(pool->backend);
    }
    return status;
}

gp_status gp_pool_build(gp_pool **pool, const gp_pool_config *config)
{
    gp_pool *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a pool");

    gp_status status = gp_pool_config_complete(&made->config, config);
    if (status == GP_OK)
        status = gp_policy_ops_complete(&made->policy, made->config.policy);
    if (status == GP_OK)
        status = gp_process_check();
    if (status == GP_OK) {
        gp_process_watch();
        gp_asymmetric_init();
        status = build_parts(made);
    }
    if (status != GP_OK) {
        free(made);
        return status;
    }
    *pool = made;
    return GP_OK;
}

gp_status gp_pool_create(gp_pool **pool, const gp_pool_config *config)
{
    if (pool == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "pool is NULL");

    gp_pool *made;
    gp_status status = gp_pool_build(&made, config);
    if (status != GP_OK)
        return status;
    status = gp_set_aside_initial(made);
    if (status != GP_OK) {
        gp_pool_tear_down(made);
        return status;
    }
    gp_registry_add(made);
    *pool = made;
    return GP_OK;
}

gp_status gp_default_pool(gp_pool **pool, int device)
{
    if (pool == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "pool is NULL");
    return gp_registry_default_pool(device, pool);
}

/* ---- ending ------------------------------------------------------------------ */

static void drop_threads(gp_pool *pool)
{
    gp_process_bump_epoch();
    gp_registry_lock();
    gp_thread_drop_pool_locked(pool);
    gp_registry_unlock();
}

static void drop_streams(gp_pool *pool)
{
    gp_stream_cache *cache = gp_pool_first_stream(pool);
    while (cache != NULL) {
        gp_stream_cache *next = cache->next;
        gp_stream_cache_destroy(cache);
        cache = next;
    }
}

void gp_pool_tear_down(gp_pool *pool)
{
    gp_trace_scope scope;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_POOL_DESTROY, 0);
    drop_threads(pool);
    gp_release_everything(pool);
    gp_readbacks_destroy(pool);
    gp_order_watch_destroy(&pool->order_watch, &pool->fences);
    gp_findings_destroy(&pool->findings);
    gp_quarantine_destroy(&pool->quarantine);
    gp_use_table_destroy(&pool->uses, &pool->fences);
    drop_streams(pool);
    gp_commons_destroy(&pool->chunks);
    gp_commons_destroy(&pool->large);
    gp_direct_destroy(pool);
    gp_arenas_destroy(&pool->arenas);
    gp_captured_blocks_destroy(&pool->captured);
    gp_fence_store_destroy(&pool->fences);
    gp_batch_store_destroy(&pool->batches);
    gp_global_tier_destroy(&pool->global);
    gp_trace_end(&scope);
    gp_trace_destroy(&pool->trace);
    gp_stream_names_destroy(&pool->names);
    pool->backend->ops->close(pool->backend);
    (void)pthread_mutex_destroy(&pool->revocation);
    free(pool);
}

static gp_status refuse_if_busy(gp_pool *pool)
{
    const uint64_t arenas = gp_counter_get(&pool->arenas.count);
    if (gp_stats_live_bytes(pool) == 0 && arenas == 0)
        return GP_OK;
    gp_status status =
        arenas == 0
            ? gp_error_set(GP_ERR_BUSY, "allocations are live:")
            : gp_error_set(GP_ERR_BUSY, "arenas are not released (%llu), or allocations are live:",
                           (unsigned long long)arenas);
    gp_block_list_append(pool);
    return status;
}

static gp_status destroy(gp_pool *pool, bool forced)
{
    gp_status status = gp_registry_check(pool);
    if (status == GP_OK && !forced)
        status = refuse_if_busy(pool);
    if (status != GP_OK)
        return status;
    if (!gp_registry_remove(pool))
        return gp_error_set(GP_ERR_INVALID_POOL, "a default pool cannot be destroyed");
    gp_pool_tear_down(pool);
    return GP_OK;
}

gp_status gp_pool_destroy(gp_pool *pool)
{
    return destroy(pool, false);
}

gp_status gp_pool_destroy_forced(gp_pool *pool)
{
    return destroy(pool, true);
}

/* ---- what it stands on ----------------------------------------------------------- */

gp_status gp_pool_native_handle(gp_pool *pool, cudaMemPool_t *native)
{
    if (native == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "native is NULL");
    gp_status status = gp_registry_check(pool);
    if (status == GP_OK)
        *native = pool->global.native;
    return status;
}

gp_status gp_pool_get_device(gp_pool *pool, gp_device_info *info)
{
    if (info == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "info is NULL");
    if (info->struct_bytes != sizeof(*info))
        return gp_error_set(GP_ERR_VERSION_MISMATCH, "gp_device_info.struct_bytes is %u, not %zu",
                            info->struct_bytes, sizeof(*info));
    gp_status status = gp_registry_check(pool);
    if (status != GP_OK)
        return status;
    info->backend = pool->backend->ops->kind;
    info->device = pool->backend->device;
    pool->backend->ops->describe(pool->backend, info);
    return GP_OK;
}
