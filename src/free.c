/* The public free call, and the recording of uses. The hit is here, in full. */
#include "gp/pool.h"
#include "gp/stream.h"
#include "address_table.h"
#include "block.h"
#include "direct.h"
#include "error.h"
#include "listen.h"
#include "pool.h"
#include "registry.h"
#include "thread.h"
#include "tiers.h"

/* ---- addresses of graphs ------------------------------------------------------- */

static bool has_captured(gp_pool *pool, const void *ptr)
{
    return gp_captured_blocks_has(&pool->captured, (uintptr_t)ptr);
}

/* A graph's allocation: freed by a node inside a capture, by the driver outside
 * one, which knows whether the graph has been launched. */
static gp_status free_captured(gp_pool *pool, void *ptr, cudaStream_t stream)
{
    (void)gp_counter_add_shared(&pool->captured.calls, 1);
    gp_status status = pool->backend->ops->free(pool->backend, ptr, stream);
    if (status != GP_OK)
        return status;
    const gp_trace_block told = {.address = ptr, .stream = stream, .tier = GP_TIER_NODE};
    gp_trace_mark(&pool->trace, GP_TRACE_NODE_FREE, 0, NULL, stream);
    gp_trace_free(&pool->trace, &told);
    return GP_OK;
}

static gp_status refuse_second(const gp_block *block)
{
    return gp_error_set(GP_ERR_DOUBLE_FREE, "the block at %p is free already",
                        (const void *)block->slot.base);
}

/* An eager block is freed inside a capture: it is not free before that ends. */
static gp_status park(const gp_block *block, cudaStream_t stream)
{
    gp_pool *pool = block->pool;
    const gp_parked_block parked = {
        .slot = block->slot,
        .bytes = block->bytes,
        .stream_id = gp_thread_known_id(pool, stream),
    };
    if (!gp_record_claim(block->slot.record, GP_STATE_PARKED))
        return refuse_second(block);
    /* Until it is parked nobody looks for it, so that the uses may be noted afterwards. */
    gp_record_set(block->slot.record, (block->value & ~GP_RECORD_STATE_MASK) | GP_STATE_PARKED);
    gp_status status = gp_captured_blocks_park(&pool->captured, &parked);
    if (status != GP_OK) {
        gp_record_set(block->slot.record, block->value);
        return status;
    }
    gp_process_bump_epoch();
    gp_listen_parked(pool, block->slot.base, block->bytes, stream);
    return GP_OK;
}

/* ---- blocks that other streams use ------------------------------------------------- */

/* Which of the recorded uses are still under way? They move to the batch; what
 * does not fit there is waited for by the stream, before its own fence. */
static gp_status carry_uses(gp_pool *pool, const gp_use *use, gp_batch *batch, cudaStream_t stream)
{
    gp_fence_store *fences = &pool->fences;
    for (uint32_t i = 0; i < use->count; i++) {
        if (gp_fence_poll(fences, use->fences[i]))
            continue;
        if (batch->fence_count < GP_BATCH_FENCES - 1) {
            batch->fences[batch->fence_count++] = gp_fence_retain(use->fences[i]);
            continue;
        }
        gp_status status = gp_fence_wait(fences, use->fences[i], stream);
        if (status != GP_OK)
            return status;
    }
    return GP_OK;
}

/* A batch with all the fences a used block has to wait for; NULL if one cannot be
 * had, for want of host memory or because the native call failed. */
static gp_batch *fence_uses(gp_pool *pool, const gp_use *use, const gp_target *target,
                            cudaStream_t stream)
{
    gp_fence *fence;
    gp_batch *batch = gp_batch_get(&pool->batches);
    if (batch == NULL)
        return NULL;
    if (carry_uses(pool, use, batch, stream) != GP_OK ||
        gp_fence_record(&pool->fences, stream, target->cache->stream->stream_id, 0, &fence) !=
            GP_OK) {
        gp_batch_drop_fences(&pool->fences, batch);
        gp_batch_put(&pool->batches, batch);
        return NULL;
    }
    batch->fences[batch->fence_count++] = fence;
    return batch;
}

/* Small blocks go to the stream whose chunk they are of; a large one has no home, and
 * waits where it was freed. */
static void send_used_home(const gp_block *block, gp_batch *batch, const gp_target *target)
{
    gp_stream_cache *home = gp_address_table_segment(block->slot.base)->home;
    gp_batch_add(batch, block->slot, block->bytes);
    gp_stream_cache_arrive(home != NULL ? home : target->cache->stream, batch);
}

/* ---- past the hit --------------------------------------------------------------------- */

/* The uses stay recorded if they cannot be waited for: then the block stays live. */
static gp_status free_used(const gp_block *block, const gp_target *target, cudaStream_t stream)
{
    gp_pool *pool = block->pool;
    gp_use *use = gp_use_table_take(&pool->uses, block->slot.base);
    if (use == NULL) {
        gp_thread_cache_free_block(target->cache, block->slot, block->bytes, stream, GP_TIER_L2);
        return GP_OK;
    }

    gp_batch *batch = fence_uses(pool, use, target, stream);
    if (batch != NULL) {
        gp_thread_cache_end_block(target->cache, block->slot, block->bytes, stream, GP_TIER_WAITED);
        send_used_home(block, batch, target);
    } else {
        /* The way that needs no event of its own. */
        gp_status status = gp_use_wait(use, &pool->fences, stream);
        if (status != GP_OK) {
            gp_use_table_put_back(&pool->uses, &pool->fences, use);
            return status;
        }
        gp_thread_cache_free_block(target->cache, block->slot, block->bytes, stream,
                                   GP_TIER_WAITED);
    }
    gp_use_free(use, &pool->fences);
    return GP_OK;
}

static gp_status free_eager(const gp_block *block, const gp_target *target, cudaStream_t stream)
{
    gp_status status = GP_OK;
    if (!gp_record_claim(block->slot.record, GP_STATE_CACHED))
        return refuse_second(block);
    if ((block->value & GP_RECORD_USED) != 0)
        status = free_used(block, target, stream);
    else
        gp_thread_cache_free_block(target->cache, block->slot, block->bytes, stream, GP_TIER_L2);
    if (status != GP_OK)
        gp_record_set(block->slot.record, block->value);
    gp_tiers_settle(target->cache, stream);
    return status;
}

static gp_status free_found(const gp_block *block, cudaStream_t stream)
{
    gp_target target;
    gp_status status = gp_thread_target(block->pool, stream, &target);
    if (status != GP_OK)
        return status;
    if (target.cache == NULL)
        return park(block, stream);
    gp_trace_scope scope;
    gp_trace_begin_on(&scope, &target.pool->trace, GP_TRACE_FREE, block->bytes,
                      target.cache->stream, stream);
    status = free_eager(block, &target, stream);
    gp_trace_end(&scope);
    return status;
}

static GP_NOINLINE gp_status free_slow(void *ptr, cudaStream_t stream)
{
    /* In a forked child and at exit the memory is gone with the process. */
    if (ptr == NULL || !gp_process_is_running())
        return GP_OK;

    gp_pool *arena_pool = gp_arenas_pool_of(ptr);
    if (arena_pool != NULL)
        return gp_arenas_free(arena_pool, ptr, stream);
    gp_pool *direct_pool = gp_direct_pool_of(ptr);
    if (direct_pool != NULL)
        return gp_direct_free(direct_pool, ptr, stream);
    gp_block block;
    gp_status status = gp_block_at(ptr, &block);
    if (status == GP_OK)
        return free_found(&block, stream);
    gp_pool *pool = gp_registry_find(has_captured, ptr);
    return pool != NULL ? free_captured(pool, ptr, stream) : status;
}

/* A large block that is live and not shared, on a stream this thread knows. */
static GP_NOINLINE gp_status free_large(gp_page *page, uintptr_t base, gp_thread_cache *cache,
                                        cudaStream_t stream)
{
    const size_t bytes = gp_page_large_bytes(page);
    if (GP_UNLIKELY(!gp_record_claim(&page->large, GP_STATE_CACHED)))
        return free_slow((void *)base, stream);
    gp_trace_scope scope;
    gp_trace_begin_on(&scope, &cache->stream->pool->trace, GP_TRACE_FREE, bytes, cache->stream,
                      stream);
    if (gp_thread_cache_is_heard(cache))
        gp_listen_free(cache, base, bytes, stream, GP_TIER_L2);
    gp_thread_cache_count_free(cache->counters, bytes);
    gp_stream_cache_give_large(cache->stream, (gp_span){.base = base, .bytes = bytes});
    gp_tiers_settle(cache, stream);
    gp_trace_end(&scope);
    return GP_OK;
}

/* ---- the calls ---------------------------------------------------------------------------- */

static GP_NOINLINE gp_status free_heard(gp_thread_cache *cache, uint32_t size_class, gp_slot slot,
                                        cudaStream_t stream)
{
    if (GP_UNLIKELY(!gp_thread_cache_push(cache, size_class, slot, stream, true)))
        return free_slow((void *)slot.base, stream);
    return GP_OK;
}

/* A block of a pool, on a stream this thread knows. Every call is the last thing done, so that the
 * hit saves no registers. */
GP_ALWAYS_INLINE gp_status free_known(gp_page *page, uintptr_t base, gp_thread_cache *cache,
                                      cudaStream_t stream)
{
    if (base % GP_PAGE_BYTES == 0 &&
        gp_record_get(&page->large) == (GP_CLASS_LARGE | GP_STATE_LIVE))
        return free_large(page, base, cache, stream);
    gp_page_records *records = gp_page_get_records(page);
    if (GP_UNLIKELY(records == NULL))
        return free_slow((void *)base, stream);

    gp_slot slot = {.base = base, .record = gp_record_at(records, base)};
    /* Live and not shared: the bare class. */
    uint32_t size_class = gp_record_get(slot.record) ^ GP_STATE_LIVE;
    if (GP_UNLIKELY(size_class >= GP_CLASS_COUNT))
        return free_slow((void *)base, stream);
    if (GP_UNLIKELY(gp_thread_cache_is_heard(cache)))
        return free_heard(cache, size_class, slot, stream);
    if (GP_UNLIKELY(!gp_thread_cache_push(cache, size_class, slot, stream, false)))
        return free_slow((void *)base, stream);
    return GP_OK;
}

static GP_NOINLINE gp_status free_from(const gp_lookup *lookup, gp_page *page, uintptr_t base,
                                       gp_pool *pool, cudaStream_t stream)
{
    gp_thread_cache *cache = gp_thread_find_from(lookup, pool, stream);
    return cache == NULL ? free_slow((void *)base, stream) : free_known(page, base, cache, stream);
}

gp_status gp_free_async(void *ptr, cudaStream_t stream)
{
    uintptr_t base = (uintptr_t)ptr;
    gp_page *page = gp_address_table_page(base);
    if (GP_UNLIKELY(page == NULL || base % GP_GRANULE_BYTES != 0))
        return free_slow(ptr, stream);
    gp_pool *pool = atomic_load_explicit(&page->pool, memory_order_acquire);
    const gp_lookup *lookup;
    if (GP_UNLIKELY(pool == NULL || !gp_thread_look_up(pool, stream, &lookup)))
        return free_slow(ptr, stream);
    if (GP_UNLIKELY(!gp_thread_is_at(lookup, pool, stream)))
        return free_from(lookup, page, base, pool, stream);
    return free_known(page, base, lookup->cache, stream);
}

gp_status gp_usable_size(const void *ptr, size_t *bytes)
{
    if (bytes == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "bytes is NULL");
    gp_pool *arena_pool = gp_arenas_pool_of(ptr);
    if (arena_pool != NULL)
        return gp_arenas_usable_size(arena_pool, ptr, bytes);
    gp_pool *direct_pool = gp_direct_pool_of(ptr);
    if (direct_pool != NULL)
        return gp_direct_usable_size(direct_pool, ptr, bytes);
    gp_block block;
    gp_status status = gp_block_at(ptr, &block);
    if (status == GP_OK)
        *bytes = block.bytes;
    return status;
}

/* ---- uses on other streams ------------------------------------------------------------------- */

static gp_status record_use(gp_pool *pool, uintptr_t base, size_t bytes, cudaStream_t stream)
{
    gp_target target;
    gp_status status = gp_thread_target(pool, stream, &target);
    if (status != GP_OK)
        return status;
    if (target.cache == NULL)
        return gp_error_set(GP_ERR_CAPTURE, "a use cannot be recorded on a capturing stream");

    gp_fence_store *fences = &pool->fences;
    gp_fence *fence;
    status = gp_fence_record(fences, stream, target.cache->stream->stream_id, 0, &fence);
    if (status == GP_OK)
        status = gp_use_table_add(&pool->uses, fences, base, fence);
    if (status == GP_OK && gp_thread_cache_is_heard(target.cache))
        gp_listen_use(target.cache, base, bytes, stream);
    return status;
}

static gp_status record_use_direct(gp_pool *pool, void *ptr, cudaStream_t stream)
{
    uintptr_t base;
    size_t bytes;
    gp_status status = gp_direct_containing(pool, ptr, &base, &bytes);
    return status == GP_OK ? record_use(pool, base, bytes, stream) : status;
}

gp_status gp_record_use(void *ptr, cudaStream_t stream)
{
    gp_status status = gp_process_check();
    if (status != GP_OK)
        return status;
    gp_pool *direct_pool = gp_direct_pool_of(ptr);
    if (direct_pool != NULL)
        return record_use_direct(direct_pool, ptr, stream);

    gp_block block;
    status = gp_block_containing(ptr, &block);
    if (status == GP_OK)
        status = record_use(block.pool, block.slot.base, block.bytes, stream);
    if (status == GP_OK)
        atomic_fetch_or_explicit(block.slot.record, GP_RECORD_USED, memory_order_relaxed);
    return status;
}
