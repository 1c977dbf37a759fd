#include "node_pool.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>

enum { NODES_PER_BATCH = 32 };

struct gp_node_batch {
    alignas(max_align_t) gp_node_batch *next;
    alignas(max_align_t) unsigned char nodes[];
};

void gp_node_pool_init(gp_node_pool *pool, size_t node_bytes)
{
    size_t alignment = alignof(max_align_t);

    *pool = (gp_node_pool){.node_bytes = (node_bytes + alignment - 1) / alignment * alignment};
}

void gp_node_pool_fini(gp_node_pool *pool)
{
    while (pool->batches != NULL) {
        gp_node_batch *batch = pool->batches;

        pool->batches = batch->next;
        free(batch);
    }
}

static bool add_batch(gp_node_pool *pool)
{
    size_t bytes = sizeof(gp_node_batch) + NODES_PER_BATCH * pool->node_bytes;
    gp_node_batch *batch = malloc(bytes);

    if (batch == NULL) {
        return false;
    }
    batch->next = pool->batches;
    pool->batches = batch;
    pool->metadata_bytes += bytes;

    /* From the end, so that records are handed out in order of address. */
    for (size_t i = NODES_PER_BATCH; i > 0; i--) {
        gp_node_pool_give(pool, batch->nodes + (i - 1) * pool->node_bytes);
    }
    return true;
}

bool gp_node_pool_reserve(gp_node_pool *pool, size_t count)
{
    while (pool->free_count < count) {
        if (!add_batch(pool)) {
            return false;
        }
    }
    return true;
}

void *gp_node_pool_take(gp_node_pool *pool)
{
    void **node = pool->free;

    assert(node != NULL);
    pool->free = *node;
    pool->free_count--;
    return node;
}

void gp_node_pool_give(gp_node_pool *pool, void *node)
{
    void **head = node;

    *head = pool->free;
    pool->free = head;
    pool->free_count++;
}
