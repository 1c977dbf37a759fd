/*
 * A buddy system over chunks that are handed to it one by one.
 *
 * A request gets exactly as many granules as it asks for (buddy_chunk.h). It is
 * placed in the smallest order that has a free piece large enough, and of
 * several such pieces in the one at the lowest address, so that chunks at high
 * addresses run empty and can be taken away.
 *
 * One thread at a time. n is the number of chunks.
 */
#ifndef GP_POLICIES_BUDDY_H
#define GP_POLICIES_BUDDY_H

#include "buddy_group.h"
#include "range_map.h"

RB_HEAD(gp_buddy_tree, gp_buddy_group);

typedef struct gp_buddy {
    struct gp_buddy_tree groups; /* By base; each knows the free orders of its subtree. */
    gp_range_map by_address;     /* Every chunk. */
    size_t free_bytes;           /* In all free pieces. */
    size_t record_bytes;         /* Host memory of groups and chunks. */
} gp_buddy;

/* @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY. */
gp_status gp_buddy_init(gp_buddy *buddy);

void gp_buddy_fini(gp_buddy *buddy);

/*
 * A new chunk, all of it free: a power of two of bytes, from GP_BUDDY_MIN_BYTES
 * to GP_BUDDY_MAX_BYTES. O(log n).
 * @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY, then nothing has changed.
 */
gp_status gp_buddy_add_chunk(gp_buddy *buddy, gp_span span);

/* Drop a chunk that is wholly free. O(log n). */
void gp_buddy_remove_chunk(gp_buddy *buddy, gp_buddy_chunk *chunk);

/*
 * Take exactly so many bytes. O(log n), never allocates. An alignment above the
 * granule is met where a chunk's own base has it; then chunks that have not are
 * passed by, O(n) in the worst case.
 *
 * @return false: no piece fits; then nothing has changed.
 */
bool gp_buddy_take(gp_buddy *buddy, size_t bytes, size_t alignment, uintptr_t *base);

/* The chunk this address lies in. O(1). @return NULL: none. */
static inline gp_buddy_chunk *gp_buddy_find(const gp_buddy *buddy, uintptr_t address)
{
    return (gp_buddy_chunk *)gp_range_map_find(&buddy->by_address, address);
}

/* A block of this chunk comes back, joined with its free buddies. O(log n), never allocates. */
void gp_buddy_give(gp_buddy *buddy, gp_buddy_chunk *chunk, gp_span block);

/* The chunk with the next base; the first one if chunk is NULL. @return NULL: no more. */
gp_buddy_chunk *gp_buddy_next(const gp_buddy *buddy, const gp_buddy_chunk *chunk);

/* The longest request that gp_buddy_take() would meet; 0: none. O(1). */
size_t gp_buddy_largest_bytes(const gp_buddy *buddy);

/* Host memory, without the structure itself. O(1). */
size_t gp_buddy_metadata_bytes(const gp_buddy *buddy);

/* Walks everything. */
bool gp_buddy_is_valid(const gp_buddy *buddy);

#endif
