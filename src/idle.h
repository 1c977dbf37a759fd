/*
 * Idle memory: what the commons of a pool hold and nobody takes, over windows of time. At one
 * moment a pool of a busy program may hold much; what it did not need for a while is idle.
 *
 *     free in the commons   ▁▃▇▇▅▆▇▇▇▇▇▇
 *     window                |    |    |        the least of each is kept for a while
 *     idle since 2 windows  ▁▁▁▁▁▅▅▅▅▅▅▅
 *
 * Windows are of the device's clock. They end when somebody looks: slow calls do now and then.
 */
#ifndef GP_SRC_IDLE_H
#define GP_SRC_IDLE_H

#include "gp/pool.h"
#include "counter.h"

/* As many as are remembered. */
#define GP_IDLE_WINDOWS 64

typedef struct gp_idle {
    gp_counter ends_ns;                /* The present window; who moves it records the last one. */
    gp_counter least[GP_IDLE_WINDOWS]; /* Free bytes of the complete ones, as a ring. */
    gp_counter windows;                /* Complete ones so far. */
} gp_idle;

/* The pool is new. */
void gp_idle_init(gp_pool *pool);

/* End the window if its time is over. Returns how many have ended: more than one if nobody looked
 * for long. No lock is held. */
uint64_t gp_idle_observe(gp_pool *pool);

/* Bytes that nobody took in the last `windows` complete windows and since, 1 to GP_IDLE_WINDOWS;
 * 0 if there were not so many yet. */
uint64_t gp_idle_bytes(const gp_pool *pool, uint32_t windows);

#endif
