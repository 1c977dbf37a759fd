/*
 * Supply: where a stream's memory comes from when its own chunks have none: a span
 * that becomes a large block, or a chunk to cut small ones from.
 *
 * The ladder; every rung is tried before the next:
 *
 *     what was freed on the stream, of just the size            no fence needed
 *     the commons: complete, whoever used it                    no fence needed
 *     the commons again, after the stream left there what it kept for itself
 *     what was freed on the stream, joined and cut
 *     for a small block: a longer one that its thread keeps, or what joins of all it keeps
 *     other streams' idle memory that the device is past
 *     one block of any stream, behind a queued wait for it (GP_SHARE_WAIT)
 *     growth, one thread at a time; before the pool passes its peak, or soft_bytes, every
 *         thread cache is flushed, all of the above is tried once more, and wholly free
 *         segments go back
 *         Near the pool's limit nothing above cuts a wholly free segment for less than nearly
 *         all of it, and growth is by just what is needed (near_limit.h)
 *     if that fails: every thread cache is flushed, all of the above once more,
 *         a bounded wait for what is pending, also out of the memory of the other kind,
 *         large or for chunks; all free segments go back, the native
 *         pool is trimmed, and growth is tried a last time, by what is needed
 *     if that fails too, and not for the pool's own limit: other pools of the device are asked
 *         for idle memory, then the caller, and all of that is done again
 */
#ifndef GP_SRC_SUPPLY_H
#define GP_SRC_SUPPLY_H

#include "request.h"
#include "stream_cache.h"
#include "trace.h"

/* Who asks. */
typedef struct gp_supply {
    gp_stream_cache *cache;
    struct gp_thread_cache *thread; /* The caller's, of that stream. */
    cudaStream_t stream;            /* Its handle, live and eager. */
    bool in_need;                   /* Growth has failed: nothing is spared any more. */
    bool quiet; /* Who tries the rungs over and over is not to be heard each time. */
} gp_supply;

/* A large block that is ordered on the stream; its record reads GP_STATE_CACHED. *tier is where
 * it came from: L2, shared, waited or native. Else what the allocation fails with. */
gp_status gp_supply_large(const gp_supply *supply, const gp_fit *fit, gp_span *block,
                          gp_tier *tier);

/* The block asked for, out of another chunk for the stream's policy, or out of what the thread had
 * kept. *found is false if the policy had no room in the chunk after all. */
gp_status gp_supply_chunk(const gp_supply *supply, const gp_request *request, gp_slot *slot,
                          bool *found, gp_tier *tier);

#endif
