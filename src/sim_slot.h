/*
 * Stream handles. The value of the stream destroyed last is issued again first,
 * as the driver does, so a handle says nothing about identity.
 *
 * What is asked on every allocation, a stream's id and whether it captures, is
 * kept in the slot as atomics and read without the machine's lock. Slots are
 * never freed, so reading one is always safe.
 */
#ifndef GP_SRC_SIM_SLOT_H
#define GP_SRC_SIM_SLOT_H

#include <stdatomic.h>

#include "gp/sim.h"

enum { GP_SIM_MAX_DEVICES = 8 };

struct gp_sim_stream;

typedef struct gp_sim_slot {
    _Atomic(uint64_t) id; /* 0: no stream */
    _Atomic(int) capture; /* gp_sim_capture_status */
    _Atomic(int) device;
    struct gp_sim_stream *stream; /* under the machine's lock */
    uint32_t index;
    uint32_t next_free; /* 1 + index, 0 for none */
} gp_sim_slot;

/* Slots of the legacy streams, one a device. */
extern gp_sim_slot gp_sim_legacy_slots[GP_SIM_MAX_DEVICES];

/* Blocking streams of each device that take part in a capture. */
extern _Atomic(uint32_t) gp_sim_blocking_captures[GP_SIM_MAX_DEVICES];

/* The slot of an ordinary handle; NULL if it was never issued. */
gp_sim_slot *gp_sim_slot_of_handle(cudaStream_t handle);

cudaStream_t gp_sim_slot_handle(const gp_sim_slot *slot);

/* Under the machine's lock. NULL: out of host memory or of handles. */
gp_sim_slot *gp_sim_slot_issue(void);
void gp_sim_slot_bind(gp_sim_slot *slot, struct gp_sim_stream *stream, uint64_t id, int device);
void gp_sim_slot_retire(gp_sim_slot *slot);
void gp_sim_slot_unbind(gp_sim_slot *slot);

/* Forget every handle: the machine is gone. */
void gp_sim_slots_reset(void);

#endif
