/* Checking and completing a pool's config. */
#ifndef GP_SRC_POOL_CONFIG_H
#define GP_SRC_POOL_CONFIG_H

#include "gp/pool.h"

/* Copy `given` (NULL: the defaults) with zeros replaced by their defaults. All
 * fields are checked here, before anything is acquired. GP_ERR_VERSION_MISMATCH,
 * GP_ERR_INVALID_CONFIG. */
gp_status gp_pool_config_complete(gp_pool_config *config, const gp_pool_config *given);

/* Copy a policy's table; optional slots it lacks get their defaults. */
gp_status gp_policy_ops_complete(gp_policy_ops *ops, const gp_policy_ops *given);

#endif
