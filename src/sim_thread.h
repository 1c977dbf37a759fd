/*
 * What the simulated driver keeps per host thread: the current device, the
 * capture mode, the thread's own default streams, and what its calls cost.
 */
#ifndef GP_SRC_SIM_THREAD_H
#define GP_SRC_SIM_THREAD_H

#include "sim_slot.h"

struct gp_sim_machine;

typedef struct gp_sim_thread {
    struct gp_sim_thread *next; /* of all threads, under the machine's lock */
    struct gp_sim_thread *previous;
    uint64_t number; /* never used again */
    uint64_t epoch;  /* of the machine that the fields below belong to */
    int device;
    gp_sim_capture_mode mode;
    uint64_t pending_ns; /* cost of calls without the lock, not on the clock yet */
    uint64_t native_ns;
    _Atomic(uint64_t) calls[GP_SIM_FN_COUNT];    /* written by this thread alone */
    gp_sim_slot own_streams[GP_SIM_MAX_DEVICES]; /* cudaStreamPerThread */
} gp_sim_thread;

/* The calling thread; NULL if the host is out of memory. Not under the lock. */
gp_sim_thread *gp_sim_thread_self(void);

/* Under the lock: forget what belonged to an older machine. */
void gp_sim_thread_refresh(gp_sim_thread *thread, uint64_t epoch);

/* Under the lock: calls of all threads, ended ones included. */
uint64_t gp_sim_thread_sum_calls(gp_sim_function function);
void gp_sim_thread_clear_calls(void);

/* Count a call of the calling thread. */
static inline void gp_sim_thread_count(gp_sim_thread *thread, gp_sim_function function)
{
    _Atomic(uint64_t) *calls = &thread->calls[function];
    uint64_t before = atomic_load_explicit(calls, memory_order_relaxed);
    atomic_store_explicit(calls, before + 1, memory_order_relaxed);
}

/* The slot of any handle, special ones included; NULL if never issued. */
static inline gp_sim_slot *gp_sim_thread_slot(gp_sim_thread *thread, cudaStream_t handle)
{
    if ((uintptr_t)handle > (uintptr_t)GP_SIM_STREAM_PER_THREAD)
        return gp_sim_slot_of_handle(handle);
    if (handle == GP_SIM_STREAM_PER_THREAD)
        return &thread->own_streams[thread->device];
    return &gp_sim_legacy_slots[thread->device];
}

static inline bool gp_sim_stream_is_legacy(cudaStream_t handle)
{
    return handle == NULL || handle == GP_SIM_STREAM_LEGACY;
}

#endif
