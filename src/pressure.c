#include "pressure.h"

#include "error.h"
#include "pool.h"
#include "stats.h"

/* The thread is inside the callback, of whatever pool. */
static _Thread_local bool asking;

bool gp_pressure_relieve(gp_pool *pool, size_t bytes_missing)
{
    if (pool->config.on_pressure == NULL || asking)
        return false;
    /* The callback's own calls may set this thread's error. */
    const int native = gp_last_native_error();
    gp_trace_scope scope;
    asking = true;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_PRESSURE, bytes_missing);
    const bool relieved = pool->config.on_pressure(pool->config.pressure_user, pool, bytes_missing);
    gp_trace_end(&scope);
    asking = false;
    gp_error_set_native(native);
    return relieved;
}

/* ---- what is said ------------------------------------------------------------- */

static uint64_t pending_bytes(gp_pool *pool)
{
    uint64_t bytes = gp_counter_get(&pool->captured.parked_bytes);
    for (gp_stream_cache *cache = gp_pool_first_stream(pool); cache != NULL; cache = cache->next)
        bytes += gp_counter_get(&cache->pending_bytes);
    return bytes;
}

static size_t largest_free_span(gp_pool *pool)
{
    const size_t large = gp_commons_largest_free(&pool->large);
    const size_t chunk = gp_commons_largest_free(&pool->chunks);
    return large > chunk ? large : chunk;
}

gp_status gp_pressure_fail(gp_pool *pool, size_t bytes, gp_status status, const char *tried)
{
    const int native = gp_last_native_error();
    const uint64_t live = gp_stats_live_bytes(pool);
    const uint64_t reserved = gp_counter_get(&pool->global.reserved);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    (void)pool->backend->ops->mem_info(pool->backend, &free_bytes, &total_bytes);
    (void)gp_error_set(
        status,
        "%zu bytes asked; live %llu, cached %llu, reserved %llu, pending %llu, largest free span "
        "%zu, device free %zu of %zu; tried: %s%s",
        bytes, (unsigned long long)live,
        (unsigned long long)(reserved > live ? reserved - live : 0), (unsigned long long)reserved,
        (unsigned long long)pending_bytes(pool), largest_free_span(pool), free_bytes, total_bytes,
        tried, pool->config.on_pressure == NULL ? "" : ", the caller's on_pressure");
    gp_error_set_native(native);
    return status;
}
