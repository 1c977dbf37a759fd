/*
 * The CUDA backend, as its files see it: the frame that each call of the driver is made in, and
 * the ops by what they are about. Each op is as backend.h says.
 */
#ifndef GP_SRC_CUDA_BACKEND_H
#define GP_SRC_CUDA_BACKEND_H

#include "backend.h"
#include "cuda_context.h"
#include "cuda_driver.h"
#include "cuda_status.h"
#include "error.h"

typedef struct gp_cuda_backend {
    gp_backend base;
    gp_cu_context context; /* The device's primary one, retained. */
    unsigned long long context_id;
} gp_cuda_backend;

/* GP_ERR_SHUTDOWN if the device was reset since the backend was opened. */
gp_status gp_cuda_check_life(const gp_cuda_backend *self);

/* Make the device's context current, in relaxed capture mode. Likewise. */
gp_status gp_cuda_enter(gp_backend *backend, gp_cuda_frame *frame);

/* Undo that; the status of the driver's `result`, with a text that names the `call`. */
gp_status gp_cuda_leave(gp_cuda_frame *frame, int result, const char *call);

/* The same for a question whether the device is past something. */
gp_status gp_cuda_leave_question(gp_cuda_frame *frame, int result, const char *call,
                                 bool *complete);

static inline gp_cu_event gp_cuda_event_of(gp_native_event event)
{
    return (gp_cu_event)(void *)event;
}

/* ---- streams ---- */

gp_status gp_cuda_stream_inspect(cudaStream_t stream, gp_stream_view *view);
gp_status gp_cuda_capture_id(cudaStream_t stream, uint64_t *id);
gp_status gp_cuda_current_device(int *device);
gp_status gp_cuda_stream_device(cudaStream_t stream, int *device);
gp_status gp_cuda_stream_create(gp_backend *backend, cudaStream_t *stream);
void gp_cuda_stream_destroy(gp_backend *backend, cudaStream_t stream);
gp_status gp_cuda_synchronize(gp_backend *backend);
gp_status gp_cuda_stream_query(gp_backend *backend, cudaStream_t stream, bool *complete);
gp_status gp_cuda_stream_synchronize(gp_backend *backend, cudaStream_t stream, bool *complete);

/* ---- events ---- */

gp_status gp_cuda_event_create(gp_backend *backend, gp_native_event *event);
void gp_cuda_event_destroy(gp_backend *backend, gp_native_event event);
gp_status gp_cuda_event_record(gp_backend *backend, gp_native_event event, cudaStream_t stream);
gp_status gp_cuda_stream_wait(gp_backend *backend, cudaStream_t stream, gp_native_event event);
gp_status gp_cuda_event_query(gp_backend *backend, gp_native_event event, bool *complete);

/* ---- memory ---- */

gp_status gp_cuda_alloc(gp_backend *backend, void **ptr, size_t bytes, cudaMemPool_t pool,
                        cudaStream_t stream);
gp_status gp_cuda_free(gp_backend *backend, void *ptr, cudaStream_t stream);
gp_status gp_cuda_alloc_plain(gp_backend *backend, void **ptr, size_t bytes);
gp_status gp_cuda_free_plain(gp_backend *backend, void *ptr);
gp_status gp_cuda_fill(gp_backend *backend, void *ptr, unsigned char value, size_t bytes,
                       cudaStream_t stream);
gp_status gp_cuda_copy_to_host(gp_backend *backend, void *host, const void *ptr, size_t bytes,
                               cudaStream_t stream);
gp_status gp_cuda_host_alloc(gp_backend *backend, void **host, size_t bytes);
void gp_cuda_host_free(gp_backend *backend, void *host);
gp_status gp_cuda_mem_info(gp_backend *backend, size_t *free_bytes, size_t *total_bytes);

/* ---- pools ---- */

gp_status gp_cuda_pool_create(gp_backend *backend, size_t max_bytes, cudaMemPool_t *pool);
gp_status gp_cuda_pool_destroy(gp_backend *backend, cudaMemPool_t pool);
gp_status gp_cuda_pool_trim(gp_backend *backend, cudaMemPool_t pool, size_t min_bytes_to_keep);
gp_status gp_cuda_pool_usage(gp_backend *backend, cudaMemPool_t pool, gp_native_usage *usage);
gp_status gp_cuda_pool_reset_peak(gp_backend *backend, cudaMemPool_t pool);

#endif
