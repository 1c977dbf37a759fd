/*
 * A fence: a recorded position of a stream, shared by everything that has to
 * wait for it. Counted references; the event goes back to a store for reuse.
 */
#ifndef GP_SRC_FENCE_H
#define GP_SRC_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "backend.h"
#include "counter.h"
#include "lock.h"
#include "trace.h"

typedef struct gp_fence {
    gp_native_event event;
    uint64_t stream_id; /* Whose position it is. */
    uint64_t covers;    /* The stream cache's give count when it was recorded. */
    _Atomic(int) references;
    _Atomic(bool) complete; /* The host has seen it complete; never unset. */
    struct gp_fence *next;  /* In the store of spare fences. */
} gp_fence;

/* Makes fences and keeps spare ones; one a pool. */
typedef struct gp_fence_store {
    gp_pool *pool; /* Whose order tools are to see; NULL: none. */
    gp_backend *backend;
    gp_trace *trace; /* Whose sinks hear of waits. */
    gp_lock lock;    /* Leaf lock: nothing is called under it. */
    gp_fence *spare;
    gp_counter records, queries, waits;
} gp_fence_store;

void gp_fence_store_init(gp_fence_store *store, gp_backend *backend, gp_trace *trace);

/* Destroy the spare fences and their events. None may be referenced any more. */
void gp_fence_store_destroy(gp_fence_store *store);

/* Record a stream's position now. The stream is live and does not capture. */
gp_status gp_fence_record(gp_fence_store *store, cudaStream_t stream, uint64_t stream_id,
                          uint64_t covers, gp_fence **fence);

gp_fence *gp_fence_retain(gp_fence *fence);
void gp_fence_release(gp_fence_store *store, gp_fence *fence);

/* Has the device passed it? A failed query counts as no. */
bool gp_fence_poll(gp_fence_store *store, gp_fence *fence);

/* Order later work of `stream` after the fence. Nothing is queued if the host has seen it
 * complete, unless tools are to see the order. */
gp_status gp_fence_wait(gp_fence_store *store, gp_fence *fence, cudaStream_t stream);

/* The same, queued in any case. */
gp_status gp_fence_order(gp_fence_store *store, const gp_fence *fence, cudaStream_t stream);

#endif
