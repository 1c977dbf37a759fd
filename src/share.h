/*
 * Sharing: memory that lies idle on one stream serves another, before the pool
 * grows.
 */
#ifndef GP_SRC_SHARE_H
#define GP_SRC_SHARE_H

#include "stream_cache.h"

/*
 * Move to the commons what a stream does not use and the device is past. `known`:
 * the caller's `stream` is this cache's, live and eager. True if something moved.
 */
bool gp_share_reclaim(gp_stream_cache *cache, bool known, cudaStream_t stream);

/* The same for a request of the stream itself, which is not asked each time: it may
 * have come further than is seen. */
bool gp_share_leave(gp_stream_cache *cache, cudaStream_t stream);

/* gp_share_reclaim() of every stream, also with what serves no request yet: free chunks,
 * and blocks that were freed away from home. */
void gp_share_reclaim_all(gp_pool *pool);

/* Once much has come back since the last time: leave it to the commons if the stream, this
 * cache's, is idle, or alone in the pool. */
void gp_share_settle_if_due(gp_stream_cache *cache, cudaStream_t stream);

/* The same of every stream of the pool but the taker, until a span fits, which is taken out of the
 * commons. A busy stream is left to say by itself how far it has come. */
bool gp_share_reclaim_others(gp_stream_cache *taker, const gp_fit *fit, gp_span *span);

/* Does the pool hold memory that only one stream may take before the device is past it? */
bool gp_share_has_user(const gp_pool *pool);

/* That, or any other memory that more may come of once the device is past its use? */
bool gp_share_is_pending(gp_pool *pool);

/* Take a fitting block that another stream keeps, or left to the commons for itself only, and
 * let `stream`, which is the borrower's, wait for its last use. */
bool gp_share_borrow(gp_stream_cache *borrower, cudaStream_t stream, const gp_fit *fit,
                     gp_span *span);

#endif
