/**
 * @file
 * Streams: the promise that makes the hot path free of driver calls, captures,
 * and blocks that are used on more than one stream.
 *
 * By default (a *checked* stream) each call asks the driver whether the stream
 * captures and who it is, about 40 ns. An *attached* stream spares that.
 *
 * A checked stream may be destroyed at any time, without a word to gp. Its first
 * frees are slower for that, by an event each, until it has proved to stay; a stream
 * that comes and goes is better attached and detached only if it frees many blocks.
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
 * stream takes part in. The promise is given for each pool on its own;
 * cudaStreamPerThread cannot be attached, since it is another stream in every
 * thread. NULL and cudaStreamLegacy can, but calls that name no pool go on
 * asking the driver, since they mean a stream of whatever device is current.
 *
 * @param pool    The pool the promise is given to; NULL for the default pool of
 *                the stream's device.
 * @param stream  A stream of the pool's device that does not capture now.
 *
 * @retval GP_OK                    Attached, or was already.
 * @retval GP_ERR_INVALID_ARGUMENT  The per-thread stream.
 * @retval GP_ERR_INVALID_POOL      @p pool is destroyed.
 * @retval GP_ERR_CAPTURE           @p stream captures, or is the legacy stream and
 *                                  another one captures.
 * @retval GP_ERR_INVALID_STREAM, GP_ERR_WRONG_DEVICE, GP_ERR_OUT_OF_HOST_MEMORY,
 *         GP_ERR_UNSUPPORTED, GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN, GP_ERR_CUDA
 *         As gp_alloc_from_pool_async().
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
 * @param pool    As in gp_stream_attach().
 * @param stream  The stream, which still exists and does not capture.
 *
 * @retval GP_OK                    Detached; the stream is checked again.
 * @retval GP_ERR_INVALID_ARGUMENT  It was not attached.
 * @retval GP_ERR_INVALID_POOL      @p pool is destroyed.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h.
 *
 * Thread-safe, but for other calls on @p stream.
 */
GP_API GP_NODISCARD gp_status gp_stream_detach(gp_pool *pool, cudaStream_t stream);

/**
 * Bound what one stream may hold of a pool.
 *
 * A stream holds the live large blocks (above gp_pool_config.large_bytes) that it allocated since
 * it has a budget, whoever frees them; all memory that its small blocks are cut from, which comes
 * in chunks of 2 MiB, or less where the budget has no room for that; and freed memory that it
 * keeps for itself. A request that would pass the budget is met from what the stream holds, or
 * after it has left what it keeps to others; else it fails with GP_ERR_LIMIT, also while the pool
 * has idle memory. Several threads that allocate on the stream at once may pass it by a request
 * each.
 *
 * Not what a capture takes. The budget ends with the stream; a stream that gp gives the cache of
 * an earlier one has in it what that one left live.
 *
 * @param pool    As in gp_stream_attach().
 * @param stream  A stream of the pool's device that does not capture now.
 * @param bytes   Most bytes; 0: no budget, whatever gp_pool_config.stream_budget_bytes is. What
 *                the stream holds beyond it already stays.
 *
 * @retval GP_OK                    Set.
 * @retval GP_ERR_INVALID_POOL      @p pool is destroyed.
 * @retval GP_ERR_CAPTURE           @p stream captures, or is the legacy stream and
 *                                  another one captures.
 * @retval GP_ERR_INVALID_STREAM, GP_ERR_WRONG_DEVICE, GP_ERR_OUT_OF_HOST_MEMORY,
 *         GP_ERR_UNSUPPORTED, GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN, GP_ERR_CUDA
 *         As gp_alloc_from_pool_async().
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_stream_set_budget(gp_pool *pool, cudaStream_t stream,
                                                   size_t bytes);

/**
 * Announce that an attached stream is about to capture.
 *
 * From now on, until gp_capture_end(), each call asks the driver; while the stream
 * does capture, allocations and frees become part of the capture. When
 * this returns, no thread uses the stream on gp's behalf any more. Checked streams
 * need no announcement.
 *
 * @retval GP_OK                    Announced, or was already.
 * @retval GP_ERR_INVALID_ARGUMENT  The stream is not attached.
 * @retval GP_ERR_INVALID_POOL      @p pool is destroyed.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_capture_begin(gp_pool *pool, cudaStream_t stream);

/** Announce that the capture of an attached stream has ended, after it has. Statuses
 *  and thread rule as gp_capture_begin(). */
GP_API GP_NODISCARD gp_status gp_capture_end(gp_pool *pool, cudaStream_t stream);

/** Most bytes of a stream's name, its end included. */
#define GP_STREAM_NAME_BYTES 24

/**
 * Give a stream a name, for reports and traces.
 *
 * Trace sinks get it with each event of the stream in this pool (gp/trace.h). The NVTX sink also
 * names the stream's row in the tool; gp names no stream of the user's by itself.
 *
 * @param pool    The pool; NULL for the default pool of the stream's device.
 * @param stream  A stream of the pool's device; not capturing.
 * @param name    Printable ASCII, 1 to 23 bytes; copied. It is the stream's, not the handle's: a
 *                new stream has none. NULL takes the name away.
 *
 * @retval GP_OK                    Done.
 * @retval GP_ERR_INVALID_ARGUMENT  @p name is empty, too long, or not printable ASCII.
 * @retval GP_ERR_CAPTURE           @p stream captures.
 * @retval others                   As gp_alloc_from_pool_async().
 *
 * Thread-safe. Each name that a pool hears for the first time takes host memory up to its end.
 */
GP_API GP_NODISCARD gp_status gp_stream_set_name(gp_pool *pool, cudaStream_t stream,
                                                 const char *name);

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
 * @retval GP_ERR_NOT_OWNED         No live block contains @p ptr; blocks that were
 *                                  allocated in a capture are not known here.
 * @retval GP_ERR_DOUBLE_FREE       The block is free.
 * @retval GP_ERR_CAPTURE           @p stream captures.
 * @retval GP_ERR_INVALID_STREAM, GP_ERR_WRONG_DEVICE, GP_ERR_OUT_OF_HOST_MEMORY,
 *         GP_ERR_CUDA, GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN
 *         As gp_alloc_from_pool_async().
 *
 * A failed call has recorded nothing: the block's free does not wait for the use.
 * Thread-safe. Costs an event record.
 */
GP_API GP_NODISCARD gp_status gp_record_use(void *ptr, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
