#include "direct.h"

#include <sched.h>
#include <stdlib.h>

#include "address_table.h"
#include "clock.h"
#include "error.h"
#include "guard.h"
#include "listen.h"
#include "order_watch.h"
#include "paint.h"
#include "pool.h"
#include "pressure.h"
#include "process.h"
#include "quarantine.h"
#include "readback.h"
#include "registry.h"
#include "release.h"
#include "request.h"
#include "tiers.h"

/* Pools of the process that pass through: most processes have none, and ask no further. */
static _Atomic(uint32_t) pool_count;

void gp_direct_init(gp_pool *pool)
{
    gp_direct_table_init(&pool->direct);
    if (pool->config.pass_through)
        (void)atomic_fetch_add(&pool_count, 1);
}

void gp_direct_destroy(gp_pool *pool)
{
    if (pool->config.pass_through)
        (void)atomic_fetch_sub(&pool_count, 1);
    gp_direct_table_destroy(&pool->direct, &pool->fences);
}

/* ---- native memory ------------------------------------------------------------- */

static gp_status take(gp_pool *pool, size_t bytes, cudaStream_t stream, void **native)
{
    return gp_global_tier_take_block(&pool->global, bytes, stream, native);
}

/* Frees that the device is not past yet may leave what is needed; those that count against the
 * pool's own limit do so no more once they are queued. */
static gp_status take_at_last(gp_pool *pool, size_t bytes, cudaStream_t stream, void **native)
{
    const uint64_t start = gp_clock_ns();
    gp_status status;
    gp_quarantine_let_out(pool, 0);
    (void)gp_release_down_to(pool, 0);
    do {
        (void)gp_release_trim(pool, 0);
        status = take(pool, bytes, stream, native);
        (void)sched_yield();
    } while (status == GP_ERR_OUT_OF_MEMORY && gp_clock_ns() - start < GP_PRESSURE_WAIT_NS);
    return status;
}

/* The native pool has the same limit, and counts what it was given back until the device is past
 * it. */
static gp_status blame(gp_pool *pool, size_t bytes, gp_status status)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (status != GP_ERR_OUT_OF_MEMORY || pool->config.max_bytes == 0 ||
        pool->backend->ops->mem_info(pool->backend, &free_bytes, &total_bytes) != GP_OK)
        return status;
    return free_bytes >= bytes ? GP_ERR_LIMIT : status;
}

static gp_status take_in_need(gp_pool *pool, size_t bytes, cudaStream_t stream, void **native)
{
    gp_status status = take_at_last(pool, bytes, stream, native);
    for (int round = 0; gp_pressure_is_cause(status) && round < GP_PRESSURE_ROUNDS; round++) {
        if (!gp_pressure_relieve(pool, bytes))
            break;
        status = take_at_last(pool, bytes, stream, native);
    }
    if (!gp_pressure_is_cause(status))
        return status;
    return gp_pressure_fail(pool, NULL, bytes, blame(pool, bytes, status),
                            GP_PRESSURE_TRIED_NATIVE);
}

static gp_status take_native(gp_pool *pool, size_t bytes, cudaStream_t stream, void **native)
{
    gp_status status = take(pool, bytes, stream, native);
    return gp_pressure_is_cause(status) ? take_in_need(pool, bytes, stream, native) : status;
}

static gp_status give_native(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream)
{
    return gp_global_tier_give_block(&pool->global, block->native, block->native_bytes, stream);
}

/* ---- allocating -------------------------------------------------------------------- */

static gp_status make(gp_pool *pool, const gp_direct_block *like, size_t alignment, size_t slack,
                      cudaStream_t stream, gp_direct_block **made)
{
    gp_direct_block *block = malloc(sizeof(*block));
    if (block == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a block");
    *block = *like;
    const size_t guard = pool->config.guard_bytes;
    block->native_bytes = guard + block->bytes + guard + slack;
    gp_status status = take_native(pool, block->native_bytes, stream, &block->native);
    if (status != GP_OK) {
        free(block);
        return status;
    }
    block->base = gp_round_up((uintptr_t)block->native + guard, alignment);
    *made = block;
    return GP_OK;
}

static bool fits(const gp_pool *pool, const gp_direct_block *block)
{
    const uintptr_t end = block->base + block->bytes + pool->config.guard_bytes;
    return end <= (uintptr_t)block->native + block->native_bytes;
}

/* Memory that turns out to be of no use. */
static void drop(gp_pool *pool, gp_direct_block *block, cudaStream_t stream)
{
    if (give_native(pool, block, stream) == GP_OK) {
        free(block);
        return;
    }
    block->base = (uintptr_t)block->native;
    block->state = GP_DIRECT_STUCK;
    gp_direct_table_add(&pool->direct, block);
}

/* A tool checks accesses to the byte, so that no more is asked for than the caller did, if the
 * native allocator's own alignment will do. */
static gp_status allocate(gp_pool *pool, const gp_direct_block *like, size_t alignment,
                          cudaStream_t stream, gp_direct_block **block)
{
    const size_t slack = alignment > GP_GRANULE_BYTES ? alignment : 0;
    gp_status status = make(pool, like, alignment, slack, stream, block);
    if (status != GP_OK || fits(pool, *block))
        return status;
    drop(pool, *block, stream);
    return make(pool, like, alignment, alignment, stream, block);
}

/* Some aids ask later when the device was past the allocation, with what was painted. */
static gp_status leave_fence(gp_pool *pool, gp_direct_block *block, cudaStream_t stream)
{
    if (pool->config.guard_bytes == 0 && !pool->config.watch_order)
        return GP_OK;
    return gp_fence_record(&pool->fences, stream, block->stream_id, 0, &block->fence);
}

static void drop_fence(gp_pool *pool, gp_direct_block *block)
{
    gp_fence_release(&pool->fences, block->fence);
    block->fence = NULL;
}

static gp_status allocate_painted(gp_pool *pool, const gp_direct_block *like, size_t alignment,
                                  cudaStream_t stream, gp_direct_block **block)
{
    gp_status status = allocate(pool, like, alignment, stream, block);
    if (status != GP_OK)
        return status;
    status = gp_paint_fresh(pool, *block, stream);
    if (status == GP_OK)
        status = leave_fence(pool, *block, stream);
    if (status != GP_OK)
        drop(pool, *block, stream);
    return status;
}

static void collect_findings(gp_pool *pool)
{
    gp_readback_collect(pool);
    gp_order_watch_collect(pool);
}

static void count_alloc(gp_thread_counters *counters, size_t bytes)
{
    gp_counter_add(&counters->l1_misses, 1);
    gp_counter_add(&counters->l3_hits, 1);
    gp_thread_cache_count_alloc(counters, bytes);
}

gp_status gp_direct_alloc(const gp_target *target, cudaStream_t stream, const gp_request *request,
                          void **ptr)
{
    const gp_direct_block like = {
        .bytes = request->bytes,
        .stream_id = target->cache->stream->stream_id,
        .state = GP_DIRECT_LIVE,
    };
    gp_thread_counters *counters = target->cache->counters;
    gp_direct_block *block;
    gp_status status = allocate_painted(target->pool, &like, request->alignment, stream, &block);
    if (status != GP_OK) {
        gp_counter_add(&counters->failures, 1);
        return status;
    }
    *ptr = (void *)block->base;
    gp_direct_table_add(&target->pool->direct, block);
    count_alloc(counters, request->bytes);
    collect_findings(target->pool);
    gp_tiers_settle(target->cache, stream);
    return GP_OK;
}

/* ---- whose block is it? -------------------------------------------------------------- */

static bool has_block(gp_pool *pool, const void *ptr)
{
    return gp_direct_table_has(&pool->direct, (uintptr_t)ptr);
}

static bool has_freed(gp_pool *pool, const void *ptr)
{
    return gp_direct_table_has_freed(&pool->direct, (uintptr_t)ptr);
}

/* In a forked child a lock may be somebody's for ever. */
static bool may_be_direct(const void *ptr)
{
    return ptr != NULL && atomic_load_explicit(&pool_count, memory_order_relaxed) > 0 &&
           gp_address_table_segment((uintptr_t)ptr) == NULL && gp_process_is_running();
}

gp_pool *gp_direct_pool_of(const void *ptr)
{
    return may_be_direct(ptr) ? gp_registry_find(has_block, ptr) : NULL;
}

bool gp_direct_was_freed(const void *ptr)
{
    return may_be_direct(ptr) && gp_registry_find(has_freed, ptr) != NULL;
}

gp_status gp_direct_usable_size(gp_pool *pool, const void *ptr, size_t *bytes)
{
    gp_direct_block block;
    gp_status status = gp_direct_table_at(&pool->direct, ptr, &block);
    if (status == GP_OK)
        *bytes = block.bytes;
    return status;
}

gp_status gp_direct_containing(gp_pool *pool, const void *ptr, uintptr_t *base, size_t *bytes)
{
    gp_direct_block block;
    gp_status status = gp_direct_table_containing(&pool->direct, ptr, &block);
    if (status == GP_OK) {
        *base = block.base;
        *bytes = block.bytes;
    }
    return status;
}

/* ---- freeing ------------------------------------------------------------------------------ */

static gp_status refuse_second(uintptr_t base)
{
    return gp_error_set(GP_ERR_DOUBLE_FREE, "the block at %p is free already", (const void *)base);
}

static gp_status wait_for_uses(gp_pool *pool, uintptr_t base, cudaStream_t stream)
{
    gp_use *use = gp_use_table_take(&pool->uses, base);
    if (use == NULL)
        return GP_OK;
    gp_status status = gp_use_wait(use, &pool->fences, stream);
    if (status == GP_OK)
        gp_use_free(use, &pool->fences);
    else
        gp_use_table_put_back(&pool->uses, &pool->fences, use);
    return status;
}

void gp_direct_give_back(gp_pool *pool, gp_direct_block *block, cudaStream_t stream)
{
    if (give_native(pool, block, stream) == GP_OK)
        gp_direct_table_retire(&pool->direct, block);
    else
        gp_direct_table_restore(&pool->direct, block, GP_DIRECT_STUCK);
}

/* The end of a claimed block, or back to the state it came from. It has ended for everybody before
 * the native pool can hand its memory out again. */
static gp_status end(gp_thread_cache *cache, gp_direct_block *block, gp_direct_state from,
                     cudaStream_t stream)
{
    gp_pool *pool = cache->stream->pool;
    gp_status status = wait_for_uses(pool, block->base, stream);
    if (status != GP_OK) {
        gp_direct_table_restore(&pool->direct, block, from);
        return status;
    }
    if (gp_thread_cache_is_heard(cache))
        gp_listen_free(cache, block->base, block->bytes, stream,
                       from == GP_DIRECT_LIVE ? GP_TIER_NATIVE : GP_TIER_NONE);
    gp_thread_cache_count_free(cache->counters, block->bytes);
    block->freed_on = cache->stream->stream_id;
    gp_order_watch_free(pool, block, stream);
    gp_guard_end(pool, block, stream);
    drop_fence(pool, block);
    gp_paint_freed(pool, block, stream);
    if (!gp_quarantine_take_in(pool, block, stream))
        gp_direct_give_back(pool, block, stream);
    gp_quarantine_let_out(pool, pool->config.quarantine_bytes);
    collect_findings(pool);
    gp_tiers_settle(cache, stream);
    return GP_OK;
}

gp_status gp_direct_give(gp_thread_cache *cache, uintptr_t base, cudaStream_t stream)
{
    gp_direct_block *block =
        gp_direct_table_claim(&cache->stream->pool->direct, base, GP_DIRECT_LIVE, GP_DIRECT_ENDING);
    return block == NULL ? refuse_second(base) : end(cache, block, GP_DIRECT_LIVE, stream);
}

gp_status gp_direct_give_parked(gp_thread_cache *cache, uintptr_t base, cudaStream_t stream)
{
    gp_direct_block *block = gp_direct_table_claim(&cache->stream->pool->direct, base,
                                                   GP_DIRECT_PARKED, GP_DIRECT_ENDING);
    return block == NULL ? refuse_second(base) : end(cache, block, GP_DIRECT_PARKED, stream);
}

/* A block that is freed inside a capture is not free before that ends. */
static gp_status park(gp_pool *pool, uintptr_t base, cudaStream_t stream)
{
    gp_direct_block *block =
        gp_direct_table_claim(&pool->direct, base, GP_DIRECT_LIVE, GP_DIRECT_PARKED);
    if (block == NULL)
        return refuse_second(base);
    const gp_parked_block parked = {
        .slot = {.base = base},
        .bytes = block->bytes,
        .stream_id = gp_thread_known_id(pool, stream),
    };
    gp_status status = gp_captured_blocks_park(&pool->captured, &parked);
    if (status == GP_OK)
        gp_listen_parked(pool, base, parked.bytes, stream);
    else
        gp_direct_table_restore(&pool->direct, block, GP_DIRECT_LIVE);
    return status;
}

gp_status gp_direct_free(gp_pool *pool, void *ptr, cudaStream_t stream)
{
    gp_direct_block block;
    gp_target target;
    gp_status status = gp_direct_table_at(&pool->direct, ptr, &block);
    if (status == GP_OK)
        status = gp_thread_target(pool, stream, &target);
    if (status != GP_OK)
        return status;
    if (target.cache == NULL)
        return park(pool, block.base, stream);
    gp_trace_scope scope;
    gp_trace_begin_on(&scope, &pool->trace, GP_TRACE_FREE, block.bytes, target.cache->stream,
                      stream);
    status = gp_direct_give(target.cache, block.base, stream);
    gp_trace_end(&scope);
    return status;
}

/* ---- the end ------------------------------------------------------------------------------- */

void gp_direct_release_all(gp_pool *pool, cudaStream_t stream)
{
    gp_direct_block *blocks;
    size_t count;
    if (!gp_direct_table_list(&pool->direct, &blocks, &count))
        return; /* What stays with the native pool goes with the process. */
    gp_readback_order(pool, stream);
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].state == GP_DIRECT_HELD)
            gp_quarantine_look(pool, &blocks[i], stream);
        (void)give_native(pool, &blocks[i], stream);
    }
    free(blocks);
}
