/* The native calls on pools. */
#include "sim_capture.h"
#include "sim_memory.h"

#include <stdlib.h>

static gp_sim_pool *find(const gp_sim_machine *machine, cudaMemPool_t handle)
{
    return gp_sim_handles_find(&machine->pools, (uintptr_t)handle);
}

/* ---- create and destroy ---- */

static gp_sim_result pool_create(const gp_sim_call *call, cudaMemPool_t *handle, size_t max_bytes)
{
    gp_sim_machine *machine = call->machine;
    if (!machine->config.pools_supported)
        return GP_SIM_NOT_SUPPORTED;
    if (gp_sim_capture_forbids(call))
        return GP_SIM_CAPTURE_UNSUPPORTED;

    gp_sim_pool *pool = calloc(1, sizeof(*pool));
    uintptr_t value = pool != NULL ? gp_sim_handles_add(&machine->pools, pool) : 0;
    if (value == 0) {
        free(pool);
        return GP_SIM_OUT_OF_MEMORY;
    }
    pool->device = call->thread->device;
    pool->max_bytes = max_bytes;
    pool->next = machine->all_pools;
    if (machine->all_pools != NULL)
        machine->all_pools->previous = pool;
    machine->all_pools = pool;
    *handle = (cudaMemPool_t)value;
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_pool_create_limited(cudaMemPool_t *pool, size_t max_bytes)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_POOL_CREATE);
    if (result == GP_SIM_SUCCESS)
        result = pool != NULL ? pool_create(&call, pool, max_bytes) : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}

gp_sim_result gp_sim_pool_create(cudaMemPool_t *pool)
{
    return gp_sim_pool_create_limited(pool, 0);
}

/* Begin a call on a pool; if the result is not 0, *found is not set. */
static gp_sim_result pool_enter(gp_sim_call *call, gp_sim_function function, cudaMemPool_t pool,
                                gp_sim_pool **found)
{
    gp_sim_result result = gp_sim_enter(call, function);
    if (result != GP_SIM_SUCCESS)
        return result;
    *found = find(call->machine, pool);
    return *found != NULL ? GP_SIM_SUCCESS : GP_SIM_INVALID_VALUE;
}

gp_sim_result gp_sim_pool_destroy(cudaMemPool_t pool)
{
    gp_sim_call call;
    gp_sim_pool *found = NULL;
    gp_sim_result result = pool_enter(&call, GP_SIM_FN_POOL_DESTROY, pool, &found);
    if (result != GP_SIM_SUCCESS)
        return gp_sim_leave(result);

    gp_sim_handles_remove(&call.machine->pools, (uintptr_t)pool);
    found->is_destroyed = true;
    gp_sim_pools_sweep(&call);
    return gp_sim_leave(GP_SIM_SUCCESS);
}

size_t gp_sim_live_pools(void)
{
    gp_sim_machine *machine = gp_sim_machine_lock();
    size_t live = machine != NULL ? machine->pools.live : 0;
    gp_sim_machine_unlock();
    return live;
}

/* ---- threshold, trim, usage ---- */

gp_sim_result gp_sim_pool_set_threshold(cudaMemPool_t pool, uint64_t bytes)
{
    gp_sim_call call;
    gp_sim_pool *found = NULL;
    gp_sim_result result = pool_enter(&call, GP_SIM_FN_POOL_SET_THRESHOLD, pool, &found);
    if (result == GP_SIM_SUCCESS)
        found->threshold_bytes = bytes;
    return gp_sim_leave(result);
}

gp_sim_result gp_sim_pool_get_threshold(cudaMemPool_t pool, uint64_t *bytes)
{
    gp_sim_call call;
    gp_sim_pool *found = NULL;
    if (bytes == NULL)
        return GP_SIM_INVALID_VALUE;
    gp_sim_result result = pool_enter(&call, GP_SIM_FN_NONE, pool, &found);
    if (result == GP_SIM_SUCCESS)
        *bytes = found->threshold_bytes;
    return gp_sim_leave(result);
}

gp_sim_result gp_sim_pool_trim_to(cudaMemPool_t pool, size_t min_bytes_to_keep)
{
    gp_sim_call call;
    gp_sim_pool *found = NULL;
    gp_sim_result result = pool_enter(&call, GP_SIM_FN_POOL_TRIM, pool, &found);
    if (result == GP_SIM_SUCCESS && gp_sim_capture_forbids(&call))
        result = GP_SIM_CAPTURE_UNSUPPORTED;
    if (result == GP_SIM_SUCCESS)
        gp_sim_pool_trim(&call, found, min_bytes_to_keep);
    return gp_sim_leave(result);
}

gp_sim_result gp_sim_pool_get_usage(cudaMemPool_t pool, gp_sim_pool_usage *usage)
{
    gp_sim_call call;
    gp_sim_pool *found = NULL;
    if (usage == NULL)
        return GP_SIM_INVALID_VALUE;
    gp_sim_result result = pool_enter(&call, GP_SIM_FN_POOL_GET_USAGE, pool, &found);
    if (result == GP_SIM_SUCCESS)
        *usage = (gp_sim_pool_usage){.reserved_bytes = found->reserved_bytes,
                                     .reserved_bytes_high = found->reserved_bytes_high,
                                     .used_bytes = found->used_bytes,
                                     .used_bytes_high = found->used_bytes_high};
    return gp_sim_leave(result);
}

gp_sim_result gp_sim_pool_reset_peak(cudaMemPool_t pool)
{
    gp_sim_call call;
    gp_sim_pool *found = NULL;
    gp_sim_result result = pool_enter(&call, GP_SIM_FN_NONE, pool, &found);
    if (result == GP_SIM_SUCCESS) {
        found->reserved_bytes_high = found->reserved_bytes;
        found->used_bytes_high = found->used_bytes;
    }
    return gp_sim_leave(result);
}
