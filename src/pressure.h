/*
 * The last resort of an allocation that gp's own means do not serve: the caller is asked to free
 * something, and told in full why the allocation fails.
 */
#ifndef GP_SRC_PRESSURE_H
#define GP_SRC_PRESSURE_H

#include <stdbool.h>

#include "gp/pool.h"

/* Times that the caller may be asked for one allocation. */
#define GP_PRESSURE_ROUNDS 4

/* How long an allocation that is about to fail waits for work that is under way. Bounded, since
 * what it waits for may wait for the caller. */
#define GP_PRESSURE_WAIT_NS 10000000

/* Did an allocation fail for want of memory? */
static inline bool gp_pressure_is_cause(gp_status status)
{
    return status == GP_ERR_OUT_OF_MEMORY || status == GP_ERR_LIMIT;
}

/* Ask the pool's owner for memory; true if it is worth to look again. No lock is held, and the
 * callback may call gp. False inside of it. What the driver said last is still to be told. */
bool gp_pressure_relieve(gp_pool *pool, size_t bytes_missing);

/* What was done before an allocation fails: by the ladder of the tiers, and without them. */
#define GP_PRESSURE_TRIED_ALL                                                                      \
    "own blocks, commons, other streams, flush of all thread caches, a wait for pending work, "    \
    "release of free segments, trim, growth"
#define GP_PRESSURE_TRIED_NATIVE                                                                   \
    "the native pool, quarantine, release of free segments, trim, a wait for work"

/* Set the text of an allocation that fails for want of memory, and return the status. */
gp_status gp_pressure_fail(gp_pool *pool, size_t bytes, gp_status status, const char *tried);

#endif
