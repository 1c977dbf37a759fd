/**
 * @file
 * Streams: the promise that makes the hot path free of driver calls, captures,
 * and blocks that are used on more than one stream.
 *
 * By default (a *checked* stream) each call asks the driver whether the stream
 * captures and who it is, about 40 ns. An *attached* stream spares that.
 */
#ifndef GP_STREAM_H
#define GP_STREAM_H

#include "gp/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Promise to announce what happens to a stream, and get a hot path without
 * driver calls in return.
 *
 * Until gp_stream_detach() the caller does not destroy the stream, and calls
 * gp_capture_begin() before and gp_capture_end() after every capture that the
 * stream takes part in. May be called once per pool and stream;
 * cudaStreamPerThread cannot be attached, since it is another stream in every
 * thread.
 *
 * @param pool    The pool the promise is given to; NULL for the default pool of
 *                the stream's device.
 * @param stream  A stream of the pool's device that does not capture now.
 *
 * @retval GP_OK                    Attached, or was already.
 * @retval GP_ERR_INVALID_ARGUMENT  The per-thread stream.
 * @retval GP_ERR_INVALID_POOL      @p pool is destroyed.
 * @retval GP_ERR_INVALID_STREAM, GP_ERR_WRONG_DEVICE, GP_ERR_CAPTURE
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_stream_attach(gp_pool *pool, cudaStream_t stream);

/**
 * Take the promise back, before the stream is destroyed.
 *
 * Flushes the thread caches of the stream and leaves its idle memory to the
 * other streams, behind a fence. No other thread may be inside a gp call on this
 * stream. Live blocks of the stream stay valid.
 *
 * @retval GP_OK                    Detached; the stream is checked again.
 * @retval GP_ERR_INVALID_ARGUMENT  It was not attached.
 * @retval GP_ERR_INVALID_POOL      @p pool is destroyed.
 */
GP_API GP_NODISCARD gp_status gp_stream_detach(gp_pool *pool, cudaStream_t stream);

/**
 * Announce that an attached stream is about to capture.
 *
 * Until gp_capture_end() its calls pass through to the native allocator.
 * Checked streams need no announcement.
 *
 * @retval GP_OK
 * @retval GP_ERR_INVALID_ARGUMENT  The stream is not attached.
 */
GP_API GP_NODISCARD gp_status gp_capture_begin(gp_pool *pool, cudaStream_t stream);

/** Announce that the capture of an attached stream has ended. @see gp_capture_begin */
GP_API GP_NODISCARD gp_status gp_capture_end(gp_pool *pool, cudaStream_t stream);

/**
 * Announce that work already submitted to @p stream uses a block, so that the
 * block need not be ordered before its free on that stream.
 *
 * After gp_free_async() the block is not handed out again before the work
 * submitted to @p stream up to *this* call has completed or was waited for.
 *
 * @param ptr     Any address inside a live block.
 * @param stream  Another stream of the same device; not capturing.
 *
 * @retval GP_OK                    Recorded.
 * @retval GP_ERR_NOT_OWNED         No live block contains @p ptr.
 * @retval GP_ERR_DOUBLE_FREE       The block is free.
 * @retval GP_ERR_INVALID_STREAM, GP_ERR_WRONG_DEVICE, GP_ERR_CAPTURE
 * @retval GP_ERR_OUT_OF_HOST_MEMORY
 *
 * Thread-safe. Costs an event record.
 */
GP_API GP_NODISCARD gp_status gp_record_use(void *ptr, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
