#include "sim_handles.h"

#include <stdlib.h>

/*
 * A handle, from the top: 8 bits kind, 24 bits generation, 24 bits slot, 8 zero
 * bits. It is no address of anything, so nobody can look behind it.
 */
enum { KIND_SHIFT = 56, GENERATION_SHIFT = 32, SLOT_SHIFT = 8, MAX_SLOTS = 1 << 24 };

_Static_assert(sizeof(uintptr_t) == 8, "handles are packed into 64 bits");

static uintptr_t pack(const gp_sim_handles *handles, uint32_t slot)
{
    uintptr_t generation = handles->slots[slot].generation & 0xffffffu;
    return (uintptr_t)handles->kind << KIND_SHIFT | generation << GENERATION_SHIFT |
           (uintptr_t)slot << SLOT_SHIFT;
}

/* The slot a handle names, if it is of this kind and was issued. */
static const gp_sim_handle_slot *slot_of(const gp_sim_handles *handles, uintptr_t handle)
{
    uint32_t slot = (uint32_t)(handle >> SLOT_SHIFT) & (MAX_SLOTS - 1);
    if (handle >> KIND_SHIFT != handles->kind || (handle & 0xff) != 0 || slot >= handles->count)
        return NULL;
    return &handles->slots[slot];
}

static bool grow(gp_sim_handles *handles)
{
    uint32_t capacity = handles->capacity > 0 ? handles->capacity * 2 : 64;
    if (capacity > MAX_SLOTS)
        return false;
    gp_sim_handle_slot *slots = realloc(handles->slots, capacity * sizeof(*slots));
    if (slots == NULL)
        return false;

    handles->slots = slots;
    handles->capacity = capacity;
    return true;
}

uintptr_t gp_sim_handles_add(gp_sim_handles *handles, void *object)
{
    uint32_t slot = handles->free_head - 1;
    if (handles->free_head != 0) {
        handles->free_head = handles->slots[slot].next_free;
    } else {
        if (handles->count == handles->capacity && !grow(handles))
            return 0;
        slot = handles->count++;
        handles->slots[slot].generation = 0;
    }
    handles->slots[slot].object = object;
    handles->slots[slot].generation++;
    handles->live++;
    return pack(handles, slot);
}

void *gp_sim_handles_find(const gp_sim_handles *handles, uintptr_t handle)
{
    const gp_sim_handle_slot *slot = slot_of(handles, handle);
    if (slot == NULL || slot->object == NULL)
        return NULL;
    return pack(handles, (uint32_t)(slot - handles->slots)) == handle ? slot->object : NULL;
}

bool gp_sim_handles_is_dead(const gp_sim_handles *handles, uintptr_t handle)
{
    return slot_of(handles, handle) != NULL && gp_sim_handles_find(handles, handle) == NULL;
}

void gp_sim_handles_remove(gp_sim_handles *handles, uintptr_t handle)
{
    uint32_t slot = (uint32_t)(handle >> SLOT_SHIFT) & (MAX_SLOTS - 1);
    handles->slots[slot].object = NULL;
    handles->slots[slot].next_free = handles->free_head;
    handles->free_head = slot + 1;
    handles->live--;
}

void gp_sim_handles_clear(gp_sim_handles *handles)
{
    free(handles->slots);
    *handles = (gp_sim_handles){.kind = handles->kind};
}
