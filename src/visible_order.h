/*
 * The order that gp relies on, made visible to tools that follow streams and events.
 *
 * gp reuses and gives back memory once the device says that a stream is idle or a fence
 * has completed. That is an order, but not one of streams: a tool that knows only these
 * sees native memory freed on gp's own stream while another stream may still use it. So,
 * in pools that are asked to (gp_pool_config.visible_order), gp's own stream also waits
 * for an event behind what was found complete, and a stream that gets native memory for
 * one behind its allocation. None of these waits ever waits.
 */
#ifndef GP_SRC_VISIBLE_ORDER_H
#define GP_SRC_VISIBLE_ORDER_H

#include "backend.h"
#include "fence.h"

/* The stream was found idle; it is live and eager. */
void gp_visible_order_idle(gp_pool *pool, cudaStream_t stream);

/* The fence was found complete. */
void gp_visible_order_complete(gp_pool *pool, const gp_fence *fence);

/* The stream is about to use memory that came from the native pool at some time, and that other
 * streams were found to be past. */
void gp_visible_order_taken(gp_pool *pool, cudaStream_t stream);

#endif
