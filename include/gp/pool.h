/**
 * @file
 * Pools: create, allocate, free, trim.
 *
 * Call order and argument order mirror CUDA's stream-ordered allocator, so a
 * program moves over by renaming its calls.
 */
#ifndef GP_POOL_H
#define GP_POOL_H

#include "gp/policy.h"
#include "gp/status.h"
#include "gp/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which device implementation a pool stands on. */
typedef enum gp_backend_kind {
    GP_BACKEND_AUTO = 0, /**< CUDA if a driver and a device are there, else simulated. */
    GP_BACKEND_CUDA = 1, /**< A CUDA device, or creation fails. */
    GP_BACKEND_SIM = 2   /**< The simulated device of gp/sim.h. */
} gp_backend_kind;

/**
 * What a stream may do with blocks that lie idle in another stream's cache.
 *
 * In every mode large blocks that a stream does not keep for itself join the
 * pool's commons once the device is past their use, and then serve any stream.
 */
typedef enum gp_share_mode {
    GP_SHARE_WAIT = 0,      /**< Use completed ones first, then queue a wait, then grow. */
    GP_SHARE_COMPLETED = 1, /**< Use only those whose last use has completed. */
    GP_SHARE_NEVER = 2      /**< Take nothing out of another stream's cache. */
} gp_share_mode;

/** What an allocation on a stream that captures becomes. */
typedef enum gp_capture_mode {
    GP_CAPTURE_NATIVE = 0, /**< A memory node of the graph, of the native allocator. */
    GP_CAPTURE_ARENA = 1   /**< A block of the capture's private arena: gp/arena.h. */
} gp_capture_mode;

/**
 * Asked for memory before an allocation fails: gp_pool_config.on_pressure.
 *
 * Called by the thread that allocates, after all else was tried and with no lock of gp's
 * held. It may free blocks of this pool and of others, trim pools, and give back memory that
 * gp knows nothing of. It must not destroy @p pool, nor attach or detach the stream of
 * the allocation. An allocation inside of it that finds no memory fails without asking
 * again. Other threads may be inside it at the same time.
 *
 * @param user           gp_pool_config.pressure_user.
 * @param pool           The pool that has no memory.
 * @param bytes_missing  Size of the block, or of the chunk for small blocks, that is missing.
 *
 * @return true if something was freed: then the search is repeated, at most four times for an
 *         allocation, and the callback asked again if that is in vain. false: the allocation
 *         fails.
 */
typedef bool (*gp_pressure_fn)(void *user, gp_pool *pool, size_t bytes_missing);

/** What debug aids can find. */
typedef enum gp_finding_kind {
    GP_FINDING_OVERRUN = 0,       /**< Guard bytes of a block were written to. */
    GP_FINDING_LATE_WRITE = 1,    /**< A block was written to after its free, in quarantine. */
    GP_FINDING_UNORDERED_FREE = 2 /**< A free is not ordered after the block's allocation. */
} gp_finding_kind;

/** A fault of the program that a debug aid found: docs/debugging.md. */
typedef struct gp_finding {
    gp_finding_kind kind;
    gp_pool *pool;
    const void *block;   /**< Device address of the block, */
    size_t bytes;        /**< and its usable size. */
    const void *address; /**< The first byte that was written to; else the block. */
    uint64_t stream_id;  /**< Of the stream that the block was allocated on. */
    uint64_t freed_on;   /**< Of the stream that it was freed on; 0: it is live. */
    const char *text;    /**< All of that in English; valid during the call. */
} gp_finding;

/**
 * Told of a finding: gp_pool_config.on_finding.
 *
 * Called in any call on the pool that is not a hit, by its thread, with no lock of gp's held. It
 * may call gp, but must not destroy the pool; while the pool is being destroyed, calls on it return
 * GP_ERR_INVALID_POOL. Other threads may be inside it at the same time.
 *
 * @param user     gp_pool_config.finding_user.
 * @param finding  Valid during the call.
 */
typedef void (*gp_finding_fn)(void *user, const gp_finding *finding);

/** What gp_pool_config.poison fills a block with: a NaN in every format of floating-point
 *  numbers, and -1; and once it is free a huge negative number, or a NaN. */
#define GP_POISON_FRESH 0xff
#define GP_POISON_FREED 0xfe

/**
 * How a pool is made. Fill it with gp_pool_config_init(), then change fields.
 *
 * Zero in a size field means the default that is given here.
 */
typedef struct gp_pool_config {
    uint32_t struct_bytes;   /**< sizeof(gp_pool_config); set by gp_pool_config_init(). */
    int device;              /**< Device ordinal. Default 0. */
    gp_backend_kind backend; /**< Default GP_BACKEND_AUTO. */
    gp_share_mode share;     /**< Default GP_SHARE_WAIT. */
    gp_capture_mode capture; /**< Default GP_CAPTURE_NATIVE. */

    /** Placement of each stream's free memory and of the commons. NULL:
     *  gp_policy_cache_first(). */
    const gp_policy_ops *policy;

    /** Native pool to take memory from. NULL: the pool makes one of its own.
     *  A given pool must outlive this one. gp changes none of its attributes,
     *  but trims it in gp_pool_trim_to() and gp_pool_release_now(), before this
     *  pool passes its highest reservation, while it gives idle memory back and
     *  before an allocation fails, also of another gp pool; and resets its peak in
     *  gp_pool_reset_peak(). */
    cudaMemPool_t native_pool;

    /** Least alignment of every block in bytes, a power of two from 256 to
     *  2 MiB. Blocks are multiples of 512 bytes, so 256 behaves as 512.
     *  Default 512. For a memory node of a graph the native allocator's own holds. */
    size_t alignment;

    /** Requests above this many bytes bypass L1 and the buddy system, and are
     *  rounded up to multiples of 64 KiB; a power of two from 64 KiB to 64 MiB.
     *  Default 512 KiB. */
    size_t large_bytes;

    /** Segments taken from the native pool are multiples of this many bytes, or, if max_bytes
     *  leaves little room, of as much less; a power of two from 2 MiB to 1 GiB. Default 32 MiB, in
     *  which the driver's own pools grow. */
    size_t segment_bytes;

    /** Growth steps begin at segment_bytes, double with each growth up to this many bytes, and
     *  begin anew once memory went back; a power of two from segment_bytes to 1 GiB. Default:
     *  segment_bytes, so that they stay as they are, which is the leanest. */
    size_t growth_bytes;

    /** Bytes that the pool reserves when it is made, and keeps: only a trim, or a request that
     *  would fail otherwise, takes memory out of them. An eighth of them is for blocks of up to
     *  large_bytes. No more than the limits and the headroom leave. Default 0. */
    size_t initial_bytes;

    /** The same as a share of the device's memory, 0 to 1; the higher of the two holds.
     *  Default 0. */
    double initial_fraction;

    /** Most bytes the pool may reserve. Default: no limit but the device. What would pass it
     *  fails with GP_ERR_LIMIT, after all that GP_ERR_OUT_OF_MEMORY comes after. Once
     *  less than a quarter of it is left, and than 32 segments, the pool makes more native calls to
     *  waste less. A native pool that it makes may map more of the device, for what lies between
     *  segments: up to twice that room, and 64 MiB at the least. */
    size_t max_bytes;

    /** The same as a share of the device's memory, 0 to 1; the lower of the two holds. 0: no
     *  limit. Default 0. */
    double max_fraction;

    /** Share of the device's memory that is left to others, 0 to less than 1. While less than
     *  that would be free after it, whoever holds the rest, the pool does not grow: it shares and
     *  gives back what it has idle, as at max_bytes, and what finds no room then fails with
     *  GP_ERR_LIMIT. The device is asked at each growth, and one that does not say how much is
     *  free is taken at its word when it allocates. 0: nothing is left, and only a full device
     *  ends growth, with GP_ERR_OUT_OF_MEMORY. Default 0.10. */
    double headroom_fraction;

    /** Reserved bytes above which the pool looks harder before each growth: every thread's cache
     *  is flushed, streams share what they have idle, and free segments go back. Growth itself
     *  is not refused. Default: none; the pool does so only where it would pass its highest
     *  reservation. */
    size_t soft_bytes;

    /** Most bytes that one stream may hold, of every stream that gp_stream_set_budget() gave no
     *  budget of its own. Default: no limit. */
    size_t stream_budget_bytes;

    /** Memory counts as idle once nobody took it for so many milliseconds, 1 to 3,600,000
     *  (gp_pool_stats.idle_bytes_by_age). Default 1000. */
    uint32_t idle_window_ms;

    /** Idle share of the reserved bytes, in percent, from which on the pool gives segments back by
     *  itself, 0 to 100; 0: never. It counts what nobody took for release_windows windows of
     *  idle_window_ms, 1 to 64, and gives back down to a share of release_to_percent, 0 to 99 and
     *  below the first, but no less than one segment_bytes and what was set aside. That is done in
     *  slices, by calls that are slow anyway: a segment, and a trim of at most 64 MiB, at a time.
     *  A pool whose load comes back after that, as a periodic one does, takes what it gave back in
     * one piece the next time. Defaults 80, 50 and 3. */
    uint32_t release_idle_percent;
    uint32_t release_to_percent;
    uint32_t release_windows;

    /** Most bytes one thread cache (L1) may hold. Default 4 MiB. */
    size_t l1_bytes;

    /** Most blocks of one size class in a thread cache, 1 to 256. Default 64. */
    uint32_t l1_depth;

    /** A class of a thread cache is refilled once it holds less than this
     *  share of its depth, in percent, 0 to 90. Default 20. 0 refills only
     *  when it is empty, as does any depth too small for the share to matter. */
    uint32_t l1_refill_percent;

    /** Let tools see the order that gp relies on. gp learns that work has
     *  completed by asking the device, which a tool that follows stream order,
     *  as Compute Sanitizer's memcheck, takes for no order; with this, each such
     *  answer is confirmed by an event that gp's native calls wait for, and nothing
     *  is cached by threads. Slower. Default: true if the environment has
     *  GP_VISIBLE_ORDER=1, else false. */
    bool visible_order;

    /** Make each allocation one of the native pool, of just the bytes asked for and on the
     *  caller's stream, and each free one on the stream of the free, so that a tool sees every
     *  block's bounds and life: Compute Sanitizer's memcheck then finds each access outside of
     *  one. Nothing is cached; all calls keep their meaning. gp_usable_size() is what was asked
     *  for. In captures it changes nothing. Slow: docs/debugging.md. Default: true if the
     *  environment has GP_PASS_THROUGH=1, else false. */
    bool pass_through;

    /** Fill each block with GP_POISON_FRESH when it is handed out and with GP_POISON_FREED when
     *  it is freed, as work of the stream of the call: what is read before it was written, or
     *  after the free, shows. Implies pass_through; in captures it changes nothing. Default
     *  false. */
    bool poison;

    /** Put so many bytes of a pattern before and behind each block, and see whether they were
     *  written to: when the block is freed, and in gp_pool_check() for live ones. What is read
     *  back is looked at once the device is past it, in a later call on the pool, so that
     *  no call waits; gp_pool_destroy() waits for it, 100 ms at most. Implies pass_through; in
     *  captures it changes nothing. A multiple of 512 up to 64 KiB. Default 0: none. */
    size_t guard_bytes;

    /** Hold the blocks that were freed last back from being used again, up to so many bytes: what
     *  a program does to them after the free then meets nobody else's data. With poison they are
     *  looked at when they leave, the first and the last 32 KiB of each, which finds such
     *  writes. More is held while the device is not past the frees. Memory that is held counts
     *  as cached; trims and allocations that find no memory let it go. Implies pass_through.
     *  Default 0: none. */
    size_t quarantine_bytes;

    /** See whether the device comes to a free on another stream than the allocation's before it
     *  comes to the allocation: then nothing orders the two, and the memory's next owner may have
     *  it too early. Only what is seen in passing, in calls on the pool, is found, and nothing that
     *  is in order is reported. gp_pool_check() does not return these findings. Implies
     *  pass_through. Default false. */
    bool watch_order;

    /** Told of what debug aids find. Default NULL: nobody is. */
    gp_finding_fn on_finding;
    void *finding_user; /**< Handed to on_finding as it is. Default NULL. */

    /** Asked for memory before an allocation of the pool fails with GP_ERR_OUT_OF_MEMORY
     *  or GP_ERR_LIMIT. Not inside a capture, where the native allocator decides. Default
     *  NULL: nobody is. */
    gp_pressure_fn on_pressure;
    void *pressure_user; /**< Handed to on_pressure as it is. Default NULL. */

    /** Take memory by plain cuMemAlloc in place of the native pool's, and tell Compute Sanitizer's
     *  memcheck the bounds of each block, as asked for: it then finds accesses between and
     *  behind blocks, those of freed ones, and blocks that were never freed, while gp caches as
     *  ever. Slow, with a tool or without: docs/nsight.md, also for when pass_through is the
     *  better choice. Not with native_pool, pass_through or GP_CAPTURE_ARENA. Default: true if the
     *  environment has GP_ANNOTATE_MEMORY=1, else false. */
    bool annotate_memory;

    /** How much NVIDIA's tools show of the pool: docs/nsight.md. Costs nothing while no tool
     *  is attached. Default: GP_TRACE_SLOW, or what GP_TRACE_LEVEL=0, 1 or 2 in the
     *  environment says. */
    gp_trace_level trace_level;

    /** Least time between two samples of the counters that trace sinks get, in microseconds, 1
     *  to 1,000,000. Default 100. */
    uint32_t trace_sample_us;
} gp_pool_config;

/**
 * Fill a config with the defaults above.
 *
 * @param config  [out] Must not be NULL; a NULL is ignored.
 */
GP_API void gp_pool_config_init(gp_pool_config *config);

/**
 * Create a pool on one device.
 *
 * Takes the device's primary context and creates a native pool whose release
 * threshold is unlimited: gp alone decides when memory goes back. Reserves
 * nothing yet but initial_bytes.
 *
 * @param pool    [out] The new pool; destroy it with gp_pool_destroy().
 * @param config  NULL for the defaults, else filled by gp_pool_config_init().
 *
 * @retval GP_OK                      *pool is set.
 * @retval GP_ERR_INVALID_ARGUMENT    @p pool is NULL.
 * @retval GP_ERR_VERSION_MISMATCH    config->struct_bytes is wrong, or that of the
 *                                    policy.
 * @retval GP_ERR_INVALID_CONFIG      A field is out of range, and the text names it;
 *                                    or a required slot of the policy is NULL.
 * @retval GP_ERR_UNSUPPORTED         No such device, it has no memory pools, or the
 *                                    driver is older than CUDA 12.0's.
 * @retval GP_ERR_OUT_OF_HOST_MEMORY  malloc failed.
 * @retval GP_ERR_OUT_OF_MEMORY       The device refused initial_bytes, or the native pool.
 * @retval GP_ERR_WRONG_PROCESS       In a child forked after gp was first used.
 * @retval GP_ERR_SHUTDOWN            The process is exiting.
 * @retval GP_ERR_CUDA                Any other native failure.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_pool_create(gp_pool **pool, const gp_pool_config *config);

/**
 * Destroy a pool and give all its memory back.
 *
 * No other thread may be inside a call on this pool. Work that still uses freed
 * blocks may be queued: the memory is released in stream order. Where gp cannot
 * name a stream that used it, as it can attached ones, it waits for all work of
 * the device instead; while a stream of the device captures, that is not possible,
 * and the memory stays with the driver until the process ends.
 *
 * @param pool  The pool. A default pool cannot be destroyed.
 *
 * @retval GP_OK                The pool is gone.
 * @retval GP_ERR_BUSY          Allocations are live, or arenas not released:
 *                              gp_last_error() lists the first of them. The pool
 *                              is unchanged.
 * @retval GP_ERR_INVALID_POOL  Not a pool, destroyed already, or a default pool.
 * @retval GP_ERR_WRONG_PROCESS In a forked child. Nothing was done.
 * @retval GP_ERR_SHUTDOWN      The process is exiting. Nothing was done.
 */
GP_API GP_NODISCARD gp_status gp_pool_destroy(gp_pool *pool);

/**
 * Destroy a pool although allocations are live, or arenas not released.
 *
 * The live allocations become invalid in stream order, after the work queued so
 * far on every stream that the pool was used on; with an arena, after all work of
 * the device, since its graph may be replayed on any stream. Their pointers must not be used or
 * freed again; a later gp_free_async() of one returns GP_ERR_NOT_OWNED.
 *
 * Everything else, the statuses but GP_ERR_BUSY included, is as in
 * gp_pool_destroy().
 */
GP_API GP_NODISCARD gp_status gp_pool_destroy_forced(gp_pool *pool);

/**
 * The pool that gp_alloc_async() uses for streams of one device.
 *
 * Created with the default config on first use; lives until the process ends.
 * It is gp's own: the device's default native pool is not touched.
 *
 * @param pool    [out] The pool.
 * @param device  Device ordinal, from 0.
 *
 * @retval GP_OK                    *pool is set.
 * @retval GP_ERR_INVALID_ARGUMENT  @p pool is NULL.
 * @retval others                   As gp_pool_create().
 *
 * Thread-safe. Mirrors cudaDeviceGetDefaultMemPool().
 */
GP_API GP_NODISCARD gp_status gp_default_pool(gp_pool **pool, int device);

/**
 * Allocate device memory in stream order, from the default pool of the stream's
 * device.
 *
 * Work submitted to @p stream after this call, and up to the matching
 * gp_free_async(), may use the block. Work on any other stream must first be
 * ordered after this call, with an event.
 *
 * The look-up goes thread cache (L1), stream cache (L2), commons, idle blocks of
 * other streams, native pool (L3).
 *
 * While @p stream captures, the call passes through to the native allocator and
 * becomes a memory node of the graph. Alignment is the native one then. Where the
 * driver allows no memory nodes, as in the body of a conditional node, its refusal is
 * returned, and what becomes of the capture is the driver's. It also judges later
 * whether a graph with memory nodes may be a child graph of another; gp takes no
 * part in that. In a pool with GP_CAPTURE_ARENA the call takes a block of the capture's
 * arena instead (gp/arena.h), which is valid until the arena is released, in the graph
 * and outside of it.
 *
 * Not to be called in a host function of a stream (cudaLaunchHostFunc,
 * cudaStreamAddCallback), where the driver allows no calls of it: gp may make some,
 * and cannot tell where it was called.
 *
 * @param ptr     [out] Device address, a multiple of 512. NULL if @p bytes is 0.
 *                Unchanged on failure.
 * @param bytes   Size wanted, in bytes. 0 is allowed and gives NULL, if the stream
 *                could be used.
 * @param stream  Stream that uses the block first. NULL, cudaStreamLegacy and
 *                cudaStreamPerThread are allowed.
 *
 * @retval GP_OK                    *ptr is set.
 * @retval GP_ERR_INVALID_ARGUMENT  @p ptr is NULL.
 * @retval GP_ERR_SIZE_OVERFLOW     @p bytes is more than any device holds.
 * @retval GP_ERR_INVALID_STREAM    @p stream is not a live stream. An attached
 *                                  stream is not asked.
 * @retval GP_ERR_OUT_OF_MEMORY     The device is full, also after a wait of at most
 *                                  10 ms for work under way, after every idle block
 *                                  of the pool was given back, after the other pools of
 *                                  the device, in this process, were asked for idle
 *                                  memory, and after the pool's on_pressure, if it has
 *                                  one, was asked; with each of these up to four such
 *                                  waits more. gp_last_error() has the
 *                                  figures.
 * @retval GP_ERR_LIMIT             The pool's max_bytes or max_fraction is reached, or the
 *                                  stream's budget, or only the headroom is left of the
 *                                  device; after the same steps as GP_ERR_OUT_OF_MEMORY.
 * @retval GP_ERR_CAPTURE           @p stream is the legacy stream and another
 *                                  stream captures, so it cannot be used now; or the
 *                                  driver takes no memory node into the capture. For
 *                                  an arena: the capture was invalidated, or the
 *                                  device is not past a native allocation yet.
 * @retval GP_ERR_OUT_OF_HOST_MEMORY  malloc failed.
 * @retval GP_ERR_UNSUPPORTED       The device has no memory pools, the stream is of
 *                                  another context than the device's primary one, or
 *                                  the driver supports no memory node in the graph
 *                                  that is captured.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN, GP_ERR_CUDA  See gp/status.h.
 *
 * Thread-safe.
 *
 * @see CUDA Programming Guide, "Stream-Ordered Memory Allocator", for the
 *      ordering rules this call keeps. Mirrors cudaMallocAsync().
 */
GP_API GP_NODISCARD gp_status gp_alloc_async(void **ptr, size_t bytes, cudaStream_t stream);

/**
 * Allocate device memory in stream order from a pool.
 *
 * As gp_alloc_async(), but from @p pool. Mirrors cudaMallocFromPoolAsync().
 *
 * @param ptr     [out] See gp_alloc_async().
 * @param bytes   See gp_alloc_async().
 * @param pool    Pool to allocate from; may be shared between threads.
 * @param stream  A stream of the pool's device.
 *
 * @retval GP_ERR_INVALID_POOL  @p pool is NULL or destroyed.
 * @retval GP_ERR_WRONG_DEVICE  @p stream belongs to another device.
 * @retval others               As gp_alloc_async().
 */
GP_API GP_NODISCARD gp_status gp_alloc_from_pool_async(void **ptr, size_t bytes, gp_pool *pool,
                                                       cudaStream_t stream);

/**
 * Allocate with a larger alignment than the pool's.
 *
 * @param alignment  A power of two from 1 byte to 2 MiB. Values up to the
 *                   pool's own alignment change nothing. Has no effect on a
 *                   memory node of a graph.
 *
 * The other parameters and the statuses are those of
 * gp_alloc_from_pool_async(); @retval GP_ERR_INVALID_ARGUMENT also if
 * @p alignment is not a power of two or too large.
 */
GP_API GP_NODISCARD gp_status gp_alloc_aligned_from_pool_async(void **ptr, size_t bytes,
                                                               size_t alignment, gp_pool *pool,
                                                               cudaStream_t stream);

/**
 * Free a block in stream order; the pool is found from the pointer.
 *
 * Every use of the block must be ordered before this call on @p stream, or have
 * been announced with gp_record_use(). @p stream need not be the stream of the
 * allocation. The block may be handed out again on @p stream at once, and on
 * another stream after what was queued so far on @p stream.
 *
 * While @p stream captures: a block that was allocated in a capture is freed by
 * a memory node of the graph. Any other block is parked, and free from the first
 * call of gp on @p stream after the capture; a graph that uses it must not be
 * replayed after that. If the calling thread never used @p stream with the block's
 * pool before the capture, the block stays parked until the pool is destroyed.
 *
 * A block that was allocated in a capture and is freed outside of one goes to the
 * native allocator, as with cudaFreeAsync(), whose rules hold for it.
 *
 * A block of an arena (GP_CAPTURE_ARENA) that is freed inside its capture may be
 * handed out again in the same capture, on the stream of the free only, whose work
 * comes after it in every replay. Freed anywhere else it is free for the caller,
 * and stays with the arena until that is released.
 *
 * Not to be called in a host function of a stream, as gp_alloc_async(). A free on an
 * attached stream that is a hit makes no driver call, but no caller can rely on a hit.
 *
 * After fork (in the child) and once the process exits, the call does nothing
 * and returns GP_OK: the memory is gone with the process.
 *
 * @param ptr     What an alloc call returned; NULL is allowed and does nothing.
 * @param stream  A stream of the block's device.
 *
 * @retval GP_OK                    The block is free, in stream order.
 * @retval GP_ERR_NOT_OWNED         gp never handed out @p ptr, or the memory was
 *                                  given back since.
 * @retval GP_ERR_INTERIOR_POINTER  @p ptr lies inside a block.
 * @retval GP_ERR_DOUBLE_FREE       The block at or around @p ptr is free already. Of
 *                                  two threads that free one small block within
 *                                  nanoseconds of each other, both may get GP_OK: the
 *                                  second free is dropped once the block is found to be
 *                                  in a cache twice, and gp_pool_stats counts it in
 *                                  late_double_frees. Builds with GP_CHECKS refuse it
 *                                  at once.
 * @retval GP_ERR_INVALID_STREAM    @p stream is not a live stream. An attached
 *                                  stream is not asked.
 * @retval GP_ERR_WRONG_DEVICE      @p stream belongs to another device.
 * @retval GP_ERR_CAPTURE           @p stream is the legacy stream and another
 *                                  stream captures.
 * @retval GP_ERR_OUT_OF_HOST_MEMORY  malloc failed, where this thread first meets
 *                                  @p stream or the block has to be parked. Any
 *                                  other free does without.
 * @retval GP_ERR_CUDA              A native call failed: one that asks about a checked
 *                                  stream, or one that orders the free after uses
 *                                  announced with gp_record_use().
 *
 * A refused free changes nothing: the block stays live. Thread-safe.
 *
 * Mirrors cudaFreeAsync().
 */
GP_API GP_NODISCARD gp_status gp_free_async(void *ptr, cudaStream_t stream);

/**
 * Bytes that may be used at @p ptr, which are at least the bytes asked for, and with
 * pass_through just those.
 *
 * @param ptr    Start of a live block.
 * @param bytes  [out] Its usable size.
 *
 * @retval GP_OK  *bytes is set.
 * @retval GP_ERR_INVALID_ARGUMENT  @p bytes is NULL.
 * @retval GP_ERR_NOT_OWNED, GP_ERR_INTERIOR_POINTER, GP_ERR_DOUBLE_FREE  As
 *         gp_free_async(). A memory node's block is not known here:
 *         GP_ERR_NOT_OWNED; so is one of a pool with pass_through in a forked child.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_usable_size(const void *ptr, size_t *bytes);

/**
 * Give idle memory back to the device.
 *
 * Flushes every thread cache, joins free neighbours, releases wholly free
 * segments until no more than @p min_bytes_to_keep are reserved, then trims the
 * native pool. Memory whose last use the device has not completed is skipped:
 * call again later. So is what a checked stream (gp/stream.h) that was used much
 * has freed since gp last left an event on it: that goes with a trim after the
 * next call on that stream. What is in quarantine goes too, once the device is past
 * its frees.
 *
 * @param pool               The pool.
 * @param min_bytes_to_keep  Reserved bytes to keep at least; 0 gives back all.
 *
 * @retval GP_OK                Done, also if nothing could be given back.
 * @retval GP_ERR_INVALID_POOL  NULL or destroyed.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h. Nothing was done.
 * @retval GP_ERR_CUDA          The native pool was not trimmed; what gp released
 *                              to it stays released.
 *
 * May take long (about 1 µs a MiB). Thread-safe. Mirrors cudaMemPoolTrimTo().
 */
GP_API GP_NODISCARD gp_status gp_pool_trim_to(gp_pool *pool, size_t min_bytes_to_keep);

/**
 * Give back all idle memory at once, because somebody else needs it now.
 *
 * As gp_pool_trim_to() down to 0, but work that is under way is waited for, up to 10 ms, so that
 * memory it uses goes too. For another allocator in the process, or another process, that cannot
 * ask by itself: call this where its allocation failed, and try that again. gp pools of one device
 * ask each other.
 *
 * @param pool  The pool.
 *
 * @retval GP_OK                Done, also if nothing could be given back: what is live, or in use
 *                              for longer, stays.
 * @retval GP_ERR_INVALID_POOL  NULL or destroyed.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h. Nothing was done.
 * @retval GP_ERR_CUDA          The native pool was not trimmed; what gp released
 *                              to it stays released.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_pool_release_now(gp_pool *pool);

/** One line of a plan for gp_pool_reserve(): @c count blocks of @c bytes each. */
typedef struct gp_reserve_entry {
    size_t bytes; /**< Size of a block as it will be asked for, at least 1. */
    size_t count; /**< How many of them will be live at once. */
} gp_reserve_entry;

/**
 * Have memory ready on a stream before it is asked for.
 *
 * Afterwards a program that holds no more than the planned blocks at once on
 * @p stream finds them without growing the pool.
 *
 * @param pool    The pool.
 * @param stream  The stream that will ask; not capturing.
 * @param plan    @p count entries.
 * @param count   Number of entries; 0 does nothing.
 *
 * @retval GP_OK                    The plan is met.
 * @retval GP_ERR_INVALID_ARGUMENT  @p plan is NULL, or an entry's bytes are 0.
 * @retval GP_ERR_CAPTURE           @p stream captures.
 * @retval others                   As gp_alloc_from_pool_async(). What was reserved
 *                                  until then stays cached.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_pool_reserve(gp_pool *pool, cudaStream_t stream,
                                              const gp_reserve_entry *plan, size_t count);

/**
 * gp_pool_reserve() of @p count blocks each of all powers of two from 512 bytes to 1 MiB.
 *
 * @param count  0 does nothing.
 *
 * Statuses and thread rule as gp_pool_reserve().
 */
GP_API GP_NODISCARD gp_status gp_pool_reserve_pow2(gp_pool *pool, cudaStream_t stream,
                                                   size_t count);

/**
 * Have memory ready for a run like one that was recorded.
 *
 * Reserves what each stream of the recording had live at its own peak, for all of them at once and
 * with a margin for what is lost between blocks, whatever streams they will be. A run that asks for
 * the same blocks on as many streams then finds them without a call of the native allocator,
 * alloc or free, however its streams are shifted against each other. What it reserved stays, as
 * gp_pool_config.initial_bytes do. Idle memory that the pool has in one piece is used first, so
 * that a second call with the same file adds nothing.
 *
 * @param pool  The pool.
 * @param path  A recording in the format of gp-bench, plain or gzipped. All of it is read and
 *              checked before anything is reserved.
 *
 * @retval GP_OK                      The memory is there.
 * @retval GP_ERR_INVALID_ARGUMENT    @p path is NULL or cannot be read, or a line of the file
 *                                    is wrong: gp_last_error() names it.
 * @retval GP_ERR_UNSUPPORTED         The file is gzipped, and there is no zlib (libz.so.1) on
 *                                    this machine.
 * @retval GP_ERR_INVALID_POOL        NULL or destroyed.
 * @retval GP_ERR_LIMIT               The pool's max_bytes or the headroom has no room for it.
 * @retval GP_ERR_OUT_OF_MEMORY, GP_ERR_OUT_OF_HOST_MEMORY, GP_ERR_CUDA,
 *         GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h. Part of it may be
 *         reserved.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_pool_warm_from_trace(gp_pool *pool, const char *path);

/**
 * The native pool behind a pool.
 *
 * @param pool    The pool.
 * @param native  [out] A cudaMemPool_t (on the simulated device: a pool of
 *                gp/sim.h). It stays gp's own: do not destroy it.
 *
 * @retval GP_OK                    *native is set.
 * @retval GP_ERR_INVALID_ARGUMENT  @p native is NULL.
 * @retval GP_ERR_INVALID_POOL      NULL or destroyed.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_pool_native_handle(gp_pool *pool, cudaMemPool_t *native);

/** Which backend a pool got, and the device's name, for reports. */
typedef struct gp_device_info {
    uint32_t struct_bytes;   /**< sizeof(gp_device_info); set by the caller. */
    gp_backend_kind backend; /**< GP_BACKEND_CUDA or GP_BACKEND_SIM. */
    int device;              /**< Ordinal. */
    char name[128];          /**< For example "NVIDIA H200", "simulated device". */
    size_t total_bytes;      /**< Memory of the device. */
} gp_device_info;

/**
 * Describe the device a pool stands on.
 *
 * @param pool  The pool.
 * @param info  [out] struct_bytes set by the caller.
 *
 * @retval GP_OK                    *info is filled.
 * @retval GP_ERR_INVALID_ARGUMENT  @p info is NULL.
 * @retval GP_ERR_VERSION_MISMATCH  info->struct_bytes is wrong.
 * @retval GP_ERR_INVALID_POOL      NULL or destroyed.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_pool_get_device(gp_pool *pool, gp_device_info *info);

#ifdef __cplusplus
}
#endif

#endif
