/*
 * Release (L2 to L3): wholly free segments go back to the native pool, loans to
 * their lenders first, since a segment with a loan out of it is not free.
 */
#ifndef GP_SRC_RELEASE_H
#define GP_SRC_RELEASE_H

#include "stream_cache.h"

/* On whose behalf memory goes back. */
typedef struct gp_release_caller {
    gp_stream_cache *cache; /* Its stream is known to be live and eager; NULL: none is. */
    cudaStream_t stream;    /* The handle of that stream. */
    bool completed_only;    /* Only memory the device is past: nothing stays pending. */
} gp_release_caller;

/*
 * Release until at most `target` bytes are reserved, or no more can be. Memory
 * goes back in the order of its stream, or, if the stream cannot be named any
 * more, once its use has completed.
 */
void gp_release_down_to(gp_pool *pool, gp_release_caller caller, uint64_t target);

/*
 * Give back all segments of all caches, live blocks included, behind everything
 * that was queued: the pool is being destroyed. Thread caches are flushed.
 */
void gp_release_everything(gp_pool *pool);

#endif
