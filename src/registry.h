/*
 * What exists in the process: pools, the default pool of each device, and the
 * coming and going of streams and threads in them. One lock, never on a hot path
 * and never held across a native call.
 *
 * Lock order: registry, then a pool's revocation lock, then a stream cache, then
 * the leaf locks of the stores.
 */
#ifndef GP_SRC_REGISTRY_H
#define GP_SRC_REGISTRY_H

#include "gp/pool.h"

#define GP_MAX_DEVICES 64

void gp_registry_lock(void);
void gp_registry_unlock(void);

void gp_registry_add(gp_pool *pool);

/* Under the lock: is this a pool that exists? */
bool gp_registry_has_locked(const gp_pool *pool);

/* Take a pool out, so that no new call finds it, and wait until nobody visits it. False if it is
 * not there, or is a default pool. */
bool gp_registry_remove(gp_pool *pool);

/*
 * Visit the other pools of a pool's device. A pool that is visited stays until the visit is over:
 * who destroys it waits. So a visitor must not wait for what another thread does, nor hold a lock.
 * Returns how many, `most` at most; end each visit with gp_registry_leave().
 */
size_t gp_registry_visit_others(const gp_pool *pool, gp_pool **others, size_t most);
void gp_registry_leave(gp_pool *pool);

/* GP_OK if calls on the pool may go on; else GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN or
 * GP_ERR_INVALID_POOL, with a text. */
gp_status gp_registry_check(const gp_pool *pool);

/* The default pool of a device, made on first use. */
gp_status gp_registry_default_pool(int device, gp_pool **pool);

/* Visit every pool, under the lock, until one answers true; NULL if none does. */
gp_pool *gp_registry_find(bool (*matches)(gp_pool *pool, const void *what), const void *what);

#endif
