/*
 * Setting aside: memory comes from the native pool into the commons before anybody asks for it,
 * where any stream may take it. It raises the pool's floor: growth in need of room gives back
 * only what lies above.
 */
#ifndef GP_SRC_SET_ASIDE_H
#define GP_SRC_SET_ASIDE_H

#include "commons.h"

/*
 * Take a segment of at least so many bytes into a commons; 0: none.
 *
 * Statuses as growth. GP_ERR_CUDA also if the device is not past the allocation in time. The
 * limits hold; nothing is given back to keep to them.
 */
gp_status gp_set_aside(gp_commons *commons, size_t bytes);

/* What gp_pool_config.initial_bytes and initial_fraction ask for, as far as the limits go. The
 * pool is new. */
gp_status gp_set_aside_initial(gp_pool *pool);

#endif
