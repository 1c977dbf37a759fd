/*
 * Rings in the order of their oldest events: a heap, whose root has the oldest of all.
 * Of each ring it takes what lies before the ring's limit.
 */
#ifndef GP_SRC_RECORD_MERGE_H
#define GP_SRC_RECORD_MERGE_H

#include <stddef.h>

#include "record_ring.h"

#define GP_RECORD_MOST_RINGS 256u

typedef struct gp_record_merge {
    size_t count;
    gp_record_ring *rings[GP_RECORD_MOST_RINGS];
} gp_record_merge;

/* A ring with something before its limit. */
void gp_record_merge_add(gp_record_merge *merge, gp_record_ring *ring);

/* The ring that has the oldest event; NULL once there is none. */
gp_record_ring *gp_record_merge_first(const gp_record_merge *merge);

/* The oldest event of gp_record_merge_first(). */
const gp_record_event *gp_record_ring_oldest(const gp_record_ring *ring);

/* The oldest event was used: its thread may write over it, soon. */
void gp_record_merge_drop_first(gp_record_merge *merge);

/* Forget the rings that are left, with what is left in them. */
void gp_record_merge_end(gp_record_merge *merge);

#endif
