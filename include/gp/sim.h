/**
 * @file
 * A simulated GPU: streams, events, memory pools, captures, faults, a clock, and
 * a hazard checker that proves stream order.
 *
 * It stands in for the CUDA driver where there is no GPU, so that gp and
 * pipelines built on gp can be tested anywhere. One machine per process, made
 * with default settings on first use or by gp_sim_reset(). A device has no real
 * memory: addresses are never dereferenced. What it tracks is *who touches which
 * bytes when*; of contents it knows what gp_sim_memset_async() filled.
 *
 * Native calls here mirror the CUDA driver API and return its codes (CUresult):
 * 0 success, 1 invalid value, 2 out of memory, 4 deinitialized, 101 invalid
 * device, 400 invalid handle, 401 illegal state, 600 not ready, 801 not
 * supported, 900 operation not permitted while capturing, 901 capture
 * invalidated, 902 two captures would merge, 903 not the stream that began the
 * capture, 904 a branch was not joined, 905 a capture would depend on eager work,
 * 906 implicit dependency on the legacy stream, 907 captured event, 908 not the
 * thread that began the capture. A call that fails has no effect, but for what
 * it does to captures.
 *
 * All functions are thread-safe. Addresses start at GP_SIM_BASE_ADDRESS.
 */
#ifndef GP_SIM_H
#define GP_SIM_H

#include "gp/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A native result code of the simulated driver, with CUresult's values. */
typedef int gp_sim_result;

/** A simulated event, as CUevent. */
typedef struct gp_sim_event_handle *gp_sim_event;

/** A gate: streams that meet it stop until it is opened. */
typedef struct gp_sim_gate_handle *gp_sim_gate;

/** A captured graph. */
typedef struct gp_sim_graph_handle *gp_sim_graph;

/** Handle values with a meaning of their own, as in CUDA. */
#define GP_SIM_STREAM_LEGACY ((cudaStream_t)(uintptr_t)0x1)
#define GP_SIM_STREAM_PER_THREAD ((cudaStream_t)(uintptr_t)0x2)

/** First address of the first device; device n starts n << 44 above it. */
#define GP_SIM_BASE_ADDRESS ((uintptr_t)0x700000000000)

/** How time passes. */
typedef enum gp_sim_clock {
    /** Native calls take the time that was measured for them, a synchronising
     *  call jumps to the end of the work it waits for. */
    GP_SIM_CLOCK_VIRTUAL = 0,
    /** Time passes only in gp_sim_advance(). A synchronising call on a stream
     *  whose work is not done returns 600 instead of waiting. */
    GP_SIM_CLOCK_MANUAL = 1
} gp_sim_clock;

/** How the machine is made. Fill it with gp_sim_config_init(). */
typedef struct gp_sim_config {
    uint32_t struct_bytes;
    int device_count;     /**< Default 1, at most 8. */
    size_t device_bytes;  /**< Capacity of each. Default 141 GiB. */
    size_t granularity;   /**< Pools grow in multiples of it. Default 32 MiB. */
    gp_sim_clock clock;   /**< Default GP_SIM_CLOCK_VIRTUAL. */
    bool pools_supported; /**< The memory-pools attribute. Default true. */
    bool check_hazards;   /**< Default true. */
    int driver_version;   /**< As cuDriverGetVersion. Default 13000. */
    size_t base_offset;   /**< Added to every pool allocation's address, a multiple of
                               256: allocations of a driver with poor alignment. Default 0. */
} gp_sim_config;

/** Fill a config with the defaults above. */
GP_API void gp_sim_config_init(gp_sim_config *config);

/**
 * Throw the machine away and make a new one.
 *
 * Every handle of the old one becomes invalid. Destroy gp's pools first.
 * @param config  NULL for the defaults.
 * @retval GP_OK
 * @retval GP_ERR_BUSY              A gp pool stands on the machine.
 * @retval GP_ERR_VERSION_MISMATCH, GP_ERR_INVALID_CONFIG, GP_ERR_OUT_OF_HOST_MEMORY
 */
GP_API GP_NODISCARD gp_status gp_sim_reset(const gp_sim_config *config);

/* ---- devices and clock ------------------------------------------------- */

/** The calling thread's current device (0 at first); NULL streams mean its. */
GP_API gp_sim_result gp_sim_set_device(int device);
GP_API int gp_sim_get_device(void);

/** The device clock in nanoseconds since the machine was made. */
GP_API uint64_t gp_sim_now_ns(void);

/** Let time pass; work that ends by then is complete afterwards. */
GP_API void gp_sim_advance(uint64_t ns);

/** Nanoseconds that the calling thread's native calls cost, under either clock;
 *  time spent waiting for the device is not among them. */
GP_API uint64_t gp_sim_thread_native_ns(void);

/* ---- streams ------------------------------------------------------------ */

/** Create a stream on the current device. The handle of the stream destroyed
 *  last is issued again first; its id is new. @p non_blocking as in CUDA. */
GP_API gp_sim_result gp_sim_stream_create(cudaStream_t *stream, bool non_blocking);

/** Destroy a stream at once; work it holds still runs to its end. */
GP_API gp_sim_result gp_sim_stream_destroy(cudaStream_t stream);

/** The unique id, never used again. Invalidates a capture of the stream (900). */
GP_API gp_sim_result gp_sim_stream_get_id(cudaStream_t stream, uint64_t *id);
/** The device; as gp_sim_stream_get_id() while the stream captures. */
GP_API gp_sim_result gp_sim_stream_get_device(cudaStream_t stream, int *device);

/** Wait until the stream's work is complete. Before a closed gate a virtual clock
 *  waits until another thread opens it. */
GP_API gp_sim_result gp_sim_stream_synchronize(cudaStream_t stream);
/** 0 when complete, 600 when not. */
GP_API gp_sim_result gp_sim_stream_query(cudaStream_t stream);
/** Wait until all work of the current device is complete. Not permitted (900), and
 *  fatal to the capture in every mode, while a stream of the device captures. */
GP_API gp_sim_result gp_sim_device_synchronize(void);

/** Make a stream wait for an event. */
GP_API gp_sim_result gp_sim_stream_wait_event(cudaStream_t stream, gp_sim_event event);

/* ---- work ---------------------------------------------------------------- */

/** Bytes a work item touches. */
typedef struct gp_sim_access {
    const void *base;
    size_t bytes;
    bool writes; /**< Else it only reads. */
} gp_sim_access;

/** Queue work that touches byte ranges for @p duration_ns of device time. The
 *  accesses are checked for hazards at this call. While capturing: a graph node. */
GP_API gp_sim_result gp_sim_launch(cudaStream_t stream, const gp_sim_access *accesses, size_t count,
                                   uint64_t duration_ns);

/** Queue a stop that lasts until gp_sim_gate_open(), or until the gate is destroyed. */
GP_API gp_sim_result gp_sim_gate_create(gp_sim_gate *gate);
GP_API gp_sim_result gp_sim_gate_wait(cudaStream_t stream, gp_sim_gate gate);
GP_API gp_sim_result gp_sim_gate_open(gp_sim_gate gate);
GP_API gp_sim_result gp_sim_gate_destroy(gp_sim_gate gate);

/* ---- events ---------------------------------------------------------------- */

GP_API gp_sim_result gp_sim_event_create(gp_sim_event *event);
GP_API gp_sim_result gp_sim_event_destroy(gp_sim_event event);
/** Record the stream's position. 400 if the event is of another device. */
GP_API gp_sim_result gp_sim_event_record(gp_sim_event event, cudaStream_t stream);
/** 0 complete or never recorded, 600 not yet. Not permitted (900), and fatal to
 *  the capture, while a global capture runs in the process or a thread-local one
 *  in this thread, unless the thread's mode is relaxed. */
GP_API gp_sim_result gp_sim_event_query(gp_sim_event event);
GP_API gp_sim_result gp_sim_event_synchronize(gp_sim_event event);

/* ---- memory ----------------------------------------------------------------- */

/** Create and destroy a pool on the current device. Destroying returns at once;
 *  memory goes as its blocks are freed and complete. */
GP_API gp_sim_result gp_sim_pool_create(cudaMemPool_t *pool);
GP_API gp_sim_result gp_sim_pool_destroy(cudaMemPool_t pool);
/** Bytes kept at synchronising calls. Default 0, as in CUDA. */
GP_API gp_sim_result gp_sim_pool_set_threshold(cudaMemPool_t pool, uint64_t bytes);
GP_API gp_sim_result gp_sim_pool_get_threshold(cudaMemPool_t pool, uint64_t *bytes);
/** Free whole granules to the device; pending frees are not trimmed. */
GP_API gp_sim_result gp_sim_pool_trim_to(cudaMemPool_t pool, size_t min_bytes_to_keep);

/** What a pool holds. */
typedef struct gp_sim_pool_usage {
    uint64_t reserved_bytes, reserved_bytes_high, used_bytes, used_bytes_high;
} gp_sim_pool_usage;
GP_API gp_sim_result gp_sim_pool_get_usage(cudaMemPool_t pool, gp_sim_pool_usage *usage);
GP_API gp_sim_result gp_sim_pool_reset_peak(cudaMemPool_t pool);

/** Stream-ordered allocation from a pool, as cuMemAllocFromPoolAsync: reuses a
 *  span freed on the same stream, else one whose free is complete or ordered
 *  before by events, else grows. A full device makes it unmap what this pool has
 *  free, but not what others have. While capturing: a graph allocation, at an
 *  address that no other allocation ever gets. */
GP_API gp_sim_result gp_sim_malloc_async(void **ptr, size_t bytes, cudaMemPool_t pool,
                                         cudaStream_t stream);
/** As cuMemFreeAsync: 1 for what is no live allocation. While capturing: 1 also for
 *  memory that is no graph's, and the capture goes on. */
GP_API gp_sim_result gp_sim_free_async(void *ptr, cudaStream_t stream);

/** Fill memory in stream order, as cuMemsetD8Async: work that writes. The bytes read
 *  as @p value until a launch writes to them, or they are freed; all else reads as 0.
 *  801 while capturing. */
GP_API gp_sim_result gp_sim_memset_async(void *ptr, unsigned char value, size_t bytes,
                                         cudaStream_t stream);
/** Copy memory to the host in stream order, as cuMemcpyDtoHAsync: work that reads. The
 *  bytes are in @p host once that is complete. 801 while capturing. */
GP_API gp_sim_result gp_sim_memcpy_to_host_async(void *host, const void *ptr, size_t bytes,
                                                 cudaStream_t stream);

/** Free and total bytes of the current device. */
GP_API gp_sim_result gp_sim_mem_get_info(size_t *free_bytes, size_t *total_bytes);

/** Take device memory for somebody else (another process). */
GP_API gp_sim_result gp_sim_set_foreign_bytes(int device, size_t bytes);

/* ---- captures ------------------------------------------------------------------ */

typedef enum gp_sim_capture_mode {
    GP_SIM_CAPTURE_GLOBAL = 0,
    GP_SIM_CAPTURE_THREAD_LOCAL = 1,
    GP_SIM_CAPTURE_RELAXED = 2
} gp_sim_capture_mode;

typedef enum gp_sim_capture_status {
    GP_SIM_CAPTURE_NONE = 0,
    GP_SIM_CAPTURE_ACTIVE = 1,
    GP_SIM_CAPTURE_INVALIDATED = 2
} gp_sim_capture_status;

GP_API gp_sim_result gp_sim_begin_capture(cudaStream_t stream, gp_sim_capture_mode mode);
/** 901 and no graph if the capture was invalidated. */
GP_API gp_sim_result gp_sim_end_capture(cudaStream_t stream, gp_sim_graph *graph);
/** Safe to ask at any time. 906 for the legacy stream while a blocking stream of
 *  its device captures. */
GP_API gp_sim_result gp_sim_stream_is_capturing(cudaStream_t stream, gp_sim_capture_status *status);
/** The same, and which capture it is: an id that no other one ever gets. *id is written
 *  only if the stream captures. */
GP_API gp_sim_result gp_sim_stream_get_capture_info(cudaStream_t stream,
                                                    gp_sim_capture_status *status, uint64_t *id);
/** As cuThreadExchangeStreamCaptureMode. */
GP_API gp_sim_result gp_sim_exchange_capture_mode(gp_sim_capture_mode *mode);
/** Run a graph's nodes on a stream; its accesses are checked for hazards. 1, and
 *  nothing ran, while memory that the graph allocates is live from an earlier launch. */
GP_API gp_sim_result gp_sim_graph_launch(gp_sim_graph graph, cudaStream_t stream);
GP_API gp_sim_result gp_sim_graph_destroy(gp_sim_graph graph);

/* ---- faults and counts ------------------------------------------------------------ */

/** The native functions that gp calls, and that can be made to fail. */
typedef enum gp_sim_function {
    GP_SIM_FN_POOL_CREATE,
    GP_SIM_FN_POOL_DESTROY,
    GP_SIM_FN_POOL_SET_THRESHOLD,
    GP_SIM_FN_POOL_GET_USAGE,
    GP_SIM_FN_POOL_TRIM,
    GP_SIM_FN_MALLOC,
    GP_SIM_FN_FREE,
    GP_SIM_FN_EVENT_CREATE,
    GP_SIM_FN_EVENT_DESTROY,
    GP_SIM_FN_EVENT_RECORD,
    GP_SIM_FN_EVENT_QUERY,
    GP_SIM_FN_STREAM_WAIT,
    GP_SIM_FN_STREAM_CREATE,
    GP_SIM_FN_STREAM_DESTROY,
    GP_SIM_FN_STREAM_IS_CAPTURING,
    GP_SIM_FN_STREAM_GET_ID,
    GP_SIM_FN_STREAM_GET_DEVICE,
    GP_SIM_FN_EXCHANGE_CAPTURE_MODE,
    GP_SIM_FN_MEM_GET_INFO,
    GP_SIM_FN_STREAM_QUERY,
    GP_SIM_FN_DEVICE_SYNCHRONIZE,
    GP_SIM_FN_STREAM_GET_CAPTURE_INFO,
    GP_SIM_FN_MEMSET,
    GP_SIM_FN_MEMCPY_TO_HOST,
    GP_SIM_FN_COUNT
} gp_sim_function;

/** Make calls number @p first to @p first + @p count - 1 of a function, counted
 *  from this call and from 1, fail with @p code. One rule a function; the
 *  function has no effect when it fails. @p count 0 removes the rule. */
GP_API void gp_sim_fail(gp_sim_function function, uint64_t first, uint64_t count,
                        gp_sim_result code);

/** Calls of a function so far, the failed ones included. */
GP_API uint64_t gp_sim_call_count(gp_sim_function function);

/** Calls that named a destroyed stream or event, a thing gp must never do. */
GP_API uint64_t gp_sim_dead_handle_count(void);

/** Handles that exist now, for leak checks. */
GP_API size_t gp_sim_live_events(void);
GP_API size_t gp_sim_live_pools(void);
GP_API size_t gp_sim_live_streams(void);

/** From now on every native call returns 4 (deinitialized). */
GP_API void gp_sim_shut_down(void);

/* ---- hazards ---------------------------------------------------------------------- */

/** What the checker can find. */
typedef enum gp_sim_hazard_kind {
    GP_SIM_HAZARD_BEFORE_ALLOC, /**< Access not ordered after the block's allocation. */
    GP_SIM_HAZARD_AFTER_FREE,   /**< Access to no live block, or not ordered before its free;
                                     native memory given back under a live block. */
    GP_SIM_HAZARD_EARLY_REUSE,  /**< Access concurrent with the range's previous life. */
    GP_SIM_HAZARD_OVERLAP,      /**< A block handed out over another live one. */
    GP_SIM_HAZARD_RACE          /**< Two accesses in one life, one a write, unordered. */
} gp_sim_hazard_kind;

/** One side of a hazard. */
typedef struct gp_sim_side {
    uint64_t stream_id; /**< Stream of the access, allocation or free. */
    uint64_t position;  /**< Its place in that stream's order, from 1. */
    uint64_t life;      /**< Number of the block's life, from 1; 0 for none. */
    uintptr_t base;     /**< First byte. */
    size_t bytes;
    bool writes;
} gp_sim_side;

typedef struct gp_sim_hazard {
    gp_sim_hazard_kind kind;
    gp_sim_side earlier; /**< What was there first. */
    gp_sim_side later;   /**< What ran into it. */
} gp_sim_hazard;

/**
 * Tell the checker that a block begins or ends its life. gp does so for every
 * block of a pool on the simulated device; code that uses the native calls
 * above need not, since they do it themselves.
 *
 * A block lies inside one native allocation. Once such a block was announced,
 * all bytes of that native allocation must be in one when they are touched. Say
 * that a block is free before anybody else can get its bytes.
 *
 * @p stream orders the life; gp_sim_note_use() adds a stream whose work so far
 * may still touch the block after its free. Nothing is noted of a capturing
 * stream.
 */
GP_API void gp_sim_note_alloc(const void *ptr, size_t bytes, cudaStream_t stream);
GP_API void gp_sim_note_free(const void *ptr, cudaStream_t stream);
GP_API void gp_sim_note_use(const void *ptr, cudaStream_t stream);

/** Hazards found since the machine was made: at most one for each range that a
 *  launch touches, the one that says most about its cause. */
GP_API uint64_t gp_sim_hazard_count(void);

/** Copy the first @p capacity hazards (at most 64 are kept); returns how many. */
GP_API size_t gp_sim_get_hazards(gp_sim_hazard *hazards, size_t capacity);

/** One line of text about a hazard, both sides named. @return bytes needed. */
GP_API int gp_sim_describe_hazard(const gp_sim_hazard *hazard, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
