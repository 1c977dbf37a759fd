/*
 * Upkeep: what a pool does for itself, in slices, on the slow way of its callers.
 *
 *     idle share                80 % ─ ─ ─ ─ ─ ─ ─▆▇▇▇─ ─ ─        for some windows (idle.h)
 *                                     ▃▂▅▃▂▃▄▂▂▃▆█     ▌
 *                               50 % ─ ─ ─ ─ ─ ─ ─ ─ ─ ▙▄▄▄▄       released down to there
 *
 * A slice gives one segment back and trims a bounded part of what was given, so that no caller pays
 * for all of it. The largest segments go first, for each is a native call.
 *
 * A load that comes back is met in one step. If a pool has grown back to what it held when it last
 * released, it is likely to do so again: its next growth is as large as what it released since,
 * less what was idle even at the busiest. So a periodic load costs one native call each way.
 */
#ifndef GP_SRC_UPKEEP_H
#define GP_SRC_UPKEEP_H

#include <stdbool.h>

#include "gp/pool.h"
#include "counter.h"

typedef struct gp_upkeep {
    atomic_flag busy;       /* A thread does a slice; others do without. */
    bool is_set;            /* By that thread: there is something to be done, */
    uint64_t target;        /* down to so many reserved bytes. */
    uint64_t released_from; /* What was reserved when the pool last released; 0: never. */
    bool comes_back;        /* It had grown back to what it held the time before. */
    size_t spare_share;     /* Of what is released, that much more is to come; 0: no more. */
    uint64_t allocs;        /* Native ones, as of the last window. */
    uint64_t least_idle;    /* Of all windows since then, */
    uint64_t surplus;       /* and as much of it as is not taken off what is to come yet. */

    gp_counter large_to_come; /* What the next growth of a kind takes at least. */
    gp_counter chunks_to_come;
} gp_upkeep;

void gp_upkeep_init(gp_upkeep *upkeep);

/* Do a slice of what is due, and look whether more is. No lock is held. */
void gp_upkeep_run(gp_pool *pool);

/* How much to grow for a need of so many bytes: at least them. */
size_t gp_upkeep_growth(gp_pool *pool, bool chunk, size_t bytes);

/* It is about to grow so. Should that fail, what was expected is not tried for again. */
void gp_upkeep_grows(gp_pool *pool, bool chunk);

#endif
