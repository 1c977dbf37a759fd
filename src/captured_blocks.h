/*
 * Memory and captures: which addresses belong to graphs (allocated while their
 * stream captured), and which blocks were freed inside a capture and are parked
 * until it ends.
 */
#ifndef GP_SRC_CAPTURED_BLOCKS_H
#define GP_SRC_CAPTURED_BLOCKS_H

#include "tree.h"
#include <pthread.h>

#include "gp/base.h"
#include "gp/status.h"
#include "counter.h"
#include "page.h"

typedef struct gp_captured_block {
    RB_ENTRY(gp_captured_block) links;
    uintptr_t address;
} gp_captured_block;

typedef struct gp_parked_block {
    struct gp_parked_block *next;
    gp_slot slot;
    size_t bytes;
    uint64_t stream_id; /* Of the stream it was freed on, from before the capture. */
} gp_parked_block;

RB_HEAD(gp_captured_tree, gp_captured_block);

typedef struct gp_captured_blocks {
    pthread_mutex_t lock; /* Leaf lock. */
    struct gp_captured_tree tree;
    gp_parked_block *parked;
    gp_counter parked_count;
    gp_counter parked_bytes;
    gp_counter calls; /* Allocations and frees that became graph nodes. */
} gp_captured_blocks;

void gp_captured_blocks_init(gp_captured_blocks *blocks);
void gp_captured_blocks_destroy(gp_captured_blocks *blocks);

/* An address that a graph allocates each time it runs; stays known until the
 * pool is destroyed, since the graph may be launched again. */
gp_status gp_captured_blocks_add(gp_captured_blocks *blocks, uintptr_t address);
bool gp_captured_blocks_has(gp_captured_blocks *blocks, uintptr_t address);

/* Park a block, freed inside a capture of the stream. An id of 0, for a stream gp
 * never saw outside the capture, keeps it parked until the pool is destroyed. */
gp_status gp_captured_blocks_park(gp_captured_blocks *blocks, const gp_parked_block *block);

/* Take one block that was parked on a stream: free() it, or park it again. NULL if there
 * is none (left). */
gp_parked_block *gp_captured_blocks_unpark(gp_captured_blocks *blocks, uint64_t stream_id);
void gp_captured_blocks_park_again(gp_captured_blocks *blocks, gp_parked_block *parked);

#endif
