#include "sim_slot.h"

#include <stdlib.h>

enum { CHUNK_SLOTS = 256, MAX_CHUNKS = 256, HANDLE_SHIFT = 8 };

/* Handles look like heap addresses, as the driver's do, but nothing is there. */
static const uintptr_t first_handle = (uintptr_t)0x510000000000;

gp_sim_slot gp_sim_legacy_slots[GP_SIM_MAX_DEVICES];
_Atomic(uint32_t) gp_sim_blocking_captures[GP_SIM_MAX_DEVICES];

static _Atomic(gp_sim_slot *) chunks[MAX_CHUNKS];
static uint32_t issued;    /* handles that were issued at least once */
static uint32_t free_head; /* 1 + index, 0 for none */

static gp_sim_slot *slot_at(uint32_t index)
{
    gp_sim_slot *chunk = atomic_load_explicit(&chunks[index / CHUNK_SLOTS], memory_order_acquire);
    return chunk != NULL ? &chunk[index % CHUNK_SLOTS] : NULL;
}

gp_sim_slot *gp_sim_slot_of_handle(cudaStream_t handle)
{
    uintptr_t offset = (uintptr_t)handle - first_handle;
    uintptr_t index = offset >> HANDLE_SHIFT;
    if ((uintptr_t)handle < first_handle || (offset & ((1u << HANDLE_SHIFT) - 1)) != 0 ||
        index >= (uintptr_t)CHUNK_SLOTS * MAX_CHUNKS)
        return NULL;
    return slot_at((uint32_t)index);
}

cudaStream_t gp_sim_slot_handle(const gp_sim_slot *slot)
{
    return (cudaStream_t)(first_handle + ((uintptr_t)slot->index << HANDLE_SHIFT));
}

static gp_sim_slot *slot_make(uint32_t index)
{
    if (index >= (uint32_t)CHUNK_SLOTS * MAX_CHUNKS)
        return NULL;
    if (slot_at(index) == NULL) {
        gp_sim_slot *chunk = calloc(CHUNK_SLOTS, sizeof(*chunk));
        if (chunk == NULL)
            return NULL;
        for (uint32_t i = 0; i < CHUNK_SLOTS; i++)
            chunk[i].index = index + i;
        atomic_store_explicit(&chunks[index / CHUNK_SLOTS], chunk, memory_order_release);
    }
    return slot_at(index);
}

gp_sim_slot *gp_sim_slot_issue(void)
{
    bool is_again = free_head != 0;
    gp_sim_slot *slot = is_again ? slot_at(free_head - 1) : slot_make(issued);
    if (slot == NULL)
        return NULL;

    if (is_again)
        free_head = slot->next_free;
    else
        issued++;
    return slot;
}

void gp_sim_slot_bind(gp_sim_slot *slot, struct gp_sim_stream *stream, uint64_t id, int device)
{
    slot->stream = stream;
    atomic_store_explicit(&slot->capture, GP_SIM_CAPTURE_NONE, memory_order_relaxed);
    atomic_store_explicit(&slot->device, device, memory_order_relaxed);
    atomic_store_explicit(&slot->id, id, memory_order_release);
}

void gp_sim_slot_unbind(gp_sim_slot *slot)
{
    atomic_store_explicit(&slot->id, 0, memory_order_release);
    atomic_store_explicit(&slot->capture, GP_SIM_CAPTURE_NONE, memory_order_relaxed);
    slot->stream = NULL;
}

void gp_sim_slot_retire(gp_sim_slot *slot)
{
    gp_sim_slot_unbind(slot);
    slot->next_free = free_head;
    free_head = slot->index + 1;
}

void gp_sim_slots_reset(void)
{
    for (uint32_t i = 0; i < issued; i++) {
        gp_sim_slot *slot = slot_at(i);
        if (slot != NULL)
            gp_sim_slot_unbind(slot);
    }
    for (int device = 0; device < GP_SIM_MAX_DEVICES; device++) {
        gp_sim_slot_unbind(&gp_sim_legacy_slots[device]);
        atomic_store_explicit(&gp_sim_blocking_captures[device], 0, memory_order_relaxed);
    }
    issued = 0;
    free_head = 0;
}
