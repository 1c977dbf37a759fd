/* Naming live allocations, and what arenas hold, in an error text. */
#ifndef GP_SRC_BLOCK_LIST_H
#define GP_SRC_BLOCK_LIST_H

#include "gp/base.h"

/* Append the live blocks of a pool to the error text, as many as fit. */
void gp_block_list_append(gp_pool *pool);

#endif
