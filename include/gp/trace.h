/**
 * @file
 * Trace sinks: who hears what a pool does, while it does it.
 *
 * A *sink* is a table of functions. A pool calls them for *ranges*, which begin and end on
 * one thread and nest there; for *marks*, which are a moment; for each block that goes to
 * a caller or comes back; and for *samples* of the pool's counters. What is called depends
 * on the sink's level: nothing, the slow path, or every allocation and free.
 *
 * Below GP_TRACE_ALL the hit of gp_alloc_async() and gp_free_async() executes not one
 * instruction more than without a sink.
 *
 * What a sink must keep to. It runs in the middle of gp's calls, on the thread of the call,
 * several threads at a time. It is called with no lock of gp's held, yet others may wait for
 * the caller to go on: whoever wants its thread cache, or waits for the pool to grow. So a sink
 *
 * - must not call gp, on any pool (GP_CHECKS=2 ends the process if it does),
 * - must not wait for a thread that may be inside gp; locks of its own are fine, if none
 *   of their holders calls gp,
 * - must not end its thread, nor leave by longjmp() or an exception,
 * - should take microseconds at most: write to a buffer, and let a thread of its own do
 *   what takes longer.
 *
 * Order. Of one block, everything is told in the order in which it happened, whichever
 * threads took part: a free before the block can go to anybody else, an allocation after
 * the free before it. So addresses can be matched in the order in which sinks' own locks or
 * clocks put the calls. Only nodes of a graph and blocks of an arena are told of after the fact:
 * of those, what one thread did comes in order.
 *
 * Sinks are not called in a forked child, nor once the process exits.
 */
#ifndef GP_TRACE_H
#define GP_TRACE_H

#include "gp/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How much a sink hears. */
typedef enum gp_trace_level {
    GP_TRACE_OFF = 0,  /**< Nothing but the names of streams. */
    GP_TRACE_SLOW = 1, /**< Ranges and marks of the slow path, samples. */
    GP_TRACE_ALL = 2   /**< Also every allocation, free and recorded use. */
} gp_trace_level;

/**
 * Where a block came from, or went to.
 *
 * Values are part of the ABI: new ones come before GP_TIER_COUNT, none is renumbered.
 */
typedef enum gp_tier {
    GP_TIER_NONE = 0,   /**< Nowhere: the allocation failed. */
    GP_TIER_L1 = 1,     /**< The thread cache, by a hit. */
    GP_TIER_L2 = 2,     /**< What the stream has; a free that is no hit. */
    GP_TIER_SHARED = 3, /**< The commons, or another stream's idle memory. */
    GP_TIER_WAITED = 4, /**< The same, behind a wait that was queued on the stream; a free: behind
                             the fences of its recorded uses. */
    GP_TIER_NATIVE = 5, /**< The pool grew for it; or the block is a native allocation by itself
                             (gp_pool_config.pass_through), and so is its free. */
    GP_TIER_NODE = 6,   /**< A memory node of a captured graph. */
    GP_TIER_ARENA = 7,  /**< The arena of a capture (gp/arena.h). */
    GP_TIER_PARKED = 8, /**< A free inside a capture, which waits for its end. */
    GP_TIER_COUNT
} gp_tier;

/**
 * What a range or a mark is about, with the meaning of its @c value.
 *
 * Values are part of the ABI: new ones come before GP_TRACE_KIND_COUNT, none is renumbered.
 */
typedef enum gp_trace_kind {
    /* Ranges at GP_TRACE_ALL. The block itself is told by alloc() or free(), inside. */
    GP_TRACE_ALLOC = 0, /**< An allocation that is no hit: bytes asked. */
    GP_TRACE_FREE = 1,  /**< A free that is no hit: bytes of the block. */

    /* Ranges at GP_TRACE_SLOW. */
    GP_TRACE_MISS = 2,         /**< Neither L1 nor L2 has what is asked for: bytes wanted, of the
                                    large block or of the chunk to cut small ones from. */
    GP_TRACE_REFILL = 3,       /**< L1 asks L2 for a batch: bytes of one block. */
    GP_TRACE_JOIN = 4,         /**< What was freed on the stream is joined: bytes wanted. */
    GP_TRACE_SHARE = 5,        /**< Other streams' idle memory is looked through: bytes wanted. */
    GP_TRACE_GROW = 6,         /**< The pool grows, this thread alone: bytes to be taken. */
    GP_TRACE_GROW_WAIT = 7,    /**< Another thread grows the pool, and this one waits. */
    GP_TRACE_NATIVE_ALLOC = 8, /**< A call to the native pool: bytes of the segment. */
    GP_TRACE_NATIVE_FREE = 9,  /**< Likewise. */
    GP_TRACE_NATIVE_WAIT = 10, /**< The host waits for gp's own stream. */
    GP_TRACE_NATIVE_TRIM = 11, /**< The native pool is trimmed: bytes to keep. */
    GP_TRACE_SQUEEZE = 12,   /**< Before the pool passes its peak, all that is idle is gathered. */
    GP_TRACE_RELEASE = 13,   /**< Wholly free segments go back: bytes the pool may keep. */
    GP_TRACE_FLUSH_ALL = 14, /**< Every thread cache is flushed. */
    GP_TRACE_TRIM = 15,      /**< gp_pool_trim_to(): bytes to keep. */
    GP_TRACE_RESERVE = 16,   /**< gp_pool_reserve(): entries of the plan. */
    GP_TRACE_OOM = 17,       /**< Growth failed, and the ladder is climbed: bytes wanted. Its
                                  steps are the ranges inside: FLUSH_ALL, OOM_WAIT, RELEASE,
                                  NATIVE_TRIM, NATIVE_ALLOC, PRESSURE. */
    GP_TRACE_OOM_WAIT = 18,  /**< A step: all rungs are tried while work is under way. */
    GP_TRACE_PRESSURE = 19,  /**< A step: the caller's on_pressure. What that does of the
                                  caller's own is inside, calls of gp too. */
    GP_TRACE_POOL_CREATE = 20, /**< For sinks that the pool's config names. */
    GP_TRACE_POOL_DESTROY = 21,

    /* Marks at GP_TRACE_SLOW. */
    GP_TRACE_FLUSH = 22,         /**< A thread sent blocks from L1 to L2: their bytes. */
    GP_TRACE_STREAM_WAIT = 23,   /**< A wait was queued on a stream for another's fence. */
    GP_TRACE_CAPTURE_BEGIN = 24, /**< gp_capture_begin(). */
    GP_TRACE_CAPTURE_END = 25,   /**< gp_capture_end(). */
    GP_TRACE_NODE_ALLOC = 26,    /**< An allocation became a node of a graph: bytes asked. */
    GP_TRACE_NODE_FREE = 27,     /**< A free did. */
    GP_TRACE_PARK = 28,          /**< A block was freed in a capture, and waits: its bytes. */
    GP_TRACE_UNPARK = 29,        /**< It is free now. */
    GP_TRACE_ARENA_TAKE = 30,    /**< An arena took memory of the pool: bytes. */
    GP_TRACE_ARENA_GIVE = 31,    /**< A released arena gave it back: bytes. */
    GP_TRACE_ALLOC_FAILED = 32,  /**< An allocation fails: bytes asked. */

    GP_TRACE_KIND_COUNT
} gp_trace_kind;

/** Is the kind a mark, of which there is no begin and no end? */
static inline bool gp_trace_kind_is_mark(gp_trace_kind kind)
{
    return kind >= GP_TRACE_FLUSH;
}

/** A range or a mark. Valid during the call only. */
typedef struct gp_trace_event {
    uint32_t struct_bytes; /**< sizeof(gp_trace_event) of the library. */
    gp_trace_kind kind;
    uint64_t value;      /**< See gp_trace_kind; 0 where it says nothing. */
    cudaStream_t stream; /**< The stream the call names; NULL also where it is about none. */
    uint64_t stream_id;  /**< Its unique id. 0: about no stream, or not known, as of one that
                              captures, which must not be asked. */
    uint32_t thread;     /**< Number of the calling thread: from 1, in no order, never reused. */

    /** What gp_stream_set_name() called the stream; NULL if nothing, or if it is not known. Valid
     *  as long as the pool. */
    const char *stream_name;
} gp_trace_event;

/** A block that goes to a caller, comes back, or is used. Valid during the call only. */
typedef struct gp_trace_block {
    uint32_t struct_bytes; /**< sizeof(gp_trace_block) of the library. */
    gp_status status;      /**< An allocation's result; else GP_OK. */
    const void *address;   /**< Of its start. NULL if the allocation failed. */
    size_t asked_bytes;    /**< As the caller asked; 0 for a free and a use, which do not say. */
    size_t block_bytes;    /**< The block's own. 0 if the allocation failed, or if it is a node of
                                a graph that is freed, whose size gp does not keep. */
    cudaStream_t stream;   /**< As the caller named it. */
    uint64_t stream_id;    /**< As in gp_trace_event. */
    gp_tier tier;          /**< GP_TIER_NONE for a use. */
    uint32_t thread;       /**< As in gp_trace_event. */

    const char *stream_name; /**< As in gp_trace_event. */
} gp_trace_block;

/** Counters of a pool at a moment; as in gp_pool_stats, but for all threads' at about the time. */
typedef struct gp_trace_sample {
    uint32_t struct_bytes;   /**< sizeof(gp_trace_sample) of the library. */
    uint64_t live_bytes;     /**< Held by callers and arenas. */
    uint64_t cached_bytes;   /**< Free inside gp. */
    uint64_t reserved_bytes; /**< Held from the native pool. */
    uint64_t requests;       /**< Allocations served so far. */
    uint64_t l1_hits;        /**< Of these, by L1, */
    uint64_t l2_hits;        /**< and by L2. */
} gp_trace_sample;

/** The pool that a sink is attached to. */
typedef struct gp_trace_pool {
    uint32_t struct_bytes; /**< sizeof(gp_trace_pool) of the library. */
    uint32_t number;       /**< Of the pool in its process: from 1, never reused. */
    int device;            /**< Ordinal. */
    const char *policy;    /**< Its name; valid as long as the sink is attached. */
} gp_trace_pool;

/** A stream that got a name. Valid during the call only. */
typedef struct gp_trace_stream {
    uint32_t struct_bytes; /**< sizeof(gp_trace_stream) of the library. */
    cudaStream_t stream;
    uint64_t stream_id; /**< 0 for gp's own. */
    const char *name;   /**< Not empty. */
} gp_trace_stream;

/** Memory that a pool holds. Valid during the call only. */
typedef struct gp_trace_segment {
    uint32_t struct_bytes; /**< sizeof(gp_trace_segment) of the library. */
    const void *address;
    size_t bytes;
} gp_trace_segment;

/**
 * A sink. A const table, returned by an accessor; the pool copies it.
 *
 * Every slot but struct_bytes and name is optional; NULL means that nobody wants to hear it.
 * Slots that a table built against an older header does not have are NULL.
 */
typedef struct gp_trace_sink {
    uint32_t struct_bytes; /**< sizeof(gp_trace_sink) the sink was built with. */
    const char *name;      /**< For messages. */

    /**
     * The sink is about to be attached to a pool. What it puts into *state is handed to all
     * other functions; without this slot that is the @p user of gp_trace_attach(). May block,
     * must not call gp.
     * @return GP_OK; anything else is what gp_trace_attach() returns.
     */
    gp_status (*open)(void **state, const gp_trace_pool *pool, void *user);

    /** The sink is detached: no thread is in any other function with this state, nor will be. */
    void (*close)(void *state);

    /**
     * A range begins; ranges of one thread in one pool nest. Each begin is followed by its end, on
     * the same thread, even if the level is lowered between them, unless the sink is detached
     * between them.
     */
    void (*begin)(void *state, const gp_trace_event *range);

    /** A range ends; @p range as at its begin. */
    void (*end)(void *state, const gp_trace_event *range);

    void (*mark)(void *state, const gp_trace_event *mark);

    /**
     * An allocation was served, or failed (@c status). Not called for zero bytes, of which
     * there is no block, nor where the pool or the stream could not be found out. Nodes of a
     * graph and blocks of an arena are told as they are captured, once, and not when
     * the graph is launched. gp_pool_reserve() takes and gives back its blocks as a caller
     * would.
     */
    void (*alloc)(void *state, const gp_trace_block *block);

    /**
     * A block is about to be free. Not called for NULL, nor for a free that is refused. A block
     * freed in a capture is told then, as parked, and not again when the capture has ended.
     * Those that a forced end of the pool, or the release of an arena, takes are not told.
     */
    void (*free)(void *state, const gp_trace_block *block);

    /** gp_record_use(). */
    void (*use)(void *state, const gp_trace_block *block);

    /** Counters, at the end of some ranges of the slow path and, at GP_TRACE_ALL, of allocations;
     *  at most every gp_pool_config.trace_sample_us. */
    void (*sample)(void *state, const gp_trace_sample *sample);

    /** A stream of gp's own was made, or gp_stream_set_name() was called. At any level. Whoever
     *  is attached later hears the name of gp's own stream then, and others hear it again. */
    void (*name_stream)(void *state, const gp_trace_stream *stream);

    /**
     * At GP_TRACE_ALL: the pool took memory from the device, which blocks are going to lie in.
     * Nodes of a graph lie in the graph's own.
     */
    void (*take_segment)(void *state, const gp_trace_segment *segment);

    /** At GP_TRACE_ALL: the memory is about to go back. If it cannot, it is taken again. */
    void (*give_segment)(void *state, const gp_trace_segment *segment);
} gp_trace_sink;

/** Sinks that a pool can have at once, those over NVTX included. */
#define GP_TRACE_MOST_SINKS 4

/**
 * Attach a sink to a pool.
 *
 * Calls that are in progress may be heard from the middle: of a range that has begun, neither
 * begin nor end.
 *
 * @param pool   The pool.
 * @param sink   Copied; its address, together with @p user, names the attachment from here on.
 * @param user   Handed to open(), or to all functions if there is no such slot.
 * @param level  What it hears.
 *
 * @retval GP_OK                    Attached.
 * @retval GP_ERR_INVALID_ARGUMENT  @p sink is NULL or has no name, @p level is none, or the same
 *                                  @p sink is attached with this @p user already.
 * @retval GP_ERR_VERSION_MISMATCH  sink->struct_bytes is not one this library knows.
 * @retval GP_ERR_INVALID_POOL      NULL or destroyed.
 * @retval GP_ERR_BUSY              The pool has GP_TRACE_MOST_SINKS already.
 * @retval GP_ERR_OUT_OF_HOST_MEMORY  malloc failed.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h.
 * @retval others                   As open() returned. On any failure nothing is attached.
 *
 * Thread-safe, but not to be called while the pool is being destroyed.
 */
GP_API GP_NODISCARD gp_status gp_trace_attach(gp_pool *pool, const gp_trace_sink *sink, void *user,
                                              gp_trace_level level);

/**
 * Change what an attached sink hears.
 *
 * When it returns, no thread is inside a function of the sink that the new level leaves out, but
 * for end(): ranges that have begun are ended. The pool's destruction detaches all sinks.
 *
 * @retval GP_OK                    Changed.
 * @retval GP_ERR_INVALID_ARGUMENT  @p level is none, or the sink is not attached with @p user.
 * @retval GP_ERR_INVALID_POOL, GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  As gp_trace_attach().
 *
 * Thread rule as gp_trace_attach(). The caller holds no lock that the sink takes.
 */
GP_API GP_NODISCARD gp_status gp_trace_set_level(gp_pool *pool, const gp_trace_sink *sink,
                                                 void *user, gp_trace_level level);

/**
 * Detach a sink.
 *
 * Waits until no thread is inside any of its functions; when this returns, none will be again,
 * and close() was called. Ranges that have begun are not ended.
 *
 * Statuses and thread rule as gp_trace_set_level().
 */
GP_API GP_NODISCARD gp_status gp_trace_detach(gp_pool *pool, const gp_trace_sink *sink, void *user);

/**
 * The sink that shows a pool in NVIDIA's tools, over NVTX: docs/nsight.md.
 *
 * A pool attaches it by itself, with the level of its config: gp_pool_config.trace_level,
 * gp_pool_set_trace_level().
 *
 * @return The sink; NULL if gp was built without. It cannot be attached, but returns
 *         GP_ERR_UNSUPPORTED, if no tool is there.
 */
GP_API const gp_trace_sink *gp_trace_nvtx(void);

/**
 * The sink that tells NVIDIA's memory checker of a pool's blocks, over NVTX.
 *
 * Pools with gp_pool_config.annotate_memory attach it by themselves.
 *
 * @return The sink; NULL if gp was built without. It can be attached whether a tool is there or
 * not, and only to a pool that holds no memory yet.
 */
GP_API const gp_trace_sink *gp_trace_nvtx_memory(void);

/**
 * Change how much of a pool NVIDIA's tools show.
 *
 * @param pool   The pool.
 * @param level  What they show from now on; ranges that have begun are ended. GP_TRACE_OFF
 *               costs nothing afterwards, even with a tool.
 *
 * @retval GP_OK                    Changed; also if no tool is attached to the process, or gp was
 *                                  built without NVTX, when nothing is shown at any level. A tool
 *                                  cannot be attached later.
 * @retval GP_ERR_INVALID_ARGUMENT  @p level is none.
 * @retval others                   As gp_trace_attach().
 *
 * Thread-safe, but not to be called while the pool is being destroyed.
 */
GP_API GP_NODISCARD gp_status gp_pool_set_trace_level(gp_pool *pool, gp_trace_level level);

#ifdef __cplusplus
}
#endif

#endif
