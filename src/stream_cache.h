/*
 * The stream cache (L2): what one stream holds and nobody uses.
 *
 * All free memory in it is ordered on its stream: whatever used it was queued
 * there, or has completed, or is waited for there. So a block handed to the stream
 * needs no fence, and free neighbours can be joined without looking at their past.
 * Small blocks are cut by the policy from chunks; large ones are kept whole at first,
 * then joined in a heap. Others get this memory once the device is past it. What is not
 * ordered on the stream yet waits aside, in batches that carry fences:
 *
 *     L1 ──flush──▶ returned ─┐
 *                             ├─▶ policy (chunks) ──take──▶ L1, callers
 *     other streams ─▶ arrived ─▶ waiting ──────────┐
 *                                                   ├─▶ commons
 *     large frees ──▶ whole blocks ──▶ stream heap ─┘
 *                          └────────────┴──take──▶ callers
 *
 * Small blocks that were freed on this stream but whose chunk is another stream's
 * are *guests*: they go home behind one fence for many of them.
 */
#ifndef GP_SRC_STREAM_CACHE_H
#define GP_SRC_STREAM_CACHE_H

#include "batch.h"
#include "fence.h"
#include "lock.h"
#include "request.h"
#include "segment.h"
#include "stream_heap.h"
#include "tree.h"
#include "whole_blocks.h"

/* Guests go home once they hold so much, whatever their number. */
#define GP_GUEST_LIMIT ((uint64_t)256 << 10)

/* A stream that leaves fences leaves one once this much came back since the last one:
 * an event record is a third of the cost of a release, so not on each. */
#define GP_UNCOVERED_LIMIT ((uint64_t)1 << 20)

/* So many blocks come back before a checked stream counts as one that stays. */
#define GP_CAREFUL_GIVES ((uint64_t)64)

/* So much a stream's heap takes in before the device is asked again whether it may go to the
 * commons: memory that lies apart is placed worse, and a question costs 300 ns. */
#define GP_SETTLE_BYTES ((uint64_t)8 << 20)

/* Fences kept to learn how far the stream has come. */
#define GP_STREAM_FENCES 4

/* Is memory ordered on one stream only, or has the device, as seen by the host, completed every
 * use of it, so that no fence is needed ever after? */
typedef enum gp_order { GP_ORDERED_HERE, GP_ORDERED_EVERYWHERE } gp_order;

typedef struct gp_stream_cache {
    gp_pool *pool;
    struct gp_stream_cache *next; /* In the pool's list; fixed once it is there. */

    gp_lock lock; /* Guards what follows up to `returned`. */
    uint64_t stream_id;
    cudaStream_t handle;     /* Valid while attached. */
    _Atomic(bool) attached;  /* The handle may be used by any thread. */
    _Atomic(bool) capturing; /* Announced for an attached stream. */
    int pins;                /* Threads that use the handle outside the lock. */
    void *policy;            /* The policy's instance, which cuts the chunks. */
    gp_segment_list chunks;
    gp_whole_blocks whole; /* Large blocks, as they were freed. */
    gp_stream_heap large;  /* Older ones, joined. */
    gp_stream_heap spare;  /* Chunks that the policy gave up. */
    gp_batch *waiting;     /* In order of arrival. */
    gp_batch *guests;
    gp_counter gives;           /* Blocks that ever came back: what fences are counted in. */
    gp_counter guest_limit;     /* GP_GUEST_LIMIT; 1 while careful, or for a visible order. */
    gp_counter uncovered_limit; /* GP_UNCOVERED_LIMIT; 1 likewise; none if it leaves no fence. */
    uint32_t owed_fences;       /* An attached stream leaves so many: it was found busy. */
    uint64_t asked_gives;       /* Its gives when others asked last. */
    uint32_t spared_questions;  /* Of others: it counts as busy for so many. */
    _Atomic(bool) careful;      /* The stream may be gone at any time, without a word. */
    uint64_t careful_until;     /* Number of the give at which that ends. */
    uint64_t ordinal;           /* Fixed: how many stream caches the pool had made with it. */
    uint64_t completed_gives;   /* Of these, the device is known to be past so many. */
    gp_counter uncovered_bytes; /* Came back since the newest fence. */
    uint32_t fence_count;
    gp_fence *fences[GP_STREAM_FENCES]; /* Oldest first. */

    gp_batch_stack returned; /* Flushed by threads that found the lock taken. */
    gp_batch_stack arrived;  /* Sent home from other streams. */

    gp_counter free_bytes;    /* In the policy. Written under the lock, read by anybody. */
    gp_counter free_chunks;   /* Chunks no block of which is taken. Likewise. */
    gp_counter guest_bytes;   /* In guests. Likewise. */
    gp_counter transit_bytes; /* In returned, arrived, waiting and guests. */
    gp_counter pending_bytes; /* Of these, behind a fence. */
    gp_counter chunk_bytes;   /* Of all chunks. Written under the lock. */
    gp_counter charged_bytes; /* Of live large blocks that count in the budget. */
    gp_counter budget_bytes;  /* 0: none. */
    gp_counter busy_for;      /* Questions of its own that the stream counts as busy for. */
    gp_counter settled_bytes; /* Of `large`, when the device was last asked. */

    _Atomic(const char *) name; /* Of the pool's names, or NULL. */

    struct gp_thread_cache *thread_caches; /* Of this stream; under the registry's lock. */
    struct gp_stream_cache *next_retired;  /* Likewise. */
    RB_ENTRY(gp_stream_cache) by_id;       /* Likewise. */
    RB_ENTRY(gp_stream_cache) by_handle;   /* Likewise, while attached. */
    cudaStream_t seen_as;                  /* Likewise. NULL: in no handle's name. */
    RB_ENTRY(gp_stream_cache) by_seen;     /* Likewise, while seen. */
} gp_stream_cache;

/* The stream is a checked one as yet, and careful. */
gp_status gp_stream_cache_create(gp_pool *pool, uint64_t stream_id, gp_stream_cache **cache);

/* Drop the bookkeeping. Chunks and batches were dropped. */
void gp_stream_cache_destroy(gp_stream_cache *cache);

/* The cache, with all its memory, goes over to the stream of another id, which is ordered
 * behind everything in it. */
void gp_stream_cache_inherit(gp_stream_cache *cache, uint64_t stream_id);

static inline const char *gp_stream_cache_name(const gp_stream_cache *cache)
{
    return atomic_load_explicit(&cache->name, memory_order_acquire);
}

/* ---- small blocks and chunks ------------------------------------------------- */

/*
 * Take up to `want` blocks out of the stream's own chunks; returns how many there were.
 * Records read GP_STATE_CACHED.
 */
uint32_t gp_stream_cache_take(gp_stream_cache *cache, const gp_request *request, gp_slot *slots,
                              uint32_t want);

/* Small blocks come back, freed on this stream; any home. Never fails. */
void gp_stream_cache_give(gp_stream_cache *cache, const gp_slot *slots, uint32_t count);

/* The same, from a thread that must not be kept waiting if the lock is taken. */
void gp_stream_cache_flush(gp_stream_cache *cache, const gp_slot *slots, uint32_t count);

/* A block that was cached twice, since two threads freed it in the same moment, was dropped
 * once. Any thread. */
void gp_stream_cache_note_twice(gp_stream_cache *cache, size_t bytes);

/* Cut small blocks out of a large one, by its page, that is ordered on this stream, the first of
 * them in the same step, since a chunk that is wholly free may leave at any time. *found is false
 * if there is no room for that block. GP_ERR_OUT_OF_HOST_MEMORY: the chunk is still the caller's.
 */
gp_status gp_stream_cache_add_chunk(gp_stream_cache *cache, gp_page *page,
                                    const gp_request *request, gp_slot *slot, bool *found);

/* ---- large blocks --------------------------------------------------------------- */

/* A large block comes back, freed on this stream. Never fails, calls nobody. */
void gp_stream_cache_give_large(gp_stream_cache *cache, gp_span block);

/* A span that was taken out for `fit` and not used. */
void gp_stream_cache_put_back(gp_stream_cache *cache, const gp_fit *fit, gp_span span);

/* Take a large block for this stream that was freed here and is of just the size, as it
 * is. False if there is none. */
bool gp_stream_cache_take_exact(gp_stream_cache *cache, const gp_fit *fit, gp_span *span);

/* The same, and also of what waits aside for the stream's own work only. */
bool gp_stream_cache_take_own(gp_stream_cache *cache, const gp_fit *fit, gp_span *span);

/* Join all that was freed here, and cut the span out of that. */
bool gp_stream_cache_join_own(gp_stream_cache *cache, const gp_fit *fit, gp_span *span);

/* A span comes in that is ordered on this stream and has room for the request, which is taken in
 * the same step, out of it or out of a smaller one. */
void gp_stream_cache_cut(gp_stream_cache *cache, const gp_fit *fit, gp_span *span);

/* Is there a span to take here? Not if its alignment is in the way. */
bool gp_stream_cache_has_kept(gp_stream_cache *cache, const gp_fit *fit);

/* Take a span that was freed here no later than give number `limit`, for whoever is
 * ordered behind that. */
bool gp_stream_cache_take_kept(gp_stream_cache *cache, const gp_fit *fit, uint64_t limit,
                               gp_span *span);

/* Take a block that waits for fences, and let `stream`, another's, wait for them too. */
bool gp_stream_cache_take_pending(gp_stream_cache *cache, const gp_fit *fit, cudaStream_t stream,
                                  gp_span *span);

/* Move to the commons what was freed no later than give number `limit`: large memory and free
 * chunks. The device is past all that was given up to there, or the order is this stream's and it
 * is alone in the pool. True if something moved, or all streams may take what moved earlier. */
bool gp_stream_cache_evict(gp_stream_cache *cache, uint64_t limit, gp_order order);

/* Move there what the stream is least likely to take back: the older whole blocks and the heap.
 * Parameters as above. Older whole blocks that are younger than the limit are joined in the
 * heap. */
void gp_stream_cache_settle(gp_stream_cache *cache, uint64_t limit, gp_order order);

/* Bytes that evict() could move. */
static inline uint64_t gp_stream_cache_kept_bytes(const gp_stream_cache *cache)
{
    return gp_counter_get(&cache->whole.bytes) + gp_counter_get(&cache->large.bytes) +
           gp_counter_get(&cache->spare.bytes);
}

/* ---- traffic with other streams ---------------------------------------------------- */

/* Move what waits aside to where it belongs, as far as its fences have completed.
 * True if something moved. Any thread. */
bool gp_stream_cache_collect(gp_stream_cache *cache);

/* Let any `stream` wait for all that waits aside here; nothing moves. False if some of
 * it has no fence, or a wait failed. */
bool gp_stream_cache_order_after_arrivals(gp_stream_cache *cache, cudaStream_t stream);

/* A batch of blocks that carry fences comes home. */
void gp_stream_cache_arrive(gp_stream_cache *cache, gp_batch *batch);

/* Send the guests home behind one fence on `stream`, this cache's. */
void gp_stream_cache_send_guests(gp_stream_cache *cache, cudaStream_t stream);

/* The same once they are worth an event record. */
void gp_stream_cache_send_guests_if_many(gp_stream_cache *cache, cudaStream_t stream);

/* The pool is being destroyed: forget chunks, and all that is on its way. */
void gp_stream_cache_drop_all(gp_stream_cache *cache);

/* ---- fences --------------------------------------------------------------------------- */

/*
 * A fence behind all that has come back so far, with a reference for the caller:
 * an earlier one that still covers it, or a new one if the stream's handle can be
 * used. `stream` is the handle if the caller knows it to be live, eager and this
 * cache's; else pass `known` false. NULL if there is none.
 */
gp_fence *gp_stream_cache_fence(gp_stream_cache *cache, bool known, cudaStream_t stream);

/* Has the device completed all that was queued on the stream? Then what came back up to
 * give number *gives is free for any stream. Parameters as gp_stream_cache_fence(); false
 * also if the handle cannot be used. */
bool gp_stream_cache_is_idle(gp_stream_cache *cache, bool known, cudaStream_t stream,
                             uint64_t *gives);

/* Ask the device how far the stream has come; returns the completed give count. */
uint64_t gp_stream_cache_progress(gp_stream_cache *cache);

/* How far the stream has come, as others ask, who call the device on its handle only if they have
 * to: while its own threads queue work there that takes 56 us in the mean. So a stream that was
 * found busy leaves fences itself for a while, which cost little to ask about. */
uint64_t gp_stream_cache_ask(gp_stream_cache *cache);

/* For a stream whose handle is only known during its own calls, or that others found busy: leave a
 * fence behind once enough has come back uncovered, so that others may share it. */
void gp_stream_cache_leave_fence_if_due(gp_stream_cache *cache, cudaStream_t stream);

/*
 * A checked stream's handle can be used during its own calls only, and the last of them is not
 * known to be the last. So one that may be short-lived is *careful*: its threads cache nothing,
 * and it leaves a fence at each free. docs/decisions/checked-streams.md.
 */
void gp_stream_cache_set_careful(gp_stream_cache *cache, bool careful);

static inline bool gp_stream_cache_is_careful(const gp_stream_cache *cache)
{
    return atomic_load_explicit(&cache->careful, memory_order_relaxed);
}

/* Is one of the limits passed? */
static inline bool gp_stream_cache_owes(const gp_stream_cache *cache)
{
    return gp_whole_blocks_are_many(&cache->whole) ||
           gp_counter_get(&cache->guest_bytes) >= gp_counter_get(&cache->guest_limit) ||
           gp_counter_get(&cache->large.bytes) >
               gp_counter_get(&cache->settled_bytes) + GP_SETTLE_BYTES ||
           gp_counter_get(&cache->uncovered_bytes) >= gp_counter_get(&cache->uncovered_limit);
}

/* The handle may be used by any thread from now on, or no more. */
void gp_stream_cache_set_attached(gp_stream_cache *cache, cudaStream_t handle, bool attached);

/* Let the handle be used outside the lock, if it can be. */
bool gp_stream_cache_pin(gp_stream_cache *cache, cudaStream_t *stream);
void gp_stream_cache_unpin(gp_stream_cache *cache);

static inline void gp_stream_cache_lock(gp_stream_cache *cache)
{
    gp_lock_acquire(&cache->lock, GP_RANK_STREAM);
}

static inline void gp_stream_cache_unlock(gp_stream_cache *cache)
{
    gp_lock_release(&cache->lock, GP_RANK_STREAM);
}

#endif
