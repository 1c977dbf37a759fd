/**
 * @file
 * Private arenas: memory of a pool that a captured graph may use for as long as its
 * owner keeps it, in pools with GP_CAPTURE_ARENA.
 *
 * An allocation on a capturing stream takes a block of the arena of that capture
 * then, and becomes no node of the graph:
 *
 *     cudaStreamBeginCapture(stream, mode);
 *     gp_capture_get_arena(pool, &arena, stream);
 *     ... allocate, launch, free ...
 *     cudaStreamEndCapture(stream, &graph);
 *     ... instantiate, replay, destroy every instance ...
 *     gp_arena_release(arena, stream);
 *
 * Nobody but the graph's owner knows when the graph is last replayed. So all that
 * the capture ever took stays reserved, and counts as live, until the arena is
 * released. No stream of the capture may be destroyed before that has ended, and the
 * order of each is that in which its work is captured: who changes a stream's
 * dependencies (cudaStreamUpdateCaptureDependencies) orders its blocks himself.
 *
 * The capture of a child graph, or of a conditional node's body, is a
 * capture of its own and has its own arena.
 */
#ifndef GP_ARENA_H
#define GP_ARENA_H

#include "gp/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The memory of one capture in one pool. */
typedef struct gp_arena gp_arena;

/**
 * The arena of the capture that a stream takes part in.
 *
 * Ask between the begin and the end of the capture, at best right after the begin:
 * nothing else names the arena once the capture has ended or was invalidated, and
 * one that nobody asked for stays until gp_pool_destroy_forced(). Asking again, on any
 * stream of the same capture, gives the same arena.
 *
 * @param pool    A pool with GP_CAPTURE_ARENA.
 * @param arena   [out] The arena; it is made if nothing was allocated yet. To be given
 *                back once with gp_arena_release(), also if the capture fails.
 * @param stream  A stream that captures now.
 *
 * @retval GP_OK                      *arena is set.
 * @retval GP_ERR_INVALID_ARGUMENT    @p arena is NULL, or the pool has no arenas.
 * @retval GP_ERR_INVALID_POOL        @p pool is NULL or destroyed.
 * @retval GP_ERR_CAPTURE             @p stream does not capture, or its capture was
 *                                    invalidated; an attached one also if the capture was
 *                                    not announced.
 * @retval GP_ERR_INVALID_STREAM, GP_ERR_WRONG_DEVICE, GP_ERR_OUT_OF_HOST_MEMORY,
 *         GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN, GP_ERR_CUDA
 *         As gp_alloc_from_pool_async().
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_capture_get_arena(gp_pool *pool, gp_arena **arena,
                                                   cudaStream_t stream);

/**
 * Give all memory of an arena back to its pool, in stream order.
 *
 * Blocks that the capture left live are freed with it. The caller promises that the
 * capture has ended, that its graph is not launched any more, and that every replay
 * and every other use of the arena's blocks is complete or ordered before this call
 * on @p stream. From then on the memory is as if it had been freed on @p stream.
 *
 * @param arena   What gp_capture_get_arena() gave; invalid afterwards.
 * @param stream  A stream of the pool's device that does not capture. It need not be
 *                one that captured or replayed.
 *
 * @retval GP_OK                    The arena is gone.
 * @retval GP_ERR_INVALID_ARGUMENT  @p arena is NULL, or is no arena (any more).
 * @retval GP_ERR_CAPTURE           @p stream captures, or is the legacy stream and
 *                                  another one captures.
 * @retval GP_ERR_INVALID_STREAM, GP_ERR_WRONG_DEVICE, GP_ERR_OUT_OF_HOST_MEMORY,
 *         GP_ERR_UNSUPPORTED, GP_ERR_WRONG_PROCESS, GP_ERR_SHUTDOWN, GP_ERR_CUDA
 *         As gp_alloc_from_pool_async(). The arena is unchanged.
 *
 * Thread-safe.
 */
GP_API GP_NODISCARD gp_status gp_arena_release(gp_arena *arena, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
