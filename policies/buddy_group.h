/*
 * Up to 64 chunks of a buddy system in order of address, so that one word tells
 * for each order which of them have a free piece of it.
 *
 * Groups are nodes of the buddy system's tree; a group that is full is split in
 * two halves before it takes one more chunk.
 */
#ifndef GP_POLICIES_BUDDY_GROUP_H
#define GP_POLICIES_BUDDY_GROUP_H

#include "buddy_chunk.h"
#include "tree.h"

enum { GP_BUDDY_GROUP_CHUNKS = 64 };

typedef struct gp_buddy_group {
    RB_ENTRY(gp_buddy_group) by_base;        /* The buddy system's own. */
    uint32_t subtree_orders;                 /* Its own: all free orders of the subtree. */
    uint32_t free_orders;                    /* Bit k: a chunk has a piece of order k. */
    size_t count;                            /* Chunks; 0 only until the first is inserted. */
    uint64_t having[GP_BUDDY_MAX_ORDER + 1]; /* [k] bit i: chunks[i] has a piece of order k. */
    gp_buddy_chunk *chunks[GP_BUDDY_GROUP_CHUNKS];
} gp_buddy_group;

/* Put a chunk in its place. Needs room. O(chunks of the group). */
void gp_buddy_group_insert(gp_buddy_group *group, gp_buddy_chunk *chunk);

/* O(chunks of the group). */
void gp_buddy_group_remove(gp_buddy_group *group, gp_buddy_chunk *chunk);

/* Move the upper half to an empty group. O(chunks of the group). */
void gp_buddy_group_split(gp_buddy_group *group, gp_buddy_group *upper);

/* The chunk's free orders have changed by these bits. O(orders that changed). */
void gp_buddy_group_note(gp_buddy_group *group, const gp_buddy_chunk *chunk, uint32_t changed);

/*
 * The chunk at the lowest address with a piece of this order and a base at this
 * alignment. O(1), for an alignment above the granule O(chunks). @return NULL: none.
 */
gp_buddy_chunk *gp_buddy_group_lowest(const gp_buddy_group *group, unsigned order,
                                      size_t alignment);

/* Walks the group, not into its chunks. */
bool gp_buddy_group_is_valid(const gp_buddy_group *group);

#endif
