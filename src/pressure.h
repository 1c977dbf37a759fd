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

/* Ask the pool's owner for memory; true if it is worth to look again. No lock is held, and the
 * callback may call gp. False inside of it. */
bool gp_pressure_relieve(gp_pool *pool, size_t bytes_missing);

/* Set the text of an allocation that fails for want of memory, and return the status. */
gp_status gp_pressure_fail(gp_pool *pool, size_t bytes, gp_status status);

#endif
