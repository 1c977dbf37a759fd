/*
 * Readbacks: parts of a block that are copied to the host, as work of a stream, to be compared with
 * what they have to hold once the device is past the copy.
 *
 *     gp_readback_begin() ─ gp_readback_copy() ... ─ gp_readback_end()  ─▶ pending
 *                                                    gp_readback_collect()  ─▶ findings
 *
 * Nobody waits for one. The host memory is taken in slabs, and given back with the pool.
 */
#ifndef GP_SRC_READBACK_H
#define GP_SRC_READBACK_H

#include <pthread.h>

#include "gp/pool.h"
#include "direct_table.h"
#include "fence.h"

#define GP_READBACK_PARTS 2

typedef struct gp_readback_part {
    uintptr_t base;
    size_t bytes;
    unsigned char expected; /* In every byte. */
} gp_readback_part;

typedef struct gp_readback {
    struct gp_readback *next;
    gp_fence *fence;
    unsigned char *host; /* Room for the store's slot_bytes. */
    gp_readback_part parts[GP_READBACK_PARTS];
    uint32_t part_count;
    size_t used;        /* Of the room. */
    gp_finding finding; /* But for the address: what is said if a part holds something else. */
} gp_readback;

typedef struct gp_readback_slab {
    struct gp_readback_slab *next;
    void *host;
    gp_readback *slots;
} gp_readback_slab;

typedef struct gp_readbacks {
    size_t slot_bytes;    /* 0: there are none in this pool. */
    pthread_mutex_t lock; /* Leaf lock. Guards what follows. */
    gp_readback_slab *slabs;
    gp_readback *spare;
    gp_readback *pending; /* The oldest first. */
    gp_readback **pending_end;
    cudaStream_t stream; /* Of gp's own, made on first use. */
    bool has_stream;
    bool has_lost; /* A copy is behind no fence: nobody can tell when it is done. */
} gp_readbacks;

void gp_readbacks_init(gp_readbacks *readbacks, size_t slot_bytes);

/* Have room before it is needed. Best effort. */
void gp_readbacks_prepare(gp_pool *pool);

/* No copy is under way any more, or the host memory is abandoned to the device. */
void gp_readbacks_destroy(gp_pool *pool);

/* A stream of gp's own for what is looked at in nobody's order, after the host has seen it
 * complete. Not the one on which native memory comes and goes, since that one is waited for in
 * captures. */
gp_status gp_readback_stream(gp_pool *pool, cudaStream_t *stream);

/* Let `stream` wait for all that was queued on that one. Best effort. */
void gp_readback_order(gp_pool *pool, cudaStream_t stream);

/* Look for a finding of one kind in a block. NULL: there is no host memory. */
gp_readback *gp_readback_begin(gp_pool *pool, gp_finding_kind kind, const gp_direct_block *block);

/* Copy a part of the block; `bytes` of all parts are at most the store's slot_bytes. */
gp_status gp_readback_copy(gp_pool *pool, gp_readback *readback, const gp_readback_part *part,
                           cudaStream_t stream);

/* All parts are queued: compare them once the device is past them. A readback that failed is ended
 * too. *fence, if `fence` is not NULL, is behind them, with a reference for the caller. */
gp_status gp_readback_end(gp_pool *pool, gp_readback *readback, cudaStream_t stream,
                          gp_fence **fence);

/* Compare those that the device is past. Holds no lock: the caller is told what was found. */
void gp_readback_collect(gp_pool *pool);

#endif
