/*
 * The stream cache (L2): what one stream holds and nobody uses.
 *
 * All free memory in its policy is ordered on its stream: whatever used it was
 * queued there, or has completed, or is waited for there. So a block handed to
 * the stream needs no fence, and free neighbours can be joined without looking
 * at their past. Memory that is not ordered on the stream yet waits outside the
 * policy, in batches that carry their fences:
 *
 *     L1 ──flush──▶ returned ─┐
 *                             ├─▶ policy (segments) ──take──▶ L1, callers
 *     other streams ─▶ arrived ─▶ waiting ─┘   (when their fences are settled)
 *
 * Blocks that were freed on this stream but whose segment is another stream's
 * are *guests*: they go home behind one fence for many of them.
 */
#ifndef GP_SRC_STREAM_CACHE_H
#define GP_SRC_STREAM_CACHE_H

#include "tree.h"
#include <pthread.h>

#include "batch.h"
#include "fence.h"
#include "request.h"
#include "segment.h"

/* Fences kept to learn how far the stream has come. */
#define GP_STREAM_FENCES 4

typedef struct gp_stream_cache {
    gp_pool *pool;
    struct gp_stream_cache *next; /* In the pool's list; fixed once it is there. */

    pthread_mutex_t lock; /* Guards what follows up to `returned`. */
    uint64_t stream_id;
    cudaStream_t handle;     /* Valid while attached. */
    bool attached;           /* The handle may be used by any thread. */
    _Atomic(bool) capturing; /* Announced for an attached stream. */
    int pins;                /* Threads that use the handle outside the lock. */
    void *policy;            /* The policy's instance. */
    gp_segment *segments;
    gp_batch *waiting; /* In order of arrival. */
    gp_batch *guests;
    uint64_t gives;             /* Blocks that ever came back: what fences are counted in. */
    uint64_t completed_gives;   /* Of these, the device is known to be past so many. */
    gp_counter uncovered_bytes; /* Came back since the newest fence. */
    uint32_t fence_count;
    gp_fence *fences[GP_STREAM_FENCES]; /* Oldest first. */

    gp_batch_stack returned; /* Flushed by threads that found the lock taken. */
    gp_batch_stack arrived;  /* Sent home from other streams. */

    gp_counter free_bytes;    /* In the policy. Written under the lock, read by anybody. */
    gp_counter transit_bytes; /* In returned, arrived, waiting and guests. */
    gp_counter pending_bytes; /* Of these, behind a fence. */
    gp_counter loans;         /* Segments that are another stream's. */
    gp_counter guest_bytes;   /* In guests. */

    struct gp_thread_cache *thread_caches; /* Of this stream; under the registry's lock. */
    struct gp_stream_cache *next_retired;  /* Likewise. */
    RB_ENTRY(gp_stream_cache) by_id;       /* Likewise. */
    RB_ENTRY(gp_stream_cache) by_handle;   /* Likewise, while attached. */
} gp_stream_cache;

gp_status gp_stream_cache_create(gp_pool *pool, uint64_t stream_id, gp_stream_cache **cache);

/* Drop the bookkeeping. Segments were taken out, batches emptied. */
void gp_stream_cache_destroy(gp_stream_cache *cache);

/*
 * Take up to `want` blocks out of the stream's own free memory; *got says how
 * many. Records read GP_STATE_CACHED. GP_OK also if none fits;
 * GP_ERR_OUT_OF_HOST_MEMORY if there was one but no memory to keep track of it.
 */
gp_status gp_stream_cache_take(gp_stream_cache *cache, const gp_request *request, gp_slot *slots,
                               uint32_t want, uint32_t *got);

/* Blocks come back, freed on this stream; any home. Never fails. */
void gp_stream_cache_give(gp_stream_cache *cache, const gp_slot *slots, uint32_t count);

/* The same, from a thread that must not be kept waiting if the lock is taken. */
void gp_stream_cache_flush(gp_stream_cache *cache, const gp_slot *slots, uint32_t count);

/* Move what came in into the policy as far as its fences have completed. True if
 * something moved. Any thread. */
bool gp_stream_cache_collect(gp_stream_cache *cache);

/* The same, and let `stream`, which is this cache's, wait for the rest. */
bool gp_stream_cache_collect_waiting(gp_stream_cache *cache, cudaStream_t stream);

/*
 * A fence behind all that has come back so far, with a reference for the caller:
 * an earlier one that still covers it, or a new one if the stream's handle can be
 * used. `stream` is the handle if the caller knows it to be live, eager and this
 * cache's; else pass `known` false. NULL if there is none.
 */
gp_fence *gp_stream_cache_fence(gp_stream_cache *cache, bool known, cudaStream_t stream);

/* Ask the device how far the stream has come; returns the completed give count. */
uint64_t gp_stream_cache_progress(gp_stream_cache *cache);

/* For a stream whose handle is only known during its own calls: leave a fence
 * behind once enough has come back uncovered, so that others may share it. */
void gp_stream_cache_leave_fence_if_due(gp_stream_cache *cache, cudaStream_t stream);

/* Send the guests home behind one fence on `stream`, this cache's. */
void gp_stream_cache_send_guests(gp_stream_cache *cache, cudaStream_t stream);

/* The same once they are worth an event record. */
void gp_stream_cache_send_guests_if_many(gp_stream_cache *cache, cudaStream_t stream);

/* Is memory that comes in ordered on this stream only, or has the device, as seen
 * by the host, completed every use of it, so that no fence is needed ever after? */
typedef enum gp_order { GP_ORDERED_HERE, GP_ORDERED_EVERYWHERE } gp_order;

/* Take charge of a segment. GP_ERR_OUT_OF_HOST_MEMORY: it is still the caller's. */
gp_status gp_stream_cache_add_segment(gp_stream_cache *cache, gp_segment *segment, gp_order order);

/* Which wholly free segment to take out. */
typedef enum gp_segment_choice {
    GP_SEGMENT_ANY,
    GP_SEGMENT_NATIVE,
    GP_SEGMENT_LOAN
} gp_segment_choice;

/*
 * Take out the smallest wholly free segment of `min_bytes` to `max_bytes` whose
 * last block came back no later than give number `limit`. NULL if none.
 */
gp_segment *gp_stream_cache_remove_segment(gp_stream_cache *cache, gp_segment_choice choice,
                                           size_t min_bytes, size_t max_bytes, uint64_t limit);

/* Cut a span of `bytes`, page-aligned, out of the free memory as a loan, under the
 * same limit. NULL if there is none. */
gp_segment *gp_stream_cache_cut_loan(gp_stream_cache *cache, size_t bytes, uint64_t limit);

/* A loan comes back; the segment's struct is freed. The cache is the lender's home. */
void gp_stream_cache_end_loan(gp_stream_cache *cache, gp_segment *loan, gp_order order);

/* Forget whatever is on its way: the pool is being destroyed, its memory goes whole. */
void gp_stream_cache_drop_batches(gp_stream_cache *cache);

/* Let the handle be used outside the lock, if it can be. */
bool gp_stream_cache_pin(gp_stream_cache *cache, cudaStream_t *stream);
void gp_stream_cache_unpin(gp_stream_cache *cache);

/* Does the cache hold nothing at all? */
bool gp_stream_cache_is_empty(gp_stream_cache *cache);

static inline void gp_stream_cache_lock(gp_stream_cache *cache)
{
    (void)pthread_mutex_lock(&cache->lock);
}

static inline void gp_stream_cache_unlock(gp_stream_cache *cache)
{
    (void)pthread_mutex_unlock(&cache->lock);
}

#endif
