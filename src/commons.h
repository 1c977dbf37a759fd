/*
 * The commons: free memory of a pool that belongs to no stream. Every use of it
 * has completed, as seen by the host, so any stream may take it without a fence,
 * and free neighbours are joined whoever used them.
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
    gp_lock lock; /* Taken under a stream cache's lock, never the other way. */
    void *policy;
    gp_segment_list segments; /* Native. */
    gp_counter free_bytes;    /* Written under the lock. */
} gp_commons;

gp_status gp_commons_init(gp_commons *commons, gp_pool *pool);
void gp_commons_destroy(gp_commons *commons);

/* Take a span; false if nothing fits. The caller makes a block or chunk of it. */
bool gp_commons_take(gp_commons *commons, size_t bytes, size_t alignment, gp_span *span);

/* A span goes back where it was taken, every use of it complete. */
void gp_commons_give(gp_span span);

/* Under the lock: several of these in one step. */
bool gp_commons_take_locked(gp_commons *commons, size_t bytes, size_t alignment, gp_span *span);
void gp_commons_give_locked(gp_commons *commons, gp_span span);

static inline void gp_commons_lock(gp_commons *commons)
{
    gp_lock_acquire(&commons->lock);
}

static inline void gp_commons_unlock(gp_commons *commons)
{
    gp_lock_release(&commons->lock);
}

/*
 * Take charge of a native segment, every use of which is complete, and take a span
 * in the same step, so that nobody else takes what was grown for the caller.
 * GP_ERR_OUT_OF_HOST_MEMORY: the segment is still the caller's.
 */
gp_status gp_commons_add_segment(gp_commons *commons, gp_segment *segment, size_t bytes,
                                 size_t alignment, gp_span *span);

/* The same for a segment that is ordered on one stream only: all of it is taken. */
gp_status gp_commons_add_taken_segment(gp_commons *commons, gp_segment *segment);

/* Take out the smallest wholly free segment; NULL if there is none. */
gp_segment *gp_commons_remove_segment(gp_commons *commons);

#endif
