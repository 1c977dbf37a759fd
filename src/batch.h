/*
 * A batch: up to 32 blocks on their way from one tier to another, and the fences
 * they carry. Passed on lock-free stacks: many threads push, one takes all.
 */
#ifndef GP_SRC_BATCH_H
#define GP_SRC_BATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fence.h"
#include "lock.h"
#include "page.h"
#include "segment.h"

#define GP_BATCH_SLOTS 32u
#define GP_BATCH_FENCES 4u

typedef struct gp_batch {
    struct gp_batch *next;
    size_t bytes; /* Sum over its blocks, for statistics. */
    uint32_t fence_count;
    uint32_t count;
    gp_fence *fences[GP_BATCH_FENCES];
    gp_slot slots[GP_BATCH_SLOTS];
} gp_batch;

typedef _Atomic(gp_batch *) gp_batch_stack;

static inline void gp_batch_push(gp_batch_stack *stack, gp_batch *batch)
{
    gp_batch *head = atomic_load_explicit(stack, memory_order_relaxed);
    do
        batch->next = head;
    while (!atomic_compare_exchange_weak_explicit(stack, &head, batch, memory_order_release,
                                                  memory_order_relaxed));
}

/* Take everything, the batch that was pushed first in front. */
static inline gp_batch *gp_batch_take_all(gp_batch_stack *stack)
{
    if (atomic_load_explicit(stack, memory_order_relaxed) == NULL)
        return NULL;

    gp_batch *newest = atomic_exchange_explicit(stack, NULL, memory_order_acquire);
    gp_batch *oldest = NULL;
    while (newest != NULL) {
        gp_batch *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

static inline bool gp_batch_is_full(const gp_batch *batch)
{
    return batch->count == GP_BATCH_SLOTS;
}

static inline void gp_batch_add(gp_batch *batch, gp_slot slot, size_t bytes)
{
    batch->slots[batch->count++] = slot;
    batch->bytes += bytes;
}

/* Spare batches of a pool. A reserve is set aside at creation, so that a free
 * does not fail for want of host memory. */
typedef struct gp_batch_store {
    gp_lock lock; /* Leaf lock. */
    gp_batch *spare;
    gp_counter count; /* Batches that exist. */
} gp_batch_store;

gp_status gp_batch_store_init(gp_batch_store *store);
void gp_batch_store_destroy(gp_batch_store *store);

/* An empty batch, or NULL if the store and the host are out of memory. */
gp_batch *gp_batch_get(gp_batch_store *store);

/* Hand a batch back; its fences were released. */
void gp_batch_put(gp_batch_store *store, gp_batch *batch);

/* Have all fences of a batch completed? */
bool gp_batch_poll(gp_fence_store *fences, gp_batch *batch);

/* Drop the fences of a batch, whose order is settled. */
void gp_batch_drop_fences(gp_fence_store *fences, gp_batch *batch);

#endif
