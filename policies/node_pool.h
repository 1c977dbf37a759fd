/*
 * Fixed-size records with a free list.
 *
 * Whoever must not fail later reserves now: after gp_node_pool_reserve(n) the
 * next n calls of gp_node_pool_take() succeed. Memory goes back to the C
 * library at the end only, so the pool is as large as its busiest moment.
 */
#ifndef GP_POLICIES_NODE_POOL_H
#define GP_POLICIES_NODE_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gp_node_batch gp_node_batch;

typedef struct gp_node_pool {
    void **free;            /* Each free record's first word points to the next. */
    size_t free_count;      /* Length of that list. */
    size_t node_bytes;      /* A multiple of the strictest alignment. */
    gp_node_batch *batches; /* All that was ever allocated. */
    size_t metadata_bytes;  /* Host memory of all batches. */
} gp_node_pool;

/* An empty pool; allocates nothing. */
void gp_node_pool_init(gp_node_pool *pool, size_t node_bytes);

void gp_node_pool_fini(gp_node_pool *pool);

/* Have at least count free records. O(1) amortised. @return false: malloc failed. */
bool gp_node_pool_reserve(gp_node_pool *pool, size_t count);

/* A record of undefined content. Needs a free one. O(1). */
void *gp_node_pool_take(gp_node_pool *pool);

/* O(1). */
void gp_node_pool_give(gp_node_pool *pool, void *node);

#endif
