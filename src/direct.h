/*
 * What calls become in a pool that passes through (gp_pool_config.pass_through): each allocation is
 * one of the native pool, on the caller's stream, and each free one on the stream of the free, so
 * that a tool sees every block's bounds and life.
 *
 *     public call ──▶ slow path ──▶ gp_direct_alloc()  ──▶ global tier ──▶ native pool
 *                                   gp_direct_free()
 *
 * No thread remembers a stream of such a pool (thread.c), so that every call takes the slow path.
 * The tiers in between stay empty but for arenas of captures.
 */
#ifndef GP_SRC_DIRECT_H
#define GP_SRC_DIRECT_H

#include "direct_table.h"
#include "request.h"
#include "thread.h"

void gp_direct_init(gp_pool *pool);
void gp_direct_destroy(gp_pool *pool);

/* Serve a request, of just the bytes the caller asked for, on a stream that is live, eager and the
 * target's. Statuses as gp_alloc_async(). */
gp_status gp_direct_alloc(const gp_target *target, cudaStream_t stream, const gp_request *request,
                          void **ptr);

/* The pool that passes through and has a block around the address; NULL: there is none. */
gp_pool *gp_direct_pool_of(const void *ptr);

/* Did the address lie in a block of such a pool that is free by now? */
bool gp_direct_was_freed(const void *ptr);

/* gp_free_async() and gp_usable_size() of an address in a block of the pool, and the live block
 * that contains one. */
gp_status gp_direct_free(gp_pool *pool, void *ptr, cudaStream_t stream);
gp_status gp_direct_usable_size(gp_pool *pool, const void *ptr, size_t *bytes);
gp_status gp_direct_containing(gp_pool *pool, const void *ptr, uintptr_t *base, size_t *bytes);

/* A live, or a parked, block is freed on the cache's stream, about which the driver is not asked
 * again. Fails only if its recorded uses cannot be waited for, and then it is as it was. */
gp_status gp_direct_give(gp_thread_cache *cache, uintptr_t base, cudaStream_t stream);
gp_status gp_direct_give_parked(gp_thread_cache *cache, uintptr_t base, cudaStream_t stream);

/* An ending block goes to the native pool. If the driver does not take it, it is free for its
 * caller all the same, and goes with the pool. */
void gp_direct_give_back(gp_pool *pool, gp_direct_block *block, cudaStream_t stream);

/* The pool is being destroyed: all that is left goes back, behind what `stream` waits for. */
void gp_direct_release_all(gp_pool *pool, cudaStream_t stream);

#endif
