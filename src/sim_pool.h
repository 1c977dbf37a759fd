/*
 * A native pool: memory mapped from the device in whole granules, and what of it
 * is free.
 *
 * Free memory is either done, its free is complete and anybody may have it, or
 * pending on the stream of the free: that stream may have it at once, another
 * only if it is ordered after the free. Neighbours join within either kind.
 */
#ifndef GP_SRC_SIM_POOL_H
#define GP_SRC_SIM_POOL_H

#include "sim_stream.h"

typedef struct gp_sim_pending {
    struct gp_sim_pending *next;
    gp_sim_stream *stream; /* referenced */
    gp_sim_ranges ranges;  /* positions are those of the frees */
    uint64_t oldest;       /* no range is complete before this position */
} gp_sim_pending;

typedef struct gp_sim_pool {
    struct gp_sim_pool *next; /* of the machine's pools */
    struct gp_sim_pool *previous;
    int device;
    bool is_destroyed; /* the handle is gone */
    bool has_notes;    /* the checker was told of a block inside */
    uint64_t threshold_bytes;
    size_t max_bytes; /* 0: no limit */
    gp_sim_ranges done;
    gp_sim_pending *pending;
    size_t live_blocks;
    size_t reserved_bytes; /* mapped */
    size_t reserved_bytes_high;
    size_t used_bytes;
    size_t used_bytes_high;
} gp_sim_pool;

/* Find room, mapping more if it must. 2: the device or the pool's limit is full.
 * *address is where `bytes` begin, a multiple of `alignment`. */
gp_sim_result gp_sim_pool_take(const gp_sim_call *call, gp_sim_pool *pool, gp_sim_stream *stream,
                               uint64_t bytes, uint64_t alignment, uint64_t *address);

/* Free in the order of a stream: complete once its operation `position` is. */
void gp_sim_pool_give(gp_sim_pool *pool, gp_sim_stream *stream, uint64_t position, uint64_t address,
                      uint64_t bytes);

/* Unmap free granules until no more than `keep_bytes` are mapped. */
void gp_sim_pool_trim(const gp_sim_call *call, gp_sim_pool *pool, size_t keep_bytes);

/* Free destroyed pools whose memory has come back. */
void gp_sim_pools_sweep(const gp_sim_call *call);

/* Throw a pool away with all that it holds. */
void gp_sim_pool_discard(gp_sim_machine *machine, gp_sim_pool *pool);

#endif
