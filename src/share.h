/*
 * Sharing: a stream that is out of memory takes what lies idle on another one,
 * before the pool grows.
 */
#ifndef GP_SRC_SHARE_H
#define GP_SRC_SHARE_H

#include "stream_cache.h"

/*
 * Move idle memory with room for `bytes` from some other stream's cache into
 * `borrower`'s. Memory whose last use has completed, or (`may_wait`) any, behind
 * a wait on `stream`, which is the borrower's. True if something moved.
 */
bool gp_share_borrow(gp_stream_cache *borrower, cudaStream_t stream, size_t bytes, bool may_wait);

/* Give a loan that is wholly free, taken out of `holder`, back to its lender:
 * at once if `holder`'s use has completed, else behind the fence. */
void gp_share_return_loan(gp_stream_cache *holder, gp_segment *loan, gp_fence *fence);

#endif
