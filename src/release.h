/*
 * Release (L2 to L3): wholly free segments of the commons go back to the native
 * pool. Every use of them has completed, so they go in the order of gp's own
 * stream.
 */
#ifndef GP_SRC_RELEASE_H
#define GP_SRC_RELEASE_H

#include "commons.h"
#include "stream_cache.h"

/* Release until at most `target` bytes are reserved, or no segment is wholly free, and
 * let the native pool give back what it can. True if something was released. */
bool gp_release_down_to(gp_pool *pool, uint64_t target);

/* Give back a segment that was taken out of the commons. False if that failed: then they have it
 * again. */
bool gp_release_segment(gp_pool *pool, gp_segment *segment);

/* Release the largest wholly free segment of at most so many bytes, without a trim. Returns its
 * size and the commons it was of; 0 if there is none, or it could not be given back. */
size_t gp_release_largest(gp_pool *pool, uint64_t most_bytes, gp_commons **commons);

/* A segment of this span was taken from the native pool and then not used, unless the commons have
 * it: it goes back, or is kept. */
void gp_release_unused(gp_pool *pool, gp_segment *segment, gp_span span, cudaStream_t own_stream);

/*
 * For another pool that finds the device full: release idle memory until so many bytes were, but
 * not what was set aside, and trim. True if something was. The caller holds no lock.
 */
bool gp_release_for_others(gp_pool *pool, size_t bytes);

/* Trim the native pool, once the device is past what was just released. */
gp_status gp_release_trim(gp_pool *pool, size_t min_bytes_to_keep);

/*
 * Give back all segments, live blocks included, behind everything that was queued:
 * the pool is being destroyed. Thread caches are flushed.
 */
void gp_release_everything(gp_pool *pool);

#endif
