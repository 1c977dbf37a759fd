/*
 * Quarantine (gp_pool_config.quarantine_bytes): blocks that were freed last are held back from the
 * native pool. If they are poisoned, a write to one of them shows when it leaves.
 *
 *     free ─▶ | youngest ........ oldest | ─▶ looked at ─▶ native pool
 *             |<-- quarantine_bytes --->|
 *
 * A block leaves once the device is past its free, and then in the order of a stream of gp's: so no
 * stream of the caller's waits for another one.
 */
#ifndef GP_SRC_QUARANTINE_H
#define GP_SRC_QUARANTINE_H

#include "direct_table.h"

/* Most of a block that is looked at: half of it at the start, and half at the end. */
#define GP_QUARANTINE_LOOK_BYTES ((size_t)64 << 10)

typedef struct gp_quarantine {
    pthread_mutex_t lock;               /* Leaf lock. */
    TAILQ_HEAD(, gp_direct_block) held; /* The oldest first. */
    gp_counter bytes;                   /* Of their native allocations. */
} gp_quarantine;

void gp_quarantine_init(gp_quarantine *quarantine);
void gp_quarantine_destroy(gp_quarantine *quarantine);

/* Hold an ending block, freed on the stream, which has its poison if it is to have any. False: it
 * is not held. */
bool gp_quarantine_take_in(gp_pool *pool, gp_direct_block *block, cudaStream_t stream);

/* Let the oldest go that the device is past, down to so many bytes. */
void gp_quarantine_let_out(gp_pool *pool, uint64_t keep_bytes);

/* A held block is about to leave, on a stream that is behind its free. */
void gp_quarantine_look(gp_pool *pool, const gp_direct_block *block, cudaStream_t stream);

#endif
