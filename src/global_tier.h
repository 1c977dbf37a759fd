/*
 * The global tier (L3): the native pool, what gp holds from it, and the limits.
 */
#ifndef GP_SRC_GLOBAL_TIER_H
#define GP_SRC_GLOBAL_TIER_H

#include <pthread.h>

#include "backend.h"
#include "counter.h"
#include "limits.h"
#include "segment.h"
#include "trace.h"

typedef struct gp_global_tier {
    gp_backend *backend;
    gp_trace *trace;
    cudaMemPool_t native;
    bool owns_native;
    bool is_plain; /* Memory is taken past the native pool: gp_pool_config.annotate_memory. */
    gp_limits limits;
    gp_counter reserved;
    gp_counter reserved_high;      /* Since the last reset, for statistics. */
    gp_counter reserved_ever_high; /* Since creation: growth beyond it gives back first. */
    gp_counter slack;              /* How far beyond it does not. */
    gp_counter floor;              /* Set aside on request: growth gives back no more than above. */
    gp_counter step;               /* The next growth is a multiple of it. */
    _Atomic(bool) near_limit;
    size_t least_step, most_step;
    gp_counter allocs, frees, trims;

    pthread_mutex_t lock; /* Guards `growing` and `kept`. Not held while `growing` is true. */
    pthread_cond_t grown;
    gp_segment *kept; /* Could neither be given back nor be taken in: tried again later. */
    bool growing;     /* One thread grows the pool; a crowd that misses together waits. */

    pthread_mutex_t own_stream_lock; /* Guards the making of `own_stream`. */
    cudaStream_t own_stream;         /* The native pool's calls are ordered on it. */
    bool has_own_stream;
    bool follows_others; /* It waits for other streams: gp_pool_config.visible_order. */
} gp_global_tier;

/* Stands on the native pool of the config, or makes one. */
gp_status gp_global_tier_init(gp_global_tier *tier, gp_backend *backend, gp_trace *trace,
                              const gp_pool_config *config);
void gp_global_tier_destroy(gp_global_tier *tier);

/* Become the one thread that grows. False: somebody else did, and is done; look
 * again for what you need before you grow. */
bool gp_global_tier_begin_growth(gp_global_tier *tier);
void gp_global_tier_end_growth(gp_global_tier *tier);

/* May so many more bytes be reserved under the pool's own limit? */
bool gp_global_tier_allows(const gp_global_tier *tier, size_t bytes);

/* How much the pool may hold, with so many bytes more, before it has to look harder for what it
 * has: its peak so far with some slack, or less where a limit says so. */
uint64_t gp_global_tier_ceiling(const gp_global_tier *tier, size_t bytes);

/* What may be left reserved when room is made for so many bytes under a ceiling. */
uint64_t gp_global_tier_room_target(const gp_global_tier *tier, uint64_t ceiling, size_t bytes);

/* How much to grow for a need of so many bytes: at least them. With them the pool may come near its
 * limit, and is near it from then on. */
size_t gp_global_tier_growth(gp_global_tier *tier, size_t bytes);

/* Is it near its limit? From the growth that passes near_bytes until less than far_bytes are
 * reserved. */
static inline bool gp_global_tier_is_near_limit(const gp_global_tier *tier)
{
    return atomic_load_explicit(&tier->near_limit, memory_order_relaxed);
}

/* The pool has grown so; or it gave back, and begins with small steps again, and with what it
 * has left of what was set aside. */
void gp_global_tier_note_growth(gp_global_tier *tier);
void gp_global_tier_note_release(gp_global_tier *tier);

/*
 * Take a segment of at least `bytes` from the native pool, ordered on gp's own stream.
 * GP_ERR_LIMIT (the headroom's too), GP_ERR_OUT_OF_MEMORY, GP_ERR_OUT_OF_HOST_MEMORY,
 * others as the native call; nothing is held then.
 */
gp_status gp_global_tier_take_segment(gp_global_tier *tier, size_t bytes, cudaStream_t *own_stream,
                                      gp_segment **segment);

/* Take a native allocation of just so many bytes, ordered on `stream`: a block by itself. Statuses
 * as above. Many threads at once stay under the limit. */
gp_status gp_global_tier_take_block(gp_global_tier *tier, size_t bytes, cudaStream_t stream,
                                    void **native);

/* Give one back. On failure it is still the caller's. */
gp_status gp_global_tier_give_block(gp_global_tier *tier, void *native, size_t bytes,
                                    cudaStream_t stream);

/* Give a native segment back, in the order of `stream`, and drop its struct. On failure it is
 * still the caller's. */
gp_status gp_global_tier_give_segment(gp_global_tier *tier, gp_segment *segment,
                                      cudaStream_t stream);

/* Keep a segment that could not be given back, and that there is no host memory to use, until
 * gp_global_tier_give_kept() gives it back. It counts as reserved. */
void gp_global_tier_keep_segment(gp_global_tier *tier, gp_segment *segment);

/* Try again to give back what is kept. True if something was. */
bool gp_global_tier_give_kept(gp_global_tier *tier);

/* Bytes that are kept. */
uint64_t gp_global_tier_kept_bytes(gp_global_tier *tier);

/* Was it made yet? */
bool gp_global_tier_has_own_stream(gp_global_tier *tier, cudaStream_t *stream);

/* gp's own stream, made on first use. All native allocations and frees are ordered
 * on it, so that the native pool can use again at once what gp gave back. */
gp_status gp_global_tier_own_stream(gp_global_tier *tier, cudaStream_t *stream);

/* Wait until the device is past all that was queued on gp's own stream: allocations
 * and frees of complete memory, which take microseconds. False if it is not. */
bool gp_global_tier_wait(gp_global_tier *tier, cudaStream_t own_stream);

/* The same while it waits for other streams: not for longer than 100 ms. */
bool gp_global_tier_wait_briefly(gp_global_tier *tier, cudaStream_t own_stream);

/* Let the native pool give back what it does not use. */
gp_status gp_global_tier_trim(gp_global_tier *tier, size_t min_bytes_to_keep);

#endif
