/*
 * A watch over frees on another stream than the allocation's (gp_pool_config.watch_order).
 *
 *     allocated on  ───A──────────────┊──▶ device      a event behind the allocation
 *     freed on      ───F──────┊──────────▶ device      f event behind the free
 *
 * If the device is seen past f, and after that is seen not to be past a, nothing orders the free
 * after the allocation: whoever gets the memory next may get it too early. The other way round
 * proves nothing.
 */
#ifndef GP_SRC_ORDER_WATCH_H
#define GP_SRC_ORDER_WATCH_H

#include "gp/pool.h"
#include "direct_table.h"

/* Frees that are watched at a time; the oldest makes way. */
#define GP_ORDER_WATCHED 256u

typedef struct gp_watched_free {
    gp_fence *allocation;
    gp_fence *free;
    gp_finding finding;
} gp_watched_free;

typedef struct gp_order_watch {
    pthread_mutex_t lock;  /* Leaf lock. */
    gp_watched_free *ring; /* NULL until the first free is watched. */
    uint64_t begin, end;   /* Entry n is at n % GP_ORDER_WATCHED. */
} gp_order_watch;

void gp_order_watch_init(gp_order_watch *watch);

/* Release the fences that are left. */
void gp_order_watch_destroy(gp_order_watch *watch, gp_fence_store *fences);

/* The block, which has its allocation's fence, is about to be freed on the stream. */
void gp_order_watch_free(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream);

/* See how far the device is. Holds no lock: the caller is told what was found. */
void gp_order_watch_collect(gp_pool *pool);

#endif
