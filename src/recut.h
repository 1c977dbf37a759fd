/*
 * Recut: large blocks that were freed on a stream whose work has not completed are
 * joined with each other, and with what is free in the commons, to serve a request
 * of that stream.
 *
 *     commons            |....|          complete
 *     pending   |#A##|        |#B######| freed on the stream, in its whole blocks or
 *                                        waiting behind fences of its own
 *     request      |=============|
 *     left over |#|               |####| pending, as A and B were
 *
 * The stream needs no fence: each part was freed on it, or is complete. For everybody
 * else what is left over stays as pending as it was, since all happens in one step.
 */
#ifndef GP_SRC_RECUT_H
#define GP_SRC_RECUT_H

#include "stream_cache.h"

/* Take a span for a large block out of what is pending on the stream, which is this
 * cache's, and of the commons. False if nothing fits; then all is where it was. */
bool gp_recut_take(gp_stream_cache *cache, cudaStream_t stream, const gp_fit *fit, gp_span *span);

#endif
