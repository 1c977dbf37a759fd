/*
 * The commons: free memory of a pool that belongs to no stream, so that free neighbours are
 * joined whoever used them. The host has seen every use of it complete, and any stream may take
 * it without a fence:
 *
 *     streams ──what the device is past──▶ commons ──▶ any stream
 *
 * A stream that is alone in its pool needs no such proof, since whatever it takes here is ordered
 * behind whatever it gave. It leaves its memory unasked, and is the commons' *user* from then on:
 * others get nothing until the device is past the last of what it left so.
 *
 * It cuts native segments by one instance of the pool's policy under one lock.
 * Streams come here only when their own whole-block caches do not serve them.
 *
 * A pool has two, one for large blocks and one for the chunks that the stream
 * caches cut small blocks from: those live long, and a single one would keep a
 * large segment from becoming wholly free.
 */
#ifndef GP_SRC_COMMONS_H
#define GP_SRC_COMMONS_H

#include "counter.h"
#include "lock.h"
#include "page.h"
#include "segment.h"

typedef struct gp_commons {
    gp_pool *pool;
    void *policy;
    gp_segment_list segments; /* Native. */
    gp_counter free_bytes;    /* Written under the lock. */
    gp_counter least_bytes;   /* Its lowest value since the last restart. Likewise. */

    /* On whose stream what is free here is ordered; NULL: the device is past all of it.
     * Written under the lock. */
    _Atomic(struct gp_stream_cache *) user;
    uint64_t user_gives; /* Of the user's, its give count when it last left something. */

    /* Who waits for the lock must not take away what its holder writes. */
    char apart[GP_CACHE_LINE];
    gp_lock lock; /* Taken under a stream cache's lock, never the other way. */
    char end[GP_CACHE_LINE];
} gp_commons;

gp_status gp_commons_init(gp_commons *commons, gp_pool *pool);
void gp_commons_destroy(gp_commons *commons);

/* What is asked of a commons, and by which stream. */
typedef struct gp_commons_request {
    const struct gp_stream_cache *taker;
    size_t bytes;
    size_t alignment;
} gp_commons_request;

/* Take a span; false if nothing fits, or all is for another stream. The caller makes a block or
 * chunk of it. */
bool gp_commons_take(gp_commons *commons, const gp_commons_request *request, gp_span *span);

/*
 * The same, but a segment that is wholly free is spared unless the request takes nearly all of it
 * or it has more than `most_bytes`. False if all that fits is spared; then *spared is such a
 * segment, taken out for the caller to give back, or NULL if it is not complete or none fits.
 */
bool gp_commons_take_sparing(gp_commons *commons, const gp_commons_request *request,
                             uint64_t most_bytes, gp_span *span, gp_segment **spared);

/* The same for a taker that will be ordered behind what `user` gave up to give number `gives`. */
bool gp_commons_take_behind(gp_commons *commons, const gp_commons_request *request,
                            const struct gp_stream_cache *user, uint64_t gives, gp_span *span);

/* A span goes back where it was taken, every use of it complete. */
void gp_commons_give(gp_span span);

/* Under the lock, before something is given that is ordered on a stream only, which has `gives`
 * blocks back by now. The stream is the user, or there is none yet. */
void gp_commons_use_locked(gp_commons *commons, struct gp_stream_cache *user, uint64_t gives);

/* Under the lock: several of these in one step. */
void gp_commons_give_locked(gp_commons *commons, gp_span span);

/* The device is past what a stream gave up to give number `gives`. True if the commons are for
 * everybody again, because of that. */
bool gp_commons_complete(gp_commons *commons, const struct gp_stream_cache *stream, uint64_t gives);

static inline bool gp_commons_is_used_by(const gp_commons *commons,
                                         const struct gp_stream_cache *stream)
{
    return atomic_load_explicit(&commons->user, memory_order_relaxed) == stream;
}

/* Is what is free here ordered before the stream's next work? */
static inline bool gp_commons_is_open_to(const gp_commons *commons,
                                         const struct gp_stream_cache *stream)
{
    return gp_commons_is_used_by(commons, NULL) || gp_commons_is_used_by(commons, stream);
}

static inline void gp_commons_lock(gp_commons *commons)
{
    gp_lock_acquire(&commons->lock, GP_RANK_COMMONS);
}

static inline void gp_commons_unlock(gp_commons *commons)
{
    gp_lock_release(&commons->lock, GP_RANK_COMMONS);
}

/*
 * Take charge of a native segment, every use of which is complete, and take a span
 * in the same step, so that nobody else takes what was grown for the caller: all of the
 * segment if the rest of the commons is for another stream.
 * GP_ERR_OUT_OF_HOST_MEMORY: the segment is still the caller's.
 */
gp_status gp_commons_add_segment(gp_commons *commons, gp_segment *segment,
                                 const gp_commons_request *request, gp_span *span);

/* The same for a segment that is ordered on one stream only: all of it is taken. */
gp_status gp_commons_add_taken_segment(gp_commons *commons, gp_segment *segment);

/* The largest request that could be met now, were it for anybody. */
size_t gp_commons_largest_free(gp_commons *commons);

/* What was free at the least since the last time; begins anew. */
uint64_t gp_commons_restart_least(gp_commons *commons);

/* Take out the smallest wholly free segment; NULL if there is none, or they have a user. */
gp_segment *gp_commons_remove_segment(gp_commons *commons);

/* The same for the largest of those of at most so many bytes. */
gp_segment *gp_commons_remove_largest(gp_commons *commons, uint64_t most_bytes);

/* How large that is; 0: there is none. */
size_t gp_commons_largest_segment(gp_commons *commons, uint64_t most_bytes);

#endif
