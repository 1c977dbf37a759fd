/* Having memory ready before it is asked for: every block of the plan is taken
 * at once, so that they fit beside each other, and then given back. */
#include <stdlib.h>

#include "gp/pool.h"
#include "address_table.h"
#include "block.h"
#include "direct.h"
#include "error.h"
#include "pool.h"
#include "registry.h"
#include "thread.h"
#include "tiers.h"

/* Blocks of a plan while they are taken, linked through host memory. */
typedef struct reserved_block {
    struct reserved_block *next;
    void *ptr;
} reserved_block;

static gp_status take_one(gp_pool *pool, cudaStream_t stream, size_t bytes, reserved_block **list)
{
    reserved_block *block = malloc(sizeof(*block));
    if (block == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for the plan");
    gp_status status = gp_alloc_from_pool_async(&block->ptr, bytes, pool, stream);
    if (status != GP_OK) {
        free(block);
        return status;
    }
    block->next = *list;
    *list = block;
    return GP_OK;
}

static gp_status take_plan(gp_pool *pool, cudaStream_t stream, const gp_reserve_entry *plan,
                           size_t count, reserved_block **list)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t n = 0; n < plan[i].count; n++) {
            gp_status status = take_one(pool, stream, plan[i].bytes, list);
            if (status != GP_OK)
                return status;
        }
    }
    return GP_OK;
}

/* Without asking the driver about the stream again, which might fail: nobody else knows the
 * block, so it would stay live for ever. */
static void give(void *ptr, gp_thread_cache *cache, cudaStream_t stream)
{
    gp_block block;
    if (cache->stream->pool->config.pass_through)
        (void)gp_direct_give(cache, (uintptr_t)ptr, stream);
    else if (gp_block_at(ptr, &block) == GP_OK)
        gp_thread_cache_free_block(cache, block.slot, block.bytes, stream, GP_TIER_L2);
}

static void free_list(reserved_block *list, gp_thread_cache *cache, cudaStream_t stream)
{
    while (list != NULL) {
        reserved_block *next = list->next;
        give(list->ptr, cache, stream);
        free(list);
        list = next;
    }
}

static gp_status check_plan(const gp_reserve_entry *plan, size_t count)
{
    if (plan == NULL && count > 0)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "plan is NULL");
    for (size_t i = 0; i < count; i++) {
        if (plan[i].bytes == 0)
            return gp_error_set(GP_ERR_INVALID_ARGUMENT, "plan[%zu].bytes is 0", i);
    }
    return GP_OK;
}

/* In a capture the plan's blocks would become nodes of the graph. */
static gp_status check_stream(gp_pool *pool, cudaStream_t stream, gp_target *target)
{
    gp_status status = gp_thread_resolve(pool, stream, target);
    if (status == GP_OK && target->cache == NULL)
        return gp_error_set(GP_ERR_CAPTURE, "memory cannot be reserved on a capturing stream");
    return status;
}

gp_status gp_pool_reserve(gp_pool *pool, cudaStream_t stream, const gp_reserve_entry *plan,
                          size_t count)
{
    gp_target target;
    gp_status status = check_plan(plan, count);
    if (status == GP_OK)
        status = gp_registry_check(pool);
    if (status == GP_OK && count > 0)
        status = check_stream(pool, stream, &target);
    if (status != GP_OK || count == 0)
        return status;

    reserved_block *list = NULL;
    gp_trace_scope scope;
    gp_trace_begin_on(&scope, &pool->trace, GP_TRACE_RESERVE, count, target.cache->stream, stream);
    status = take_plan(pool, stream, plan, count, &list);
    free_list(list, target.cache, stream);
    gp_tiers_settle(target.cache, stream);
    gp_trace_end(&scope);
    return status;
}
