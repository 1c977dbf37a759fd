#include "idle.h"

#include "pool.h"

static uint64_t window_ns(const gp_pool *pool)
{
    return (uint64_t)pool->config.idle_window_ms * 1000000;
}

void gp_idle_init(gp_pool *pool)
{
    gp_counter_set(&pool->idle.ends_ns,
                   pool->backend->ops->now_ns(pool->backend) + window_ns(pool));
}

/* The commons were not both at their least at once: what is idle may be more. */
static uint64_t restart_least(gp_pool *pool)
{
    return gp_commons_restart_least(&pool->large) + gp_commons_restart_least(&pool->chunks);
}

/* Windows in which nobody looked were like the last one. */
static void record(gp_idle *idle, uint64_t least, uint64_t count)
{
    uint64_t windows = gp_counter_get(&idle->windows);
    for (uint64_t i = 0; i < count && i < GP_IDLE_WINDOWS; i++)
        gp_counter_set(&idle->least[(windows + i) % GP_IDLE_WINDOWS], least);
    gp_counter_set(&idle->windows, windows + (count < GP_IDLE_WINDOWS ? count : GP_IDLE_WINDOWS));
}

uint64_t gp_idle_observe(gp_pool *pool)
{
    gp_idle *idle = &pool->idle;
    const uint64_t now = pool->backend->ops->now_ns(pool->backend);
    uint64_t ends = gp_counter_get(&idle->ends_ns);
    if (now < ends)
        return 0;
    const uint64_t count = (now - ends) / window_ns(pool) + 1;
    if (!atomic_compare_exchange_strong_explicit(&idle->ends_ns, &ends,
                                                 ends + count * window_ns(pool),
                                                 memory_order_relaxed, memory_order_relaxed))
        return 0;
    record(idle, restart_least(pool), count);
    return count;
}

uint64_t gp_idle_bytes(const gp_pool *pool, uint32_t windows)
{
    const gp_idle *idle = &pool->idle;
    const uint64_t complete = gp_counter_get(&idle->windows);
    if (complete < windows)
        return 0;
    uint64_t least =
        gp_counter_get(&pool->large.least_bytes) + gp_counter_get(&pool->chunks.least_bytes);
    for (uint64_t i = complete - windows; i < complete; i++) {
        const uint64_t bytes = gp_counter_get(&idle->least[i % GP_IDLE_WINDOWS]);
        least = bytes < least ? bytes : least;
    }
    return least;
}
