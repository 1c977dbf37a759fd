/*
 * A pool: one device, one native pool, and the tiers above it.
 */
#ifndef GP_SRC_POOL_H
#define GP_SRC_POOL_H

#include "tree.h"

#include "gp/pool.h"
#include "arenas.h"
#include "backend.h"
#include "batch.h"
#include "captured_blocks.h"
#include "commons.h"
#include "direct_table.h"
#include "fence.h"
#include "findings.h"
#include "global_tier.h"
#include "idle.h"
#include "order_watch.h"
#include "page_store.h"
#include "quarantine.h"
#include "readback.h"
#include "stream_cache.h"
#include "stream_names.h"
#include "stream_registry.h"
#include "thread_counters.h"
#include "trace.h"
#include "upkeep.h"
#include "use_table.h"

struct gp_pool {
    /* Fixed after creation. */
    gp_pool_config config;
    gp_policy_ops policy;
    gp_backend *backend;
    bool is_default;
    gp_trace trace; /* Changes, by itself: trace.h. */

    gp_global_tier global;
    gp_commons large;  /* For large blocks. */
    gp_commons chunks; /* For what the stream caches cut small blocks from. */
    gp_fence_store fences;
    gp_batch_store batches;
    gp_page_store pages;
    gp_use_table uses;
    gp_stream_names names;
    gp_captured_blocks captured;
    gp_arenas arenas;       /* Of captures, with GP_CAPTURE_ARENA. */
    gp_direct_table direct; /* With pass_through. */
    gp_readbacks readbacks; /* With guard_bytes. */
    gp_findings findings;
    gp_order_watch order_watch;
    gp_quarantine quarantine; /* With quarantine_bytes. */
    gp_idle idle;
    gp_upkeep upkeep;

    /* Every stream cache there ever was; grows at the front, never shrinks. */
    _Atomic(gp_stream_cache *) streams;

    pthread_mutex_t revocation; /* Held while other threads' caches are taken. */

    /* Under the registry's lock. */
    gp_stream_registry registry;
    struct gp_thread_pool *threads;
    gp_thread_counters ended; /* Sums over threads that are gone. */
    gp_pool *next;            /* In the registry. */
    uint32_t visitors;        /* Threads that ask it for memory for another pool. */

    /* Live bytes as folded in by threads on their slow paths, and their peak. */
    gp_counter live_folded;
    gp_counter live_high;

    gp_counter shared_waits; /* Blocks that were taken from another stream behind a queued wait. */
    gp_counter twice_freed;  /* Second frees that were accepted, and noticed since, */
    gp_counter twice_freed_bytes;
    gp_counter remote_frees; /* Blocks that were sent home behind a fence. */
};

/* What chunks are taken from, or large blocks. */
static inline gp_commons *gp_pool_commons(gp_pool *pool, bool chunk)
{
    return chunk ? &pool->chunks : &pool->large;
}

static inline gp_stream_cache *gp_pool_first_stream(gp_pool *pool)
{
    return atomic_load_explicit(&pool->streams, memory_order_acquire);
}

/* Who wants to hear of single blocks; NULL: nobody. A block that is a native allocation by itself
 * needs no announcement. */
static inline const gp_backend_ops *gp_pool_listener(const gp_pool *pool)
{
    const gp_backend_ops *ops = pool->backend->ops;
    return ops->note_alloc != NULL && !pool->config.pass_through ? ops : NULL;
}

/* Make a pool that is not in the registry yet; the config was checked. */
gp_status gp_pool_build(gp_pool **pool, const gp_pool_config *config);

/* Give everything back and free the pool. It is not in the registry (any more),
 * and no thread is in a call on it. */
void gp_pool_tear_down(gp_pool *pool);

#endif
