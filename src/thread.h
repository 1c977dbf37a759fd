/*
 * The calling thread: from (pool, stream handle) to the thread cache, without a
 * lock and, for an attached stream, without a driver call.
 *
 * Each thread has a small hash table of look-ups it has done. All of them are
 * stale once the process epoch moves; then, and on a miss, gp_thread_resolve()
 * asks the driver and the registry.
 */
#ifndef GP_SRC_THREAD_H
#define GP_SRC_THREAD_H

#include "backend.h"
#include "compiler.h"
#include "process.h"
#include "thread_cache.h"

typedef struct gp_lookup {
    cudaStream_t stream;
    gp_pool *pool;          /* NULL: the default pool of the stream's device. */
    gp_thread_cache *cache; /* NULL: an empty place. */
    uint64_t stream_id;
    gp_status (*inspect)(cudaStream_t stream, gp_stream_view *view); /* NULL: attached. */
} gp_lookup;

/* What one thread has in one pool. */
typedef struct gp_thread_pool {
    gp_thread_counters counters;
    gp_pool *pool;
    struct gp_thread *thread;
    gp_thread_cache *caches; /* All under the registry's lock. */
    struct gp_thread_pool *next_of_thread;
    struct gp_thread_pool *next_of_pool;
} gp_thread_pool;

typedef struct gp_thread {
    uint32_t epoch; /* At which the table was last cleared. */
    uint32_t shift; /* 64 - log2(size of the table). */
    uint32_t used;
    gp_lookup *table;
    gp_thread_pool *pools;
    uint32_t number;           /* From 1, never another thread's. */
    _Atomic(uint32_t) tracing; /* Odd while it is inside a trace sink; counts up. */
    struct gp_thread *next;    /* Both: under the registry's lock. */
    struct gp_thread *previous;
} gp_thread;

/* The model spares a call into the loader; one pointer fits its reserve even when
 * the library is loaded late. */
extern _Thread_local gp_thread *gp_thread_self __attribute__((tls_model("initial-exec")));

/* Who a call is about. */
typedef struct gp_target {
    gp_pool *pool;
    gp_thread_cache *cache; /* NULL while the stream captures. */
} gp_target;

/*
 * Find the thread cache of a stream, whatever it takes; `pool` NULL means the
 * default pool of the stream's device. GP_OK with a NULL cache: the stream
 * captures. Blocks that were parked on the stream are freed on the way.
 */
gp_status gp_thread_resolve(gp_pool *pool, cudaStream_t stream, gp_target *target);

/* The calling thread; NULL if there is no host memory to know it. */
gp_thread *gp_thread_get(void);

/* Under the registry's lock: of all threads, one that gp knows. */
gp_thread *gp_thread_first_locked(void);

/* The id a stream had when this thread last saw it eager; 0 if it never did. */
uint64_t gp_thread_known_id(gp_pool *pool, cudaStream_t stream);

/* Tell the pool about the live bytes this thread has counted. */
void gp_thread_fold(gp_pool *pool, gp_thread_counters *counters);

/* Under the registry's lock: cut a pool out of all threads. */
void gp_thread_drop_pool_locked(gp_pool *pool);

/* Under the registry's lock: flush and free all thread caches of a stream. */
void gp_thread_drop_stream_locked(gp_stream_cache *stream);

/* At exit: threads that end from here on do nothing. */
void gp_thread_forget_key(void);

static inline uint32_t gp_lookup_hash(const gp_pool *pool, cudaStream_t stream, uint32_t shift)
{
    uint64_t key = (uint64_t)(uintptr_t)stream ^ ((uint64_t)(uintptr_t)pool << 1);
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> shift);
}

/* Where this thread looks a stream of a pool up first. False: it knows none, or none any more. */
static inline bool gp_thread_look_up(const gp_pool *pool, cudaStream_t stream,
                                     const gp_lookup **lookup)
{
    const gp_thread *self = gp_thread_self;
    if (GP_UNLIKELY(self == NULL || self->epoch != gp_process_epoch_now()))
        return false;
    *lookup = &self->table[gp_lookup_hash(pool, stream, self->shift)];
    return true;
}

/* Is it there, and attached? Then `cache` is what gp_thread_find() finds, without a call. */
static inline bool gp_thread_is_at(const gp_lookup *lookup, const gp_pool *pool,
                                   cudaStream_t stream)
{
    return lookup->stream == stream && lookup->pool == pool && lookup->inspect == NULL;
}

/* Out of line: it is elsewhere, or a stream that the driver is asked about. */
gp_thread_cache *gp_thread_find_from(const gp_lookup *lookup, gp_pool *pool, cudaStream_t stream);

/* The thread cache, if this thread knows it and the stream is eager; else NULL. */
static inline gp_thread_cache *gp_thread_find(gp_pool *pool, cudaStream_t stream)
{
    const gp_lookup *lookup;
    if (GP_UNLIKELY(!gp_thread_look_up(pool, stream, &lookup)))
        return NULL;
    return GP_LIKELY(gp_thread_is_at(lookup, pool, stream))
               ? lookup->cache
               : gp_thread_find_from(lookup, pool, stream);
}

/* gp_thread_find(), else gp_thread_resolve(). */
static inline gp_status gp_thread_target(gp_pool *pool, cudaStream_t stream, gp_target *target)
{
    target->cache = gp_thread_find(pool, stream);
    if (GP_UNLIKELY(target->cache == NULL))
        return gp_thread_resolve(pool, stream, target);
    target->pool = target->cache->stream->pool;
    return GP_OK;
}

#endif
