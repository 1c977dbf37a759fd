#include "pressure.h"

#include <stdio.h>

#include "budget.h"
#include "error.h"
#include "pool.h"
#include "registry.h"
#include "release.h"
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

/* ---- other pools ---------------------------------------------------------------- */

/* More of them are not asked. */
#define MOST_POOLS 64

static uint64_t reserved_by(const gp_pool *pool)
{
    return gp_counter_get(&pool->global.reserved);
}

/* What one gives need not be in one piece: the native pools have each their own memory, and the
 * device maps it anywhere. */
static size_t ask(gp_pool *other, size_t bytes_missing)
{
    const uint64_t before = reserved_by(other);
    if (!gp_release_for_others(other, bytes_missing))
        return 0;
    const uint64_t after = reserved_by(other);
    return after < before ? before - after : 0;
}

bool gp_pressure_ask_pools(gp_pool *pool, size_t bytes_missing)
{
    gp_pool *others[MOST_POOLS];
    size_t given = 0;
    if (!gp_global_tier_allows(&pool->global, bytes_missing))
        return false;
    const int native = gp_last_native_error();
    const size_t count = gp_registry_visit_others(pool, others, MOST_POOLS);
    for (size_t i = 0; i < count; i++) {
        if (given < bytes_missing)
            given += ask(others[i], bytes_missing - given);
        gp_registry_leave(others[i]);
    }
    gp_error_set_native(native);
    return given > 0;
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

/* Room for all of the texts below. */
#define LIMITS_CHARS 160

static void describe_limits(const gp_limits *limits, const gp_stream_cache *asker,
                            char text[LIMITS_CHARS])
{
    int used = 0;
    text[0] = '\0';
    if (limits->max_bytes != SIZE_MAX)
        used += snprintf(text, LIMITS_CHARS, ", limit %zu", limits->max_bytes);
    if (limits->headroom_bytes != 0)
        used += snprintf(text + used, LIMITS_CHARS - (size_t)used, ", headroom %zu",
                         limits->headroom_bytes);
    if (asker != NULL && gp_budget_is_set(asker))
        (void)snprintf(text + used, LIMITS_CHARS - (size_t)used,
                       ", the stream holds %llu of a budget of %llu",
                       (unsigned long long)gp_budget_held(asker),
                       (unsigned long long)gp_counter_get(&asker->budget_bytes));
}

gp_status gp_pressure_fail(gp_pool *pool, const gp_stream_cache *asker, size_t bytes,
                           gp_status status, const char *tried)
{
    char limits[LIMITS_CHARS];
    const int native = gp_last_native_error();
    const uint64_t live = gp_stats_live_bytes(pool);
    const uint64_t reserved = gp_counter_get(&pool->global.reserved);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    (void)pool->backend->ops->mem_info(pool->backend, &free_bytes, &total_bytes);
    describe_limits(&pool->global.limits, asker, limits);
    (void)gp_error_set(
        status,
        "%zu bytes asked; live %llu, cached %llu, reserved %llu, pending %llu, largest free span "
        "%zu, device free %zu of %zu%s; tried: %s%s%s",
        bytes, (unsigned long long)live,
        (unsigned long long)(reserved > live ? reserved - live : 0), (unsigned long long)reserved,
        (unsigned long long)pending_bytes(pool), largest_free_span(pool), free_bytes, total_bytes,
        limits, tried,
        gp_global_tier_allows(&pool->global, bytes) ? ", idle memory of other pools" : "",
        pool->config.on_pressure == NULL ? "" : ", the caller's on_pressure");
    gp_error_set_native(native);
    return status;
}
