/*
 * The device as the harness, the examples and the GPU tests see it: streams,
 * kernels, captures and the native allocator behind one table, for a CUDA
 * device and for the simulated one alike. Nothing here goes through gp, so it
 * can be gp's opponent in a benchmark and its witness in a test.
 *
 * CUDA is loaded at run time: no toolkit is needed to build or to start.
 *
 * Results are device_result: 0, or a CUresult (the simulated device uses the
 * same values), or DEVICE_UNAVAILABLE. After a failure device_error() has the
 * text. Outputs are written on success only.
 *
 * Threads: every function may be called from any thread. A thread calls
 * set_current() before anything else on a device, and leave() before it ends.
 *
 * Kernels and special handles: where a function takes a stream, NULL,
 * DEVICE_STREAM_LEGACY and DEVICE_STREAM_PER_THREAD mean what they mean in CUDA.
 */
#ifndef GP_BENCH_DEVICE_H
#define GP_BENCH_DEVICE_H

#include "gp/pool.h"

typedef int device_result;

enum {
    DEVICE_OK = 0,
    DEVICE_INVALID_VALUE = 1,
    DEVICE_OUT_OF_MEMORY = 2,
    DEVICE_NOT_READY = 600,
    DEVICE_NOT_SUPPORTED = 801,
    DEVICE_UNAVAILABLE = -1, /* No driver, no device, or a function is missing. */
    DEVICE_TIMED_OUT = -2    /* A gate gave up waiting. */
};

#define DEVICE_STREAM_LEGACY ((cudaStream_t)(uintptr_t)1)
#define DEVICE_STREAM_PER_THREAD ((cudaStream_t)(uintptr_t)2)

typedef struct device_event_handle *device_event;
typedef struct device_graph_handle *device_graph;
typedef struct device_gate_handle *device_gate;

typedef enum device_capture_mode {
    DEVICE_CAPTURE_GLOBAL = 0,
    DEVICE_CAPTURE_THREAD_LOCAL = 1,
    DEVICE_CAPTURE_RELAXED = 2
} device_capture_mode;

typedef enum device_capture_status {
    DEVICE_CAPTURE_NONE = 0,
    DEVICE_CAPTURE_ACTIVE = 1,
    DEVICE_CAPTURE_INVALIDATED = 2
} device_capture_status;

/* What a native pool holds, by its own account. */
typedef struct device_pool_usage {
    uint64_t reserved_bytes;
    uint64_t reserved_bytes_high;
    uint64_t used_bytes;
} device_pool_usage;

typedef struct device_ops {
    const char *name;     /* "cuda" or "sim", as in --device */
    gp_backend_kind kind; /* for gp_pool_config.backend */

    /* ---- the device ---- */

    /* Load the driver and the kernels for one device, and make it current in the
     * calling thread. May be called again; close() once for each open(). */
    device_result (*open)(int device);
    void (*close)(int device);

    device_result (*set_current)(int device); /* of the calling thread; open()ed before */
    void (*leave)(void);                      /* drops what the calling thread holds */

    device_result (*get_name)(int device, char *name, size_t capacity);
    device_result (*mem_info)(size_t *free_bytes, size_t *total_bytes); /* current device */
    device_result (*synchronize)(void);                                 /* current device */

    /* ---- clocks ---- */

    /* The clock on which device work takes time, in nanoseconds: the host's
     * monotonic clock on a GPU, the virtual clock on the simulated device. */
    uint64_t (*now_ns)(void);
    /* Simulated time that native calls of this thread took; 0 on a GPU, where it
     * is part of the measured time. */
    uint64_t (*native_call_ns)(void);

    /* ---- streams ---- */

    device_result (*stream_create)(cudaStream_t *stream, bool non_blocking);
    device_result (*stream_destroy)(cudaStream_t stream); /* does not wait */
    device_result (*stream_synchronize)(cudaStream_t stream);
    device_result (*stream_query)(cudaStream_t stream); /* DEVICE_NOT_READY while busy */

    device_result (*event_create)(device_event *event);
    device_result (*event_destroy)(device_event event);
    device_result (*event_record)(device_event event, cudaStream_t stream);
    device_result (*event_query)(device_event event); /* DEVICE_NOT_READY while pending */
    device_result (*event_synchronize)(device_event event);
    device_result (*stream_wait)(cudaStream_t stream, device_event event);

    /* ---- work (queued; captured as graph nodes while the stream captures) ---- */

    /* Write the whole block; takes at least duration_ns of device time. */
    device_result (*touch)(cudaStream_t stream, void *ptr, size_t bytes, uint64_t duration_ns);

    /* One layer of a model: read `in`, write `out` and `workspace`, all of them
     * `bytes` long, for at least cost_ns. workspace may be NULL. */
    device_result (*compute)(cudaStream_t stream, const void *in, void *out, void *workspace,
                             size_t bytes, uint64_t cost_ns);

    /* Set every byte of a block. */
    device_result (*fill)(cudaStream_t stream, void *ptr, size_t bytes, uint8_t value);

    /* Compare every byte of a block; the wrong ones add to mismatches(). On the
     * simulated device, which has no contents, a checked read: see hazards(). */
    device_result (*check)(cudaStream_t stream, const void *ptr, size_t bytes, uint8_t value);

    /* Wrong bytes found so far by the checks that have completed: synchronise
     * first. Only ever grows. Makes no native call. Always 0 on the simulated device. */
    uint64_t (*mismatches)(void);

    /* Hazards found so far (gp/sim.h); -1 on a GPU. */
    int64_t (*hazards)(void);

    /* A stop in a stream until gate_open(). A watchdog opens it after ten seconds
     * on a GPU, so that a failed test cannot hang the device; gate_destroy(), to be
     * called once the stream has passed the gate, then returns DEVICE_TIMED_OUT. */
    device_result (*gate_create)(device_gate *gate);
    device_result (*gate_wait)(cudaStream_t stream, device_gate gate);
    device_result (*gate_open)(device_gate gate);
    device_result (*gate_destroy)(device_gate gate);

    /* ---- captures ---- */

    device_result (*capture_begin)(cudaStream_t stream, device_capture_mode mode);
    /* Ends the capture and makes the graph ready to launch. Error 901, and no
     * graph, if the capture was invalidated. */
    device_result (*capture_end)(cudaStream_t stream, device_graph *graph);
    device_result (*capture_query)(cudaStream_t stream, device_capture_status *status);
    device_result (*graph_launch)(device_graph graph, cudaStream_t stream);
    device_result (*graph_destroy)(device_graph graph);

    /* ---- the native allocator ---- */

    /* A pool on the current device, release threshold unlimited. */
    device_result (*pool_create)(cudaMemPool_t *pool);
    device_result (*pool_destroy)(cudaMemPool_t pool);
    device_result (*pool_alloc)(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
    device_result (*pool_free)(void *ptr, cudaStream_t stream);
    device_result (*pool_get_usage)(cudaMemPool_t pool, device_pool_usage *usage);
    device_result (*pool_reset_peak)(cudaMemPool_t pool);
    device_result (*pool_trim_to)(cudaMemPool_t pool, size_t min_bytes_to_keep);
    device_result (*pool_set_threshold)(cudaMemPool_t pool, uint64_t bytes);
    device_result (*pool_get_threshold)(cudaMemPool_t pool, uint64_t *bytes);

    /* The device's default pool and the one cudaMallocAsync uses now. The
     * simulated device has neither: DEVICE_NOT_SUPPORTED. */
    device_result (*default_pool)(int device, cudaMemPool_t *pool);
    device_result (*current_pool)(int device, cudaMemPool_t *pool);

    /* Memory outside every pool (cudaMalloc, cudaFree). */
    device_result (*plain_alloc)(void **ptr, size_t bytes);
    device_result (*plain_free)(void *ptr);

    /* ---- matrix product (cuBLAS, if its library is there) ---- */

    /* c (m x n) = a (m x k) * b (k x n), float, row-major, dense. workspace may be
     * NULL: cuBLAS then allocates its own. NULL slot: the device has no gemm at
     * all; has_gemm() false: the library was not found. */
    bool (*has_gemm)(void);
    device_result (*gemm)(cudaStream_t stream, float *c, const float *a, const float *b, int m,
                          int n, int k, void *workspace, size_t workspace_bytes);
} device_ops;

/* Both are always there; open() says whether the device is. */
const device_ops *device_cuda(void);
const device_ops *device_sim(void);

/*
 * Open a device by name: "cuda", "sim", or "auto" for the GPU if there is one.
 * NULL if the name is unknown or open() failed: see device_error().
 */
const device_ops *device_open(const char *name, int device);

/* Text of the calling thread's last failure here: "<call>: <name> (<code>)". */
const char *device_error(void);

#endif
