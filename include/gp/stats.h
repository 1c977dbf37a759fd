/**
 * @file
 * What a pool holds and what it did: counters, a walk, and a self-check.
 */
#ifndef GP_STATS_H
#define GP_STATS_H

#include "gp/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Counters of a pool. All sizes are in bytes after rounding to size classes,
 * one unit everywhere, so that
 *
 *     reserved_bytes = live_bytes + cached_bytes
 *
 * whenever no call is in progress. Hits follow from requests: a request that is
 * not a miss of a tier is a hit there. In a pool with gp_pool_config.pass_through
 * sizes are as asked for, and every request is a miss of all tiers.
 */
typedef struct gp_pool_stats {
    uint32_t struct_bytes; /**< sizeof(gp_pool_stats); set by the caller. */

    uint64_t live_bytes;      /**< Held by callers, or by arenas of captures. */
    uint64_t live_bytes_high; /**< Peak since creation or gp_pool_reset_peak(); exact with
                                   one thread, else up to one L1 bound a thread too low. */
    uint64_t live_blocks;     /**< Allocations held by callers, arenas aside. */
    uint64_t arena_bytes;     /**< Of the live bytes, those that arenas hold, handed out or not. */
    uint64_t cached_bytes;    /**< Free inside gp, wherever. */
    uint64_t l1_cached_bytes; /**< Of these, in thread caches. */
    uint64_t pending_bytes;   /**< Of these, behind a fence not yet seen complete, or
                                   parked until a capture ends. */
    uint64_t reserved_bytes;  /**< Held from the native pool. */
    uint64_t reserved_bytes_high;        /**< Its peak. */
    uint64_t native_reserved_bytes;      /**< What the native pool holds from the device. */
    uint64_t native_reserved_bytes_high; /**< Its peak. */
    uint64_t metadata_bytes;             /**< Host memory of gp for this pool. */

    uint64_t requests;     /**< Allocations asked for, zero bytes and captures aside. */
    uint64_t frees;        /**< Blocks freed. */
    uint64_t l1_hits;      /**< Served by a thread cache without touching L2. */
    uint64_t l2_hits;      /**< Served by what was freed on the same stream. */
    uint64_t shared_hits;  /**< Served by idle memory of the pool, whichever stream used it. */
    uint64_t shared_waits; /**< Of these, behind a queued wait. */
    uint64_t l1_refills;   /**< Batches brought from L2 to L1. */
    uint64_t l1_flushes;   /**< Batches sent from L1 to L2. */
    uint64_t remote_frees; /**< Blocks sent back to their home stream behind a fence. */
    /** Second frees of a block, in the same moment as the first, that were accepted and
     *  noticed later: see gp_free_async(). */
    uint64_t late_double_frees;
    uint64_t quarantined_bytes; /**< Of the cached bytes, those in quarantine. */
    uint64_t overruns;         /**< Blocks whose guard bytes were found written to: at each look. */
    uint64_t late_writes;      /**< Blocks that were found written to after their free. */
    uint64_t unordered_frees;  /**< Frees that were seen not to be ordered after the allocation. */
    uint64_t unchecked_blocks; /**< Blocks that a debug aid could not look at, for want of host
                                    memory or because a native call failed. */
    uint64_t captured;         /**< Allocations and frees that became part of a capture. */
    uint64_t failures;         /**< Allocations that failed. */
    uint64_t native_allocs;    /**< Calls to the native pool. */
    uint64_t native_frees;
    uint64_t native_trims;
    uint64_t event_records;
    uint64_t event_queries; /**< Of events, and of streams that may be idle. */
    uint64_t stream_waits;

    uint32_t streams; /**< Stream caches in use. */
    uint32_t threads; /**< Thread caches in use. */
} gp_pool_stats;

/**
 * Read a pool's counters.
 *
 * Sums per-thread counters without stopping anybody: exact when no other call
 * is in progress, else each number is one the pool passed through recently.
 *
 * @param pool   The pool.
 * @param stats  [out] struct_bytes set by the caller.
 *
 * @retval GP_OK                    *stats is filled.
 * @retval GP_ERR_INVALID_ARGUMENT  @p stats is NULL.
 * @retval GP_ERR_VERSION_MISMATCH  stats->struct_bytes is wrong.
 * @retval GP_ERR_INVALID_POOL      NULL or destroyed.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h.
 *
 * Takes each stream cache's lock for a moment; not for the hot path. Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_pool_get_stats(gp_pool *pool, gp_pool_stats *stats);

/**
 * Start the peaks anew from the present values, the native pool's too.
 *
 * What other threads have allocated at their own peaks since they last left the
 * hot path may be counted once more.
 *
 * @retval GP_OK                The peaks are the present values.
 * @retval GP_ERR_INVALID_POOL  NULL or destroyed.
 * @retval GP_ERR_CUDA          The native peak was not reset, gp's own were.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_pool_reset_peak(gp_pool *pool);

/**
 * Check every invariant of a pool's data structures.
 *
 * Takes time that grows with the segments times the chunks cut from them. No
 * other call on the pool may be in progress.
 *
 * @retval GP_OK               All hold.
 * @retval GP_ERR_INVALID_POOL NULL or destroyed.
 * @retval GP_ERR_INTERNAL     An invariant is broken, and gp_last_error() names it.
 * @retval GP_ERR_CORRUPTED    All hold, but a debug aid found that the program wrote where
 *                             it must not, since the last call; gp_last_error() has the
 *                             first finding (gp_pool_config.guard_bytes,
 *                             quarantine_bytes).
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h.
 */
GP_API GP_NODISCARD gp_status gp_pool_check(gp_pool *pool);

/** What gp_pool_walk() found. */
typedef enum gp_walk_kind {
    GP_WALK_SEGMENT = 0, /**< A span held from the native pool; or a chunk, the part of one
                              that a stream cache cuts small blocks from. */
    GP_WALK_LIVE = 1,    /**< An allocation. */
    GP_WALK_CACHED = 2,  /**< A free block that is kept as one: in a thread cache, whole
                              in a stream cache, on its way, or parked. */
    GP_WALK_ARENA = 3    /**< A piece of memory that an arena holds (gp/arena.h). */
} gp_walk_kind;

/** One thing in a pool. */
typedef struct gp_walk_entry {
    gp_walk_kind kind;
    const void *address; /**< Device address. */
    size_t bytes;        /**< Size after rounding. */
    uint64_t stream_id;  /**< The stream whose cache cuts it; 0: the commons, which
                              large blocks are cut from. */
} gp_walk_entry;

/** Called for each entry; return false to stop. Must not call into the pool. */
typedef bool (*gp_walk_fn)(const gp_walk_entry *entry, void *user);

/**
 * Visit every segment and block of a pool, by segment, in address order.
 *
 * A chunk comes after the segment it lies in and again holds blocks of its own.
 * No other call on the pool may be in progress.
 *
 * @param visit  Called for each entry.
 * @param user   Passed on to it.
 *
 * @retval GP_OK                      All were visited, or @p visit stopped it.
 * @retval GP_ERR_INVALID_ARGUMENT    @p visit is NULL.
 * @retval GP_ERR_INVALID_POOL        NULL or destroyed.
 * @retval GP_ERR_OUT_OF_HOST_MEMORY  Nothing was visited.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h.
 */
GP_API GP_NODISCARD gp_status gp_pool_walk(gp_pool *pool, gp_walk_fn visit, void *user);

#ifdef __cplusplus
}
#endif

#endif
