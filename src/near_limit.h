/*
 * Near its limit: how a pool places memory once little of what it may reserve is left (limits.h).
 *
 *     far     |###.....|####....|      segments of whole steps, cut as they are needed
 *     near    |###|##|####|            each segment as long as what it was grown for, and gone
 *                                      again before anything shorter is cut out of it
 *
 * A live block holds all of its segment. Far from the limit that costs room that nobody misses, and
 * saves native calls; near it what lies free beside such blocks is what the next request fails
 * for. So more native calls are made here, for less that is free and cannot go.
 */
#ifndef GP_SRC_NEAR_LIMIT_H
#define GP_SRC_NEAR_LIMIT_H

#include "commons.h"

/*
 * Take a span out of the commons. A segment that is wholly free is cut only for what takes nearly
 * all of it: else it is given back, so that the pool may grow by what is asked. False if nothing
 * fits, or nothing that is not spared. The caller holds no lock.
 */
bool gp_near_limit_take(gp_commons *commons, const gp_commons_request *request, gp_span *span);

#endif
