/**
 * @file
 * Recordings: every allocation and free of a pool, in a file that gp-bench plays back.
 *
 * While a pool is recorded, each thread that allocates or frees in it notes its calls in a ring
 * of its own (16384 calls, half a MiB), and a thread of gp's writes them to the file, in the order
 * in which they happened: docs/trace-format.md in gp's source has the format, and says what can
 * be relied on. Recording never makes a call wait. If a ring is full because the file is too slow
 * or has no room, or if more than 256 threads need one, calls are not noted; they are counted,
 * and the file and gp_trace_stop() say how many.
 *
 * Calls inside a capture are not recorded, but counted: as nodes of a graph, or blocks of its
 * arena, they are not what the pool serves when the program runs on.
 */
#ifndef GP_RECORD_H
#define GP_RECORD_H

#include "gp/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a recording holds, and what it lacks. */
typedef struct gp_trace_totals {
    uint32_t struct_bytes;    /**< In: sizeof(gp_trace_totals). */
    uint64_t recorded_events; /**< Allocations and frees in the file. */
    uint64_t dropped_events;  /**< Not in the file: no room, or it could not be written. */
    uint64_t captured_events; /**< Not in the file: made inside a capture. */
} gp_trace_totals;

/**
 * Record a pool, from now until gp_trace_stop(), the pool's end or the process's.
 *
 * Blocks that are live now are in the file only if they are freed while it is recorded.
 * Takes 10 ms the first time, to measure a clock.
 *
 * @param pool  The pool. It takes one of its places for trace sinks (gp/trace.h).
 * @param path  Of the file, which is made, or emptied if it is there. A regular file: if writing
 *              to it never ends, neither does gp_trace_stop(), nor exit().
 *
 * @retval GP_OK                    Recording.
 * @retval GP_ERR_INVALID_ARGUMENT  @p path is NULL.
 * @retval GP_ERR_INVALID_POOL      NULL or destroyed.
 * @retval GP_ERR_BUSY              The pool is recorded already, or has as many trace sinks as it
 *                                  can have.
 * @retval GP_ERR_IO                The file cannot be opened or written; gp_last_error() says why.
 * @retval GP_ERR_OUT_OF_HOST_MEMORY  malloc failed, or no thread could be started.
 * @retval GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  See gp/status.h.
 *
 * On failure nothing is recorded; the file may have been made.
 * Thread-safe, but not to be called while the pool is being destroyed.
 */
GP_API GP_NODISCARD gp_status gp_trace_start(gp_pool *pool, const char *path);

/**
 * End a recording: when this returns, the file is complete and closed.
 *
 * Calls that other threads make meanwhile are recorded or not. A pool that is destroyed, and a
 * process that exits, end their recordings as well; then nobody is told the totals, but the
 * file has them. A process that ends in any other way leaves a file without its last line, which
 * gp-bench refuses.
 *
 * @param pool    The pool.
 * @param totals  [in,out] May be NULL. Set on success, and with GP_ERR_IO.
 *
 * @retval GP_OK                    Complete.
 * @retval GP_ERR_INVALID_ARGUMENT  The pool is not recorded.
 * @retval GP_ERR_VERSION_MISMATCH  totals->struct_bytes is not one this library knows. The
 *                                  recording goes on.
 * @retval GP_ERR_IO                Writing failed at some point, so that the file lacks its end.
 *                                  The recording is over.
 * @retval GP_ERR_INVALID_POOL, GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN  As gp_trace_start().
 *
 * Thread rule as gp_trace_start().
 */
GP_API GP_NODISCARD gp_status gp_trace_stop(gp_pool *pool, gp_trace_totals *totals);

#ifdef __cplusplus
}
#endif

#endif
