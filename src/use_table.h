/*
 * Uses of blocks on streams other than the one that will free them
 * (gp_record_use): for each such block, a fence a stream.
 */
#ifndef GP_SRC_USE_TABLE_H
#define GP_SRC_USE_TABLE_H

#include "tree.h"
#include <pthread.h>

#include "fence.h"

typedef struct gp_use {
    RB_ENTRY(gp_use) links;
    uintptr_t base; /* Of the block. */
    uint32_t count;
    uint32_t capacity;
    gp_fence **fences; /* Of different streams. */
} gp_use;

RB_HEAD(gp_use_tree, gp_use);

typedef struct gp_use_table {
    pthread_mutex_t lock; /* Leaf lock. */
    struct gp_use_tree tree;
} gp_use_table;

void gp_use_table_init(gp_use_table *table);

/* Release every fence that is left. */
void gp_use_table_destroy(gp_use_table *table, gp_fence_store *fences);

/* Note a use. Takes over the caller's reference; an earlier fence of the same
 * stream is replaced. GP_ERR_OUT_OF_HOST_MEMORY: the reference is released. */
gp_status gp_use_table_add(gp_use_table *table, gp_fence_store *fences, uintptr_t base,
                           gp_fence *fence);

/* Take a block's uses out; gp_use_free() it. NULL if there are none. */
gp_use *gp_use_table_take(gp_use_table *table, uintptr_t base);

/* Undo a take: the block stays the caller's. */
void gp_use_table_put_back(gp_use_table *table, gp_fence_store *fences, gp_use *use);

void gp_use_free(gp_use *use, gp_fence_store *fences);

/* Let `stream` wait for every use. */
gp_status gp_use_wait(const gp_use *use, gp_fence_store *fences, cudaStream_t stream);

#endif
