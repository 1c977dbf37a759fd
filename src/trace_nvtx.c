/* The sinks over NVTX: a pool attaches them by itself, as its config says. */
#include "error.h"
#include "pool.h"
#include "registry.h"

void gp_trace_open_nvtx(gp_trace *trace)
{
    const gp_pool_config *config = &trace->pool->config;
    const gp_trace_sink *nvtx = gp_trace_nvtx();
    const gp_trace_sink *memory = gp_trace_nvtx_memory();
    /* A pool without its traces is better than none. */
    if (nvtx != NULL && config->trace_level != GP_TRACE_OFF)
        (void)gp_trace_add(trace, nvtx, NULL, config->trace_level);
    if (memory != NULL && config->annotate_memory)
        (void)gp_trace_add(trace, memory, NULL, GP_TRACE_ALL);
}

/* Only now, if the level was 0 so far. Without a tool nobody is there to hear. */
static gp_status attach_now(gp_pool *pool, const gp_trace_sink *nvtx, gp_trace_level level)
{
    if (level == GP_TRACE_OFF)
        return GP_OK;
    gp_status status = gp_trace_attach(pool, nvtx, NULL, level);
    return status == GP_ERR_UNSUPPORTED ? GP_OK : status;
}

gp_status gp_pool_set_trace_level(gp_pool *pool, gp_trace_level level)
{
    const gp_trace_sink *nvtx = gp_trace_nvtx();
    gp_status status = gp_trace_check_level(level);
    if (status == GP_OK)
        status = gp_registry_check(pool);
    if (status != GP_OK || nvtx == NULL)
        return status;
    /* The level is one, so what may be wrong is that the sink is not attached. */
    status = gp_trace_set_level(pool, nvtx, NULL, level);
    return status == GP_ERR_INVALID_ARGUMENT ? attach_now(pool, nvtx, level) : status;
}
