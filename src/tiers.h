/* One allocation through the tiers, once the hit failed: L1, L2, others, L3. */
#ifndef GP_SRC_TIERS_H
#define GP_SRC_TIERS_H

#include "thread.h"

/* Serve a request for the stream `stream`, which is live, eager, and the target's.
 * The block, whose record reads GP_STATE_LIVE, may be larger than the request.
 * Statuses as gp_alloc_async(). */
gp_status gp_tiers_alloc(const gp_target *target, cudaStream_t stream, const gp_request *request,
                         gp_span *block);

/* What a slow call owes the others: guests go home, idle memory gets a fence,
 * the thread's cold blocks go to L2, its counters to the pool. */
void gp_tiers_settle(const gp_target *target, cudaStream_t stream);

#endif
