/* What the files of the stream cache share; all under its lock. */
#ifndef GP_SRC_STREAM_CACHE_INTERNAL_H
#define GP_SRC_STREAM_CACHE_INTERNAL_H

#include "stream_cache.h"

/* A block comes back, its order settled: into the policy, or to the guests. */
void gp_stream_cache_accept_locked(gp_stream_cache *cache, gp_slot slot, gp_order order);

/* Take in what was flushed without the lock. True if there was something. */
bool gp_stream_cache_drain_locked(gp_stream_cache *cache);

/* As gp_stream_cache_end_loan(). */
void gp_stream_cache_end_loan_locked(gp_stream_cache *cache, gp_segment *loan, gp_order order);

#endif
