/*
 * Supply: where a stream's memory comes from when its own cache has none.
 *
 * The ladder, searched again after every rung that moved something:
 *
 *     own arrivals whose fences have completed
 *     other streams' idle memory, completed
 *     both again, behind a queued wait             (GP_SHARE_WAIT)
 *     growth, one thread at a time; before the pool passes its peak, wholly free
 *         segments of all streams go back first
 *     if that fails: every thread cache is flushed, the above once more, then all
 *         free segments go back, the native pool is trimmed, and growth is tried
 *         a last time, by no more than what is needed
 */
#ifndef GP_SRC_SUPPLY_H
#define GP_SRC_SUPPLY_H

#include "request.h"
#include "stream_cache.h"

/* Where the last successful rung took the memory from. */
typedef enum gp_supply_source { GP_SUPPLY_OWN, GP_SUPPLY_SHARED, GP_SUPPLY_GROWN } gp_supply_source;

/* One allocation's way up the ladder. */
typedef struct gp_supply {
    gp_stream_cache *cache; /* Of the stream that asks. */
    cudaStream_t stream;    /* Its handle, live and eager. */
    const gp_request *request;
    int rung;
    int growths;
    bool desperate; /* The caches were flushed; the next failure is final. */
    gp_supply_source source;
} gp_supply;

void gp_supply_begin(gp_supply *supply, gp_stream_cache *cache, cudaStream_t stream,
                     const gp_request *request);

/* Climb until something moved: GP_OK, look into the cache again. Else what the
 * allocation fails with, text set. */
gp_status gp_supply_next(gp_supply *supply);

#endif
