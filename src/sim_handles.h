/*
 * Handles that are never issued twice, so that every use of a dead one shows.
 * For events, pools, gates and graphs. Streams are not among them: the driver
 * re-issues their handles at once, and that is what has to be simulated.
 */
#ifndef GP_SRC_SIM_HANDLES_H
#define GP_SRC_SIM_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_sim_handle_slot {
    void *object;        /* NULL while free */
    uint32_t generation; /* of the handle that is, or was last, issued */
    uint32_t next_free;
} gp_sim_handle_slot;

typedef struct gp_sim_handles {
    gp_sim_handle_slot *slots;
    uint32_t count;
    uint32_t capacity;
    uint32_t free_head; /* 1 + slot index, 0 for none */
    uint32_t kind;      /* Tells events from pools; set once, 1 to 255. */
    size_t live;
} gp_sim_handles;

/* A handle for an object; 0 if the host is out of memory. */
uintptr_t gp_sim_handles_add(gp_sim_handles *handles, void *object);

/* The object; NULL for a handle that is dead or was never issued. */
void *gp_sim_handles_find(const gp_sim_handles *handles, uintptr_t handle);

/* Whether a handle was issued once and is dead now. */
bool gp_sim_handles_is_dead(const gp_sim_handles *handles, uintptr_t handle);

void gp_sim_handles_remove(gp_sim_handles *handles, uintptr_t handle);
void gp_sim_handles_clear(gp_sim_handles *handles);

#endif
