/*
 * Taking what other threads' caches hold: for trim, and before an allocation
 * fails. The owners go on; one that meets its cache revoked waits for it on its
 * slow path.
 */
#ifndef GP_SRC_REVOCATION_H
#define GP_SRC_REVOCATION_H

#include "gp/base.h"

/* Flush every thread cache of a pool to L2. Called outside all thread caches. */
void gp_revocation_flush_all(gp_pool *pool);

#endif
