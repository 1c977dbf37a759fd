/*
 * Where arenas get their memory: the ladder of supply.h for one who cannot wait.
 *
 * A replay is ordered behind nothing but its launch. So an arena takes only what the host has
 * seen every use of complete, never what is merely ordered on a stream:
 *
 *     the commons, unless they are for one stream
 *     the commons again, after every stream left there what the device is past
 *     growth, one thread at a time; before the pool passes its peak, wholly free segments go back
 *     if that fails: every thread cache is flushed, all of the above once more for as long
 *         as something may become complete, 10 ms at most; all free segments go back, the native
 *         pool is trimmed, and growth is tried a last time, by what is needed
 *     the other pools of the device are asked for idle memory
 *     the caller is asked for memory (gp_pool_config.on_pressure), a few times
 */
#ifndef GP_SRC_ARENA_SUPPLY_H
#define GP_SRC_ARENA_SUPPLY_H

#include "gp/policy.h"
#include "gp/status.h"
#include "request.h"

/* A piece with room for the request: pinned, its record reads GP_STATE_PINNED. Statuses as
 * gp_alloc_async(); GP_ERR_CAPTURE: the device is not past a native allocation, for which the
 * caller's stream cannot wait. */
gp_status gp_arena_supply(gp_pool *pool, const gp_request *request, gp_span *piece);

/* Nobody used the piece: it goes back where it came from. */
void gp_arena_supply_take_back(gp_pool *pool, gp_span piece);

#endif
