/*
 * The thread cache (L1): blocks that one thread keeps ready for one stream.
 *
 * A LIFO array for each size class; the block freed last is handed out first. A
 * hit takes no lock and no atomic read-modify-write, and calls nobody. Only its
 * thread touches it, except while it is revoked (asymmetric.h): trim and the
 * out-of-memory ladder take what idle threads hold.
 *
 *     bin of a class:   | cold ... warm |          |
 *                       0          count      depth
 *                            refill_below: a batch comes from L2 before it is dry
 */
#ifndef GP_SRC_THREAD_CACHE_H
#define GP_SRC_THREAD_CACHE_H

#include "gp/trace.h"
#include "asymmetric.h"
#include "backend.h"
#include "counter.h"
#include "page.h"
#include "stream_cache.h"
#include "thread_counters.h"

#define GP_BIN_FIRST_DEPTH 2

typedef struct gp_bin {
    gp_slot *slots; /* NULL until the class is used; room for `depth`. */
    uint32_t bytes; /* Of a block of the class. */
    uint16_t count;
    uint16_t depth;        /* Grows with demand, up to the class's bound. */
    uint16_t refill_below; /* 0: only when dry. */
    uint16_t low;          /* Lowest count since the last sweep: what nobody asked for. */
    uint16_t batch;        /* The last one from L2: doubled at a refill, halved at a flush. */
} gp_bin;

typedef struct gp_thread_cache {
    gp_asymmetric side;           /* Guards the bins. */
    size_t small_bytes;           /* Requests above go past L1. */
    size_t max_bytes;             /* Guarded by `side` too. 0: the stream's blocks go past L1. */
    gp_counter cached_bytes;      /* In the bins. */
    gp_thread_counters *counters; /* Of its thread in its pool. */
    gp_stream_cache *stream;
    _Atomic(bool) heard; /* Somebody hears of each alloc and free: listen.h. */
    uint32_t slow_calls;
    cudaStream_t handle; /* By which its thread last named the stream. */
    gp_bin bins[GP_CLASS_COUNT];
    gp_counter host_bytes; /* Of this and of all bins, for statistics. */

    struct gp_thread_cache *next_of_thread; /* Both lists: under the registry's lock. */
    struct gp_thread_cache *next_of_stream;
} gp_thread_cache;

gp_status gp_thread_cache_create(gp_stream_cache *stream, gp_thread_counters *counters,
                                 gp_thread_cache **cache);

/* The bins are empty. */
void gp_thread_cache_destroy(gp_thread_cache *cache);

/* Bring blocks of a class from L2, after a miss or below the watermark. The
 * first goes to *slot if `slot` is not NULL. No growth, no other stream: false
 * if the stream's own memory has none. */
bool gp_thread_cache_refill(gp_thread_cache *cache, uint32_t size_class, gp_slot *slot);

/* The prefetch: a batch if the class is below its watermark. */
void gp_thread_cache_refill_low(gp_thread_cache *cache, uint32_t size_class);

/* Make room for a block of a class, and put it in; falls through to L2 if the
 * class is not kept here. Never fails. */
void gp_thread_cache_put(gp_thread_cache *cache, uint32_t size_class, gp_slot slot);

/* A block that no other stream uses any more comes back, on the cache's stream: small or large.
 * Never fails, and asks nobody. Who listens is told that it goes to `tier`: listen.h. */
void gp_thread_cache_free_block(gp_thread_cache *cache, gp_slot slot, size_t bytes,
                                cudaStream_t stream, gp_tier tier);

/* The same as far as the caller sees it: it is no longer live, and who listens knows. */
void gp_thread_cache_end_block(gp_thread_cache *cache, gp_slot slot, size_t bytes,
                               cudaStream_t stream, gp_tier tier);

/* Flush everything to L2. The caller owns the cache, or has revoked it. */
void gp_thread_cache_flush_all(gp_thread_cache *cache);

/* Its owner: flush to L2 what may serve a class that has run dry there: one longer block, out of
 * which it can be cut; or if there is none, those not much shorter, which may join into it; or
 * then the rest. False if there was nothing. */
bool gp_thread_cache_yield(gp_thread_cache *cache, uint32_t size_class);

/* Flush half of what nobody asked for since the last time. */
void gp_thread_cache_sweep(gp_thread_cache *cache);

/* Its owner: keep blocks, or none, as the stream has to be careful or not. */
void gp_thread_cache_adapt(gp_thread_cache *cache);

/* Flush everything to L2, and keep nothing more if the stream has to be careful. The caller has
 * revoked the cache. */
void gp_thread_cache_empty(gp_thread_cache *cache);

/* Enter from the slow path: waits while the cache is revoked. */
void gp_thread_cache_enter_slow(gp_thread_cache *cache);

/* What became of a try to serve a request from L1. */
typedef enum gp_hit {
    GP_HIT,
    GP_HIT_LOW, /* Served, and the class is below its watermark now. */
    GP_MISS,
    GP_MISS_TWICE /* The block was dropped: it was here twice, and the caller is to note that. */
} gp_hit;

/* Out of line: a hit's free is heard (listen.h). */
void gp_thread_cache_tell_free(const gp_thread_cache *cache, uintptr_t base, size_t bytes,
                               cudaStream_t stream);

static inline bool gp_thread_cache_is_heard(const gp_thread_cache *cache)
{
    return atomic_load_explicit(&cache->heard, memory_order_relaxed);
}

static inline void gp_thread_cache_count_alloc(gp_thread_counters *counters, size_t bytes)
{
    uint64_t live = gp_counter_get(&counters->live_bytes) + bytes;
    gp_counter_set(&counters->live_bytes, live);
    if ((int64_t)live > (int64_t)gp_counter_get(&counters->live_peak))
        gp_counter_set(&counters->live_peak, live);
    gp_counter_add(&counters->requests, 1);
}

static inline void gp_thread_cache_count_free(gp_thread_counters *counters, size_t bytes)
{
    gp_counter_sub(&counters->live_bytes, bytes);
    gp_counter_add(&counters->frees, 1);
}

/* The hit, which calls nobody: *base is set unless it is a miss. */
GP_ALWAYS_INLINE gp_hit gp_thread_cache_pop(gp_thread_cache *cache, uint32_t size_class,
                                            uintptr_t *base)
{
    gp_bin *bin = &cache->bins[size_class];
    if (GP_UNLIKELY(!gp_asymmetric_enter(&cache->side)))
        return GP_MISS;
    uint32_t count = bin->count;
    if (GP_UNLIKELY(count == 0)) {
        gp_asymmetric_leave(&cache->side);
        return GP_MISS;
    }

    size_t bytes = bin->bytes;
    bin->count = (uint16_t)--count;
    gp_slot slot = bin->slots[count];
    if (count < bin->low)
        bin->low = (uint16_t)count;
    gp_hit hit = count < bin->refill_below ? GP_HIT_LOW : GP_HIT;
    gp_counter_sub(&cache->cached_bytes, bytes);
    const bool here = gp_record_hand_out(slot.record, size_class);
    gp_asymmetric_leave(&cache->side);
    if (GP_UNLIKELY(!here))
        return GP_MISS_TWICE;

    gp_thread_cache_count_alloc(cache->counters, bytes);
    *base = slot.base;
    return hit;
}

/* Take a block in, freed on `stream`, if there is room for one more. It calls nobody, unless
 * somebody listens and is told. */
GP_ALWAYS_INLINE bool gp_thread_cache_push(gp_thread_cache *cache, uint32_t size_class,
                                           gp_slot slot, cudaStream_t stream, bool heard)
{
    gp_bin *bin = &cache->bins[size_class];
    if (GP_UNLIKELY(!gp_asymmetric_enter(&cache->side)))
        return false;
    size_t bytes = bin->bytes;
    uint32_t count = bin->count;
    uint64_t cached = gp_counter_get(&cache->cached_bytes) + bytes;
    if (GP_UNLIKELY(count >= bin->depth || cached > cache->max_bytes)) {
        gp_asymmetric_leave(&cache->side);
        return false;
    }
    if (GP_UNLIKELY(!gp_record_claim_hit(slot.record, size_class))) {
        gp_asymmetric_leave(&cache->side);
        return false;
    }
    if (heard)
        gp_thread_cache_tell_free(cache, slot.base, bytes, stream);
    bin->slots[count] = slot;
    bin->count = (uint16_t)(count + 1);
    gp_counter_set(&cache->cached_bytes, cached);
    gp_asymmetric_leave(&cache->side);

    gp_thread_cache_count_free(cache->counters, bytes);
    return true;
}

#endif
