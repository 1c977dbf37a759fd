/**
 * @file
 * gp: a stream-ordered pool of GPU memory on the CUDA driver's own pool.
 *
 * Words, used the same way everywhere:
 *
 * - *block*: a piece of device memory that can be handed out; *allocation*: a
 *   block the caller holds, which makes it *live*.
 * - *segment*: a span obtained in one call from the native pool, cut into blocks
 *   by a policy.
 * - *live*, *cached*, *reserved*: bytes held by callers, free inside gp, held
 *   from the native pool. *idle*: cached, and nobody has asked for it.
 * - *L1*, thread cache: one per host thread and stream. *L2*, stream cache: one
 *   per stream. *L3*, the native pool (cudaMemPool_t).
 * - *commons*: idle memory of a pool that belongs to no stream, between L2 and L3.
 *   The device is past every use of it, so any stream may take it.
 * - *refill*: L2 to L1, L3 to L2. *flush*: L1 to L2. *release*: L2 to L3.
 *   *trim*: L3 to the driver.
 * - *fence*: a position in a stream. Work queued on another stream may touch a
 *   block only after the fence it carries has completed or was waited for.
 */
#ifndef GP_GP_H
#define GP_GP_H

#include "gp/arena.h"
#include "gp/base.h"
#include "gp/policy.h"
#include "gp/pool.h"
#include "gp/record.h"
#include "gp/stats.h"
#include "gp/status.h"
#include "gp/stream.h"
#include "gp/trace.h"
#include "gp/version.h"

#endif
