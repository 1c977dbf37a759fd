/*
 * The few native calls gp makes, behind one table, so that everything above it
 * runs on a GPU and on the simulated device alike.
 *
 * Two rules hold for every function here, in both implementations:
 *  - It may be called from any thread while any stream of the process captures,
 *    and invalidates no capture (DESIGN: rule 4). Where the driver would, the
 *    implementation stands inside a relaxed capture-mode exchange.
 *  - The user's current device and last CUDA error are left as they were found.
 *
 * Failures come back as gp_status from gp_status_from_native(), text set. No
 * output is written on failure. No function keeps a lock when it returns.
 */
#ifndef GP_SRC_BACKEND_H
#define GP_SRC_BACKEND_H

#include "gp/base.h"
#include "gp/pool.h"
#include "gp/status.h"

typedef struct gp_backend gp_backend;

/* A native event (CUevent, gp_sim_event). */
typedef struct gp_native_event_handle *gp_native_event;

typedef enum gp_capture_state {
    GP_CAPTURE_STATE_NONE,    /* Eager: work is submitted as it comes. */
    GP_CAPTURE_STATE_ACTIVE,  /* The stream captures, or its capture is invalidated. */
    GP_CAPTURE_STATE_IMPLICIT /* The legacy stream, while a blocking stream captures. */
} gp_capture_state;

/* What a stream is right now. */
typedef struct gp_stream_view {
    gp_capture_state capture;
    uint64_t id; /* Unique for the life of the process; valid when not capturing. */
} gp_stream_view;

typedef struct gp_native_usage {
    uint64_t reserved_bytes; /* Held by the native pool from the device. */
    uint64_t reserved_bytes_high;
    uint64_t used_bytes; /* Allocated from it. */
} gp_native_usage;

typedef struct gp_backend_ops {
    const char *name; /* "cuda", "sim" */
    gp_backend_kind kind;

    /* ---- without an instance ---- */

    /* GP_OK if the driver is there and has a device, else GP_ERR_UNSUPPORTED and
     * a text that says why. Remembered after the first call. */
    gp_status (*probe)(void);

    /* Device that a stream belongs to. Never called on a capturing stream. */
    gp_status (*stream_device)(cudaStream_t stream, int *device);

    /* Device that special handles (NULL, legacy, per-thread) mean in this thread. */
    gp_status (*current_device)(int *device);

    /* Capture state first, identity only if that is safe. */
    gp_status (*stream_inspect)(cudaStream_t stream, gp_stream_view *view);

    /* Which capture a capturing stream takes part in: an id that no other capture ever gets.
     * GP_ERR_CAPTURE: in none, or in one that was invalidated. */
    gp_status (*capture_id)(cudaStream_t stream, uint64_t *id);

    /* Take a device: its primary context is retained until close().
     * GP_ERR_UNSUPPORTED: no such device, or no memory pools on it. */
    gp_status (*open)(int device, gp_backend **backend);

    /* ---- on an instance ---- */

    void (*close)(gp_backend *backend);
    void (*describe)(gp_backend *backend, gp_device_info *info); /* fills name, total_bytes */

    /* A native pool on the device, threshold unlimited. max_bytes 0: no limit. */
    gp_status (*pool_create)(gp_backend *backend, size_t max_bytes, cudaMemPool_t *pool);
    gp_status (*pool_destroy)(gp_backend *backend, cudaMemPool_t pool);
    gp_status (*pool_trim)(gp_backend *backend, cudaMemPool_t pool, size_t min_bytes_to_keep);
    gp_status (*pool_usage)(gp_backend *backend, cudaMemPool_t pool, gp_native_usage *usage);
    gp_status (*pool_reset_peak)(gp_backend *backend, cudaMemPool_t pool);

    /* Stream-ordered; on a capturing stream both become graph nodes. */
    gp_status (*alloc)(gp_backend *backend, void **ptr, size_t bytes, cudaMemPool_t pool,
                       cudaStream_t stream);
    gp_status (*free)(gp_backend *backend, void *ptr, cudaStream_t stream);

    /* Optional: memory of no pool, ordered on no stream, as tools can be told the parts of. Any
     * stream may use it at once; the free is for memory that the device is past. NULL where
     * there is no such memory; the native pool's takes its place. */
    gp_status (*alloc_plain)(gp_backend *backend, void **ptr, size_t bytes);
    gp_status (*free_plain)(gp_backend *backend, void *ptr);

    /* Stream-ordered, for debug aids. Never called on a capturing stream. The copy's host memory is
     * of host_alloc(), so that the call does not wait for the stream. */
    gp_status (*fill)(gp_backend *backend, void *ptr, unsigned char value, size_t bytes,
                      cudaStream_t stream);
    gp_status (*copy_to_host)(gp_backend *backend, void *host, const void *ptr, size_t bytes,
                              cudaStream_t stream);

    /* Host memory that the device can write to. */
    gp_status (*host_alloc)(gp_backend *backend, void **host, size_t bytes);
    void (*host_free)(gp_backend *backend, void *host);

    gp_status (*event_create)(gp_backend *backend, gp_native_event *event);
    void (*event_destroy)(gp_backend *backend, gp_native_event event);
    /* Never called on a capturing stream. */
    gp_status (*event_record)(gp_backend *backend, gp_native_event event, cudaStream_t stream);
    gp_status (*event_query)(gp_backend *backend, gp_native_event event, bool *complete);
    /* Has the device completed everything that was queued on the stream? One call
     * for what a record and a query take two. Never called on a capturing stream. */
    gp_status (*stream_query)(gp_backend *backend, cudaStream_t stream, bool *complete);
    /* Wait until a stream of gp's own is done: the one kind of wait after which the
     * native pool gives freed memory back. Not done (the simulated device's manual
     * clock): *complete is false. */
    gp_status (*stream_synchronize)(gp_backend *backend, cudaStream_t stream, bool *complete);
    gp_status (*stream_wait)(gp_backend *backend, cudaStream_t stream, gp_native_event event);

    /* A non-blocking stream of gp's own, for releases whose stream is gone. */
    gp_status (*stream_create)(gp_backend *backend, cudaStream_t *stream);
    void (*stream_destroy)(gp_backend *backend, cudaStream_t stream);

    /* Wait for all work of the device. Only when a pool is destroyed whose memory
     * was freed on streams that gp cannot name any more. May fail in a capture. */
    gp_status (*synchronize)(gp_backend *backend);

    gp_status (*mem_info)(gp_backend *backend, size_t *free_bytes, size_t *total_bytes);

    /* The clock that time is measured with: the host's, or the simulated device's. No native
     * call. */
    uint64_t (*now_ns)(gp_backend *backend);

    /* Optional: what the hazard checker of the simulated device wants to hear.
     * NULL when nobody listens, so that the hot path pays one branch. */
    void (*note_alloc)(const void *ptr, size_t bytes, cudaStream_t stream);
    void (*note_free)(const void *ptr, cudaStream_t stream);
    void (*note_use)(const void *ptr, cudaStream_t stream);
} gp_backend_ops;

/* Implementations embed this as their first member. */
struct gp_backend {
    const gp_backend_ops *ops;
    int device;
};

const gp_backend_ops *gp_backend_cuda(void);
const gp_backend_ops *gp_backend_sim(void);

/* Handles that mean another stream in each thread or context. */
static inline bool gp_stream_is_special(cudaStream_t stream)
{
    return (uintptr_t)stream <= 2; /* NULL, cudaStreamLegacy, cudaStreamPerThread */
}

#endif
