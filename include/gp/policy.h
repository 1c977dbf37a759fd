/**
 * @file
 * Placement policies: how free memory is cut and joined.
 *
 * A policy sees addresses and sizes, never CUDA, never a lock, never a thread:
 * the pool makes one instance for each stream's small blocks and two for the
 * commons, one for large blocks and one for what the streams cut small ones from.
 * It calls an instance from one thread at a time, and has already settled the
 * order of every free. An instance must not call into gp. What a policy
 * may rely on is written at each slot below.
 *
 * Words: a *segment* is a contiguous span the pool hands to the policy to cut;
 * a *span* is any piece of one; a *block* is a span that was taken.
 */
#ifndef GP_POLICY_H
#define GP_POLICY_H

#include "gp/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Every address and size a policy sees is a multiple of this many bytes. */
#define GP_GRANULE_BYTES 512u

/** Of long blocks, pieces that are multiples of this many bytes may come back. */
#define GP_PIECE_BYTES ((size_t)64 << 10)

/** A piece of device memory. */
typedef struct gp_span {
    uintptr_t base; /**< Device address, a multiple of GP_GRANULE_BYTES. */
    size_t bytes;   /**< Length, a multiple of GP_GRANULE_BYTES, not 0. */
} gp_span;

typedef struct gp_policy_ops gp_policy_ops;

/** What a policy is told about the pool when an instance is made. */
typedef struct gp_policy_params {
    uint32_t struct_bytes; /**< sizeof(gp_policy_params) of the pool. */
    size_t large_bytes;    /**< Requests above this are large: gp_pool_config. */

    /** The table through which create() is called; lives as long as the instance. */
    const gp_policy_ops *policy;
} gp_policy_params;

/** What an instance reports about its free memory. */
typedef struct gp_policy_usage {
    size_t free_bytes;         /**< Sum of all free spans. */
    size_t largest_free_bytes; /**< The largest request that take() would meet now. */
    size_t metadata_bytes;     /**< Host memory of the instance. */
} gp_policy_usage;

/** Two policies, each for its range of sizes: see gp_policy_by_size(). */
typedef struct gp_policy_split {
    const gp_policy_ops *small; /**< For requests of up to up_to_bytes. */
    size_t up_to_bytes;
    const gp_policy_ops *large; /**< For longer ones. */
} gp_policy_split;

/**
 * A placement policy. A const table, returned by an accessor.
 *
 * The pool copies it at creation: slots after struct_bytes that a policy built
 * against an older header does not know are filled with defaults.
 */
struct gp_policy_ops {
    uint32_t struct_bytes; /**< sizeof(gp_policy_ops) the policy was built with. */
    const char *name;      /**< Shown in statistics, traces and reports. */

    /**
     * Required. Make an instance.
     * @return GP_OK, GP_ERR_OUT_OF_HOST_MEMORY, or GP_ERR_INVALID_CONFIG for a policy
     *         that finds itself badly put together.
     */
    gp_status (*create)(void **state, const gp_policy_params *params);

    /** Required. Drop an instance, whatever it still holds. */
    void (*destroy)(void *state);

    /**
     * Required. Take charge of a segment, all of it free. It does not overlap
     * any other, and may touch one: spans are never joined across segments.
     * @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY (then nothing has changed).
     */
    gp_status (*add_segment)(void *state, gp_span segment);

    /**
     * Required. Give up a segment that is wholly free.
     * @return false, and change nothing, if a block of it is taken or @p base
     *         is no segment's start.
     */
    bool (*remove_segment)(void *state, uintptr_t base);

    /**
     * Required. Is the segment at @p base wholly free? Caches of the policy
     * that join on demand count as free.
     */
    bool (*segment_is_free)(const void *state, uintptr_t base);

    /**
     * Required. Choose a free span for a request and take it.
     *
     * @param bytes      A multiple of GP_GRANULE_BYTES, not 0; the block gets
     *                   exactly so many.
     * @param alignment  A power of two, at least GP_GRANULE_BYTES.
     * @param base       [out] Its start.
     * @return false, and change nothing, if nothing fits.
     */
    bool (*take)(void *state, size_t bytes, size_t alignment, uintptr_t *base);

    /**
     * Required. Taken memory comes back. Joins free neighbours at once. Must not
     * fail: whatever memory the bookkeeping needs was set aside before.
     *
     * Blocks of up to large_bytes come back as they were taken. Longer ones whose
     * base and size are multiples of GP_PIECE_BYTES may also come back in pieces that
     * are so too: part of a block, or parts of several that follow one another in
     * a segment.
     */
    void (*give)(void *state, gp_span span);

    /** Required. Sum up the free memory. For statistics and checks; yet a lock is held. */
    void (*usage)(const void *state, gp_policy_usage *usage);

    /** Optional. Check every invariant of the instance; default: true. */
    bool (*is_valid)(const void *state);

    /**
     * Optional. What a policy made of two others is made of; nobody but gp_policy_by_size()
     * needs it. It stands in the table, which the pool copies and create() is shown, so that
     * such a policy needs neither a global variable nor an object that outlives the pool.
     */
    gp_policy_split split;
};

/**
 * The default policy. Small objects from slabs, requests up to large_bytes from
 * a buddy system by size class, larger ones best fit from whole segments.
 */
GP_API const gp_policy_ops *gp_policy_cache_first(void);

/**
 * Every request at the lowest address that has room: the low end of the memory stays
 * dense, and the high end comes free as a whole. O(log n) in the number of free spans n.
 *
 * Keeps about 100 bytes of host memory for each block that is no multiple of GP_PIECE_BYTES.
 */
GP_API const gp_policy_ops *gp_policy_first_fit(void);

/**
 * Every request from the smallest free span that has room, of several the one at the lowest
 * address: long spans last longest. O(log n), and host memory as gp_policy_first_fit().
 */
GP_API const gp_policy_ops *gp_policy_best_fit(void);

/**
 * Two policies, chosen by the size of the request.
 *
 * Each segment is cut by one of the two at a time; a wholly free one changes over when the
 * other needs it. A request for which its own policy finds no room goes to the other, so that
 * nothing free lies idle for its size alone.
 *
 * A split at gp_pool_config.large_bytes costs no memory: a pool cuts small and large blocks
 * from different segments anyway. One below it may cost each stream a chunk more.
 *
 * @param small        For requests of up to @p up_to_bytes. The two tables must be there as
 *                     long as the pools made with them, as those of accessors are.
 * @param up_to_bytes  The longest request that is small here.
 * @param large        For longer ones. Either may be made by gp_policy_by_size() itself.
 *
 * @return A table for gp_pool_config.policy. The pool copies it, so a local variable will do:
 *
 *         gp_policy_ops policy =
 *             gp_policy_by_size(gp_policy_first_fit(), 1 << 20, gp_policy_best_fit());
 *         config.policy = &policy;
 *
 *         If one of the two is NULL or lacks a required slot, gp_pool_create() returns
 *         GP_ERR_INVALID_CONFIG.
 */
GP_API gp_policy_ops gp_policy_by_size(const gp_policy_ops *small, size_t up_to_bytes,
                                       const gp_policy_ops *large);

#ifndef __cplusplus
/**
 * The same as a pointer, for a place where the table need not have a name:
 *
 *     config.policy = GP_POLICY_BY_SIZE(gp_policy_first_fit(), 1 << 20, gp_policy_best_fit());
 *
 * The table lives up to the end of the block around it: call gp_pool_create() in there.
 */
#define GP_POLICY_BY_SIZE(small, up_to_bytes, large)                                               \
    ((const gp_policy_ops[]){gp_policy_by_size((small), (up_to_bytes), (large))})
#endif

/**
 * The function by which a shared library offers a policy, for programs that load one by path,
 * as `gp-bench --policy ./libnext_fit.so`. docs/writing-a-policy.md shows the whole of one.
 *
 *     GP_API const gp_policy_ops *gp_policy_entry(void);
 */
#define GP_POLICY_ENTRY "gp_policy_entry"

/** The type of that function. The table is there as long as the library is loaded. */
typedef const gp_policy_ops *(*gp_policy_entry_function)(void);

#ifdef __cplusplus
}
#endif

#endif
