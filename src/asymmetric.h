/*
 * A one-sided lock: the owner of a structure enters and leaves it with plain
 * stores, hundreds of times more often than a stranger takes it from him.
 *
 * Owner:    busy = 1; read revoked;  ...  busy = 0
 * Stranger: revoked = 1; barrier in every thread; wait until busy is 0
 *
 * One of the two always sees the other's store. The barrier is the kernel's
 * membarrier(2), so the owner pays no fence. Where the kernel has none, and under
 * ThreadSanitizer, which does not know it, the owner pays a fence instead.
 */
#ifndef GP_SRC_ASYMMETRIC_H
#define GP_SRC_ASYMMETRIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

typedef struct gp_asymmetric {
    _Atomic(bool) busy;    /* Written by the owner. */
    _Atomic(bool) revoked; /* Written by a stranger. */
} gp_asymmetric;

/* The owner's side must carry its own fence. Set once, before any owner enters. */
extern bool gp_asymmetric_needs_fence;

/* Ask the kernel for the barrier; once. */
void gp_asymmetric_init(void);

/* Order memory in every running thread of the process. */
void gp_asymmetric_barrier(void);

/* Owner: between a store and what is read after it. */
static inline void gp_asymmetric_fence(void)
{
    if (GP_UNLIKELY(gp_asymmetric_needs_fence))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}

/* Owner: a store that releases, before something a stranger writes is read. */
static inline void gp_asymmetric_store(_Atomic(uint32_t) *word, uint32_t value)
{
#if GP_TSAN
    (void)atomic_exchange(word, value);
#else
    atomic_store_explicit(word, value, memory_order_release);
    gp_asymmetric_fence();
#endif
}

/* Owner: false if the structure is taken; then nothing must be touched. */
static inline bool gp_asymmetric_enter(gp_asymmetric *side)
{
#if GP_TSAN
    (void)atomic_exchange(&side->busy, true);
    bool open = !atomic_load(&side->revoked);
#else
    atomic_store_explicit(&side->busy, true, memory_order_relaxed);
    gp_asymmetric_fence();
    bool open = !atomic_load_explicit(&side->revoked, memory_order_acquire);
#endif
    if (GP_UNLIKELY(!open))
        atomic_store_explicit(&side->busy, false, memory_order_release);
    return open;
}

/* Owner: done. */
static inline void gp_asymmetric_leave(gp_asymmetric *side)
{
    atomic_store_explicit(&side->busy, false, memory_order_release);
}

/* Stranger: take it. Call gp_asymmetric_barrier() after this, and before
 * gp_asymmetric_wait(); one barrier serves any number of structures. */
static inline void gp_asymmetric_revoke(gp_asymmetric *side)
{
    atomic_store(&side->revoked, true);
}

/* Stranger: wait until the owner is out. The owner never blocks inside. */
void gp_asymmetric_wait(gp_asymmetric *side);

/* Stranger: give it back. */
static inline void gp_asymmetric_restore(gp_asymmetric *side)
{
    atomic_store_explicit(&side->revoked, false, memory_order_release);
}

#endif
