/*
 * The simulated machine: its devices, the one lock, the clock, and the frame of
 * every native call.
 *
 * One mutex guards everything but the few atomics of sim_slot.h: that is how the
 * driver being modelled behaves, and what makes its calls slow from many threads.
 */
#ifndef GP_SRC_SIM_MACHINE_H
#define GP_SRC_SIM_MACHINE_H

#include "sim_content.h"
#include "sim_fault.h"
#include "sim_handles.h"
#include "sim_hazard.h"
#include "sim_order.h"
#include "sim_ranges.h"
#include "sim_result.h"
#include "sim_thread.h"

struct gp_sim_stream;
struct gp_sim_pool;
struct gp_sim_capture;

typedef struct gp_sim_device {
    struct gp_sim_stream *legacy;
    gp_sim_order *legacy_debt; /* departed blocking streams: the legacy stream follows them */
    size_t pool_bytes;         /* mapped by pools */
    size_t graph_bytes;        /* held by graphs that were launched */
    size_t foreign_bytes;      /* taken by other processes */
    gp_sim_ranges addresses;   /* free address space for pools */
    uintptr_t next_graph_address;
} gp_sim_device;

typedef struct gp_sim_machine {
    gp_sim_config config;
    uint64_t epoch; /* tells this machine from those before it */
    uint64_t now_ns;
    gp_sim_device devices[GP_SIM_MAX_DEVICES];

    struct gp_sim_stream *streams;    /* all that exist or still hold work */
    size_t retired_streams;           /* of these, destroyed ones */
    struct gp_sim_departed *departed; /* gone streams that the host has not waited for */
    size_t live_streams;              /* of these, made by gp_sim_stream_create() */
    gp_sim_observed observed;

    gp_sim_handles events;
    gp_sim_handles gates;
    gp_sim_handles pools;
    gp_sim_handles graphs;

    gp_sim_tree blocks;            /* live native allocations, by address */
    struct gp_sim_pool *all_pools; /* destroyed ones that still hold memory too */
    bool has_allocated;
    struct gp_sim_capture *captures;

    gp_sim_checker checker;
    gp_sim_content content;
    gp_sim_fault faults[GP_SIM_FN_COUNT];
    size_t open_backends; /* instances of the backend: gp_sim_reset() refuses then */
} gp_sim_machine;

/* ---- the lock ---- */

/* Take the lock. The machine, made with default settings if there is none yet;
 * NULL if the host is out of memory. The lock is held in either case. */
gp_sim_machine *gp_sim_machine_lock(void);
void gp_sim_machine_unlock(void);

/* Give the lock up until another thread has opened a gate. False if the machine
 * is another one afterwards, and nothing of the old one may be touched. */
bool gp_sim_machine_wait(const gp_sim_machine *machine);
void gp_sim_machine_wake_all(void);

/* ---- the frame of a native call ---- */

typedef struct gp_sim_call {
    gp_sim_machine *machine;
    gp_sim_thread *thread;
} gp_sim_call;

/* For calls that are neither counted nor charged and cannot be made to fail. */
#define GP_SIM_FN_NONE GP_SIM_FN_COUNT

/* Begin a call: takes the lock, counts, charges the clock, applies faults. Ends
 * with gp_sim_leave() whatever the result is; if it is not 0 the call is over. */
gp_sim_result gp_sim_enter(gp_sim_call *call, gp_sim_function function);
gp_sim_result gp_sim_leave(gp_sim_result result);

/* Begin a call that needs no lock. False if it must take the locked way instead:
 * first call on this machine, a fault rule, or the driver is shut down. */
bool gp_sim_enter_unlocked(gp_sim_thread **thread, gp_sim_function function);

/* A call named a destroyed stream or event. */
void gp_sim_machine_count_dead_handle(void);

/* ---- the clock ---- */

/* A call takes time: the thread pays, and a virtual clock goes on. */
void gp_sim_machine_charge(const gp_sim_call *call, uint64_t ns);

/* ---- what makes calls leave the way without the lock ---- */

enum { GP_SIM_ATTENTION_FAULTS = 1, GP_SIM_ATTENTION_SHUT_DOWN = 2 };
void gp_sim_machine_set_attention(unsigned flag, bool on);

#endif
