/*
 * Small objects: one granule each, cut from slabs that are handed in one by one.
 *
 * A slab has one bit an object. An object comes from the slab at the lowest
 * address that has one, so that others run empty. One empty slab is kept for
 * the next burst; a second one is handed back at once.
 *
 * One thread at a time. n is the number of slabs that are partly free.
 */
#ifndef GP_POLICIES_SMALL_SLAB_H
#define GP_POLICIES_SMALL_SLAB_H

#include "node_pool.h"
#include "range_map.h"
#include "tree.h"

#define GP_SLAB_BYTES ((size_t)64 << 10)

enum { GP_SLAB_WORDS = 2 }; /* of 64 objects each */

typedef struct gp_slab {
    gp_span span;                 /* GP_SLAB_BYTES. */
    RB_ENTRY(gp_slab) by_base;    /* Only while some, but not all objects are free. */
    uint64_t free[GP_SLAB_WORDS]; /* Bit i: object i is free. */
} gp_slab;

RB_HEAD(gp_slab_tree, gp_slab);

typedef struct gp_small_slab {
    struct gp_slab_tree partial; /* Slabs with both free and taken objects, by base. */
    gp_slab *lowest;             /* The first of them; NULL: none. */
    gp_slab *kept;               /* The one slab with no object taken; NULL: none. */
    gp_range_map by_address;     /* Every slab. */
    gp_node_pool nodes;
    size_t free_bytes; /* In all free objects. */
} gp_small_slab;

/* @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY. */
gp_status gp_small_slab_init(gp_small_slab *slabs);

void gp_small_slab_fini(gp_small_slab *slabs);

/*
 * GP_SLAB_BYTES from base on become a slab. Only when there is no free object. O(1).
 * @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY, then nothing has changed.
 */
gp_status gp_small_slab_add(gp_small_slab *slabs, uintptr_t base);

/* One object. O(1), and O(log n) when a slab's first or last one is taken. @return false: none. */
bool gp_small_slab_take(gp_small_slab *slabs, uintptr_t *base);

/* The slab this address lies in. O(1). @return NULL: none. */
static inline gp_slab *gp_small_slab_find(const gp_small_slab *slabs, uintptr_t address)
{
    return (gp_slab *)gp_range_map_find(&slabs->by_address, address);
}

/*
 * An object of this slab comes back. O(1), and O(log n) when the slab was full
 * or runs empty. Never allocates.
 *
 * @param surplus  [out] Only if true: an empty slab that is no longer one.
 * @return true: there was an empty slab already, so this one is handed back.
 */
bool gp_small_slab_give(gp_small_slab *slabs, gp_slab *slab, uintptr_t base, gp_span *surplus);

/* Hand back the empty slab. O(1). @return false: there is none. */
bool gp_small_slab_drop_kept(gp_small_slab *slabs, gp_span *dropped);

/* Host memory, without the structure itself. O(1). */
size_t gp_small_slab_metadata_bytes(const gp_small_slab *slabs);

/* Walks everything. */
bool gp_small_slab_is_valid(const gp_small_slab *slabs);

#endif
