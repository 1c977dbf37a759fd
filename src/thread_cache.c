#include "thread_cache.h"

#include <stdlib.h>

#include "budget.h"
#include "error.h"
#include "listen.h"
#include "lock.h"
#include "pool.h"

/* A class may fill this share of the cache at most. */
#define CLASS_SHARE 4u

/* A batch from L2, this share. */
#define BATCH_SHARE 16u

/* Down to an eighth of a block's length: a few of these join into one. It takes many shorter
 * ones, which are worth more where they are. */
#define NEAR_CLASSES (3u * GP_CLASS_STEPS)

/* What lay here would have been freed where no tool sees it, or behind no fence. */
static size_t most_bytes(const gp_stream_cache *stream)
{
    const gp_pool_config *config = &stream->pool->config;
    return config->visible_order || gp_stream_cache_is_careful(stream) ? 0 : config->l1_bytes;
}

gp_status gp_thread_cache_create(gp_stream_cache *stream, gp_thread_counters *counters,
                                 gp_thread_cache **cache)
{
    gp_thread_cache *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a thread cache");

    gp_pool *pool = stream->pool;
    made->stream = stream;
    made->counters = counters;
    made->small_bytes = pool->config.large_bytes;
    made->max_bytes = most_bytes(stream);
    for (uint32_t i = 0; i < GP_CLASS_COUNT; i++)
        made->bins[i].bytes = (uint32_t)gp_size_class_bytes(i);
    atomic_init(&made->heard, gp_listen_is_wanted(pool));
    gp_counter_set(&made->host_bytes, sizeof(*made));
    *cache = made;
    return GP_OK;
}

void gp_thread_cache_destroy(gp_thread_cache *cache)
{
    for (uint32_t i = 0; i < GP_CLASS_COUNT; i++)
        free(cache->bins[i].slots);
    free(cache);
}

void gp_thread_cache_enter_slow(gp_thread_cache *cache)
{
    while (!gp_asymmetric_enter(&cache->side)) {
        /* Whoever revoked it holds this until it has given the cache back. */
        pthread_mutex_t *revocation = &cache->stream->pool->revocation;
        gp_mutex_lock(revocation, GP_RANK_REVOCATION);
        gp_mutex_unlock(revocation, GP_RANK_REVOCATION);
    }
}

/* ---- depth ------------------------------------------------------------------- */

static uint32_t deepest(const gp_thread_cache *cache, uint32_t size_class)
{
    size_t blocks = cache->max_bytes / CLASS_SHARE / gp_size_class_bytes(size_class);
    uint32_t bound = cache->stream->pool->config.l1_depth;
    return blocks < bound ? (uint32_t)blocks : bound;
}

/* Slow start: a class that is asked for gets twice the depth, up to its bound. */
static void deepen(gp_thread_cache *cache, uint32_t size_class)
{
    gp_bin *bin = &cache->bins[size_class];
    uint32_t depth = bin->depth == 0 ? GP_BIN_FIRST_DEPTH : 2u * bin->depth;
    uint32_t bound = deepest(cache, size_class);
    if (depth > bound)
        depth = bound;
    if (depth <= bin->depth)
        return;

    gp_slot *slots = realloc(bin->slots, depth * sizeof(*slots));
    if (slots == NULL)
        return; /* As shallow as before. */
    gp_counter_add(&cache->host_bytes, (depth - bin->depth) * sizeof(*slots));
    bin->slots = slots;
    bin->depth = (uint16_t)depth;
}

static void set_watermark(gp_thread_cache *cache, gp_bin *bin)
{
    uint32_t percent = cache->stream->pool->config.l1_refill_percent;
    bin->refill_below = (uint16_t)(bin->depth * percent / 100u);
}

/* ---- flush --------------------------------------------------------------------- */

/* Send the coldest `count` blocks of a class to L2; the warm ones stay. Returns their bytes. */
static size_t flush_bin(gp_thread_cache *cache, uint32_t size_class, uint32_t count)
{
    gp_bin *bin = &cache->bins[size_class];
    const size_t bytes = count * gp_size_class_bytes(size_class);
    if (count == 0)
        return 0;

    gp_stream_cache_flush(cache->stream, bin->slots, count);
    bin->count = (uint16_t)(bin->count - count);
    for (uint32_t i = 0; i < bin->count; i++)
        bin->slots[i] = bin->slots[i + count];
    bin->batch /= 2;
    if (bin->low > bin->count)
        bin->low = bin->count;
    gp_counter_sub(&cache->cached_bytes, bytes);
    gp_counter_add(&cache->counters->flushes, 1);
    return bytes;
}

/* Past the cache's own lock. */
static void mark_flush(const gp_thread_cache *cache, size_t bytes)
{
    if (bytes > 0)
        gp_trace_mark(&cache->stream->pool->trace, GP_TRACE_FLUSH, bytes, cache->stream,
                      cache->handle);
}

static size_t flush_classes(gp_thread_cache *cache, uint32_t first, uint32_t last)
{
    size_t flushed = 0;
    for (uint32_t i = first; i <= last; i++)
        flushed += flush_bin(cache, i, cache->bins[i].count);
    return flushed;
}

void gp_thread_cache_flush_all(gp_thread_cache *cache)
{
    (void)flush_classes(cache, 0, GP_CLASS_COUNT - 1);
}

/* The shortest class above this one of which there is a block; GP_CLASS_COUNT: none. */
static uint32_t longer_class(const gp_thread_cache *cache, uint32_t size_class)
{
    do
        size_class++;
    while (size_class < GP_CLASS_COUNT && cache->bins[size_class].count == 0);
    return size_class;
}

static size_t yield(gp_thread_cache *cache, uint32_t size_class)
{
    const uint32_t longer = longer_class(cache, size_class);
    if (longer < GP_CLASS_COUNT)
        return flush_bin(cache, longer, 1);
    const uint32_t near = size_class > NEAR_CLASSES ? size_class - NEAR_CLASSES : 0;
    const size_t flushed = flush_classes(cache, near, size_class);
    return flushed > 0 ? flushed : flush_classes(cache, 0, near);
}

bool gp_thread_cache_yield(gp_thread_cache *cache, uint32_t size_class)
{
    gp_thread_cache_enter_slow(cache);
    const size_t flushed = yield(cache, size_class);
    gp_asymmetric_leave(&cache->side);
    mark_flush(cache, flushed);
    return flushed > 0;
}

void gp_thread_cache_adapt(gp_thread_cache *cache)
{
    gp_thread_cache_enter_slow(cache);
    cache->max_bytes = most_bytes(cache->stream);
    gp_asymmetric_leave(&cache->side);
}

void gp_thread_cache_empty(gp_thread_cache *cache)
{
    gp_thread_cache_flush_all(cache);
    if (!atomic_load_explicit(&cache->stream->attached, memory_order_relaxed))
        gp_stream_cache_set_careful(cache->stream, true);
    cache->max_bytes = most_bytes(cache->stream);
}

/* Half of what nobody asked for since the last sweep goes back. */
static size_t sweep(gp_thread_cache *cache)
{
    size_t flushed = 0;
    for (uint32_t i = 0; i < GP_CLASS_COUNT; i++) {
        gp_bin *bin = &cache->bins[i];
        flushed += flush_bin(cache, i, (bin->low + 1u) / 2u);
        bin->low = bin->count;
    }
    return flushed;
}

void gp_thread_cache_sweep(gp_thread_cache *cache)
{
    gp_thread_cache_enter_slow(cache);
    const size_t flushed = sweep(cache);
    gp_asymmetric_leave(&cache->side);
    mark_flush(cache, flushed);
}

/* What a cache that got full keeps. */
static size_t shrunk_bytes(const gp_thread_cache *cache)
{
    return cache->max_bytes - cache->max_bytes / 4;
}

/* The cache as a whole is full. The largest blocks hold most of it, in few of them: so
 * from there down, the colder half of each class, until a quarter is free. */
static size_t shrink(gp_thread_cache *cache)
{
    size_t flushed = 0;
    size_t keep = shrunk_bytes(cache);
    for (uint32_t i = GP_CLASS_COUNT; i-- > 0 && gp_counter_get(&cache->cached_bytes) > keep;)
        flushed += flush_bin(cache, i, (cache->bins[i].count + 1u) / 2u);
    return flushed;
}

void gp_thread_cache_put(gp_thread_cache *cache, uint32_t size_class, gp_slot slot)
{
    gp_bin *bin = &cache->bins[size_class];
    size_t bytes = gp_size_class_bytes(size_class);
    size_t flushed = 0;

    gp_thread_cache_enter_slow(cache);
    /* As deep as what comes and goes, within its bound: else each swing of the live
     * count would be a flush and, on the way back, a refill. */
    if (bin->count == bin->depth)
        deepen(cache, size_class);
    if (bin->count > 0 && bin->count == bin->depth)
        flushed = flush_bin(cache, size_class, (bin->count + 1u) / 2u);
    if (gp_counter_get(&cache->cached_bytes) + bytes > cache->max_bytes)
        flushed += shrink(cache);

    bool room =
        bin->count < bin->depth && gp_counter_get(&cache->cached_bytes) + bytes <= cache->max_bytes;
    if (room) {
        bin->slots[bin->count++] = slot;
        gp_counter_add(&cache->cached_bytes, bytes);
    }
    gp_asymmetric_leave(&cache->side);
    mark_flush(cache, flushed);
    if (!room)
        gp_stream_cache_give(cache->stream, &slot, 1);
}

/* ---- any block ---------------------------------------------------------------------- */

void gp_thread_cache_tell_free(const gp_thread_cache *cache, uintptr_t base, size_t bytes,
                               cudaStream_t stream)
{
    gp_listen_free(cache, base, bytes, stream, GP_TIER_L1);
}

void gp_thread_cache_end_block(gp_thread_cache *cache, gp_slot slot, size_t bytes,
                               cudaStream_t stream, gp_tier tier)
{
    if (gp_thread_cache_is_heard(cache))
        gp_listen_free(cache, slot.base, bytes, stream, tier);
    const uint32_t value = gp_record_get(slot.record);
    if ((value & GP_RECORD_CHARGED) != 0)
        gp_budget_credit(slot.base);
    gp_record_set(slot.record, (value & GP_RECORD_CLASS_MASK) | GP_STATE_CACHED);
    gp_thread_cache_count_free(cache->counters, bytes);
}

void gp_thread_cache_free_block(gp_thread_cache *cache, gp_slot slot, size_t bytes,
                                cudaStream_t stream, gp_tier tier)
{
    const uint32_t size_class = gp_record_get(slot.record) & GP_RECORD_CLASS_MASK;
    gp_thread_cache_end_block(cache, slot, bytes, stream, tier);
    if (size_class != GP_CLASS_LARGE)
        gp_thread_cache_put(cache, size_class, slot);
    else
        gp_stream_cache_give_large(cache->stream, (gp_span){.base = slot.base, .bytes = bytes});
}

/* ---- refill ----------------------------------------------------------------------- */

static void fill_bin(gp_thread_cache *cache, uint32_t size_class, const gp_slot *slots,
                     uint32_t count)
{
    gp_bin *bin = &cache->bins[size_class];
    gp_thread_cache_enter_slow(cache);
    uint32_t room = (uint32_t)(bin->depth - bin->count);
    uint32_t kept = count < room ? count : room;
    /* Below what is there already: the caller's own blocks are warmer. */
    for (uint32_t i = bin->count; i-- > 0;)
        bin->slots[i + kept] = bin->slots[i];
    for (uint32_t i = 0; i < kept; i++)
        bin->slots[i] = slots[i];
    bin->count = (uint16_t)(bin->count + kept);
    gp_counter_add(&cache->cached_bytes, kept * gp_size_class_bytes(size_class));
    gp_asymmetric_leave(&cache->side);

    if (kept < count)
        gp_stream_cache_give(cache->stream, slots + kept, count - kept);
}

/* As a class is asked for time and again its batches double, up to half the depth. They take
 * no more bytes than a small part of the cache: of large blocks a batch saves little and strands
 * much. Nor do they fill the cache further than shrinking leaves it: else what is fetched ahead
 * for one class is what soon flushes another, which then fetches ahead again. */
static uint32_t batch_size(const gp_thread_cache *cache, uint32_t size_class)
{
    const gp_bin *bin = &cache->bins[size_class];
    uint64_t cached = gp_counter_get(&cache->cached_bytes);
    uint64_t most_cached = shrunk_bytes(cache);
    size_t room = cached < most_cached ? (size_t)(most_cached - cached) : 0;
    size_t bytes = room < cache->max_bytes / BATCH_SHARE ? room : cache->max_bytes / BATCH_SHARE;
    size_t blocks = bytes / bin->bytes;
    uint32_t doubled = 2u * bin->batch + 1u;
    uint32_t half = bin->depth / 2u < GP_BATCH_SLOTS ? bin->depth / 2u : GP_BATCH_SLOTS;
    uint32_t most = doubled < half ? doubled : half;
    return blocks < most ? (uint32_t)blocks : most;
}

/* L2 is dry too: no prefetch before the next miss, and no larger batch when more has come. */
static void note_dry(gp_thread_cache *cache, gp_bin *bin, uint32_t got)
{
    gp_thread_cache_enter_slow(cache);
    bin->refill_below = 0;
    if (got == 0)
        bin->batch /= 2;
    gp_asymmetric_leave(&cache->side);
}

static bool refill(gp_thread_cache *cache, uint32_t size_class, gp_slot *slot)
{
    gp_slot slots[GP_BATCH_SLOTS + 1];
    gp_bin *bin = &cache->bins[size_class];
    uint32_t first = slot != NULL;
    const gp_request request = {
        .bytes = gp_size_class_bytes(size_class),
        .alignment = cache->stream->pool->config.alignment,
        .size_class = size_class,
    };

    gp_thread_cache_enter_slow(cache);
    if (slot != NULL)
        deepen(cache, size_class);
    set_watermark(cache, bin);
    const uint32_t batch = batch_size(cache, size_class);
    uint32_t want = first + batch;
    bin->batch = (uint16_t)batch;
    gp_asymmetric_leave(&cache->side);

    const uint32_t got = want > 0 ? gp_stream_cache_take(cache->stream, &request, slots, want) : 0;
    if (got < want)
        note_dry(cache, bin, got);
    if (got == 0)
        return false;

    if (slot != NULL)
        *slot = slots[0];
    if (got > first) {
        fill_bin(cache, size_class, slots + first, got - first);
        gp_counter_add(&cache->counters->refills, 1);
    }
    return true;
}

bool gp_thread_cache_refill(gp_thread_cache *cache, uint32_t size_class, gp_slot *slot)
{
    gp_trace_scope scope;
    gp_trace_begin_on(&scope, &cache->stream->pool->trace, GP_TRACE_REFILL,
                      gp_size_class_bytes(size_class), cache->stream, cache->handle);
    const bool found = refill(cache, size_class, slot);
    gp_trace_end(&scope);
    return found;
}

void gp_thread_cache_refill_low(gp_thread_cache *cache, uint32_t size_class)
{
    const gp_bin *bin = &cache->bins[size_class];
    gp_thread_cache_enter_slow(cache); /* It may have been flushed by a trim since the hit. */
    bool low = bin->count < bin->refill_below;
    gp_asymmetric_leave(&cache->side);
    if (low)
        (void)gp_thread_cache_refill(cache, size_class, NULL);
}
