/*
 * Records of a pool's small blocks: made when one first starts in a page, kept until the
 * memory under them is given back, then spare for the next.
 */
#ifndef GP_SRC_PAGE_STORE_H
#define GP_SRC_PAGE_STORE_H

#include "counter.h"
#include "lock.h"
#include "page.h"

typedef struct gp_page_store {
    gp_lock lock;                   /* Leaf lock. */
    struct gp_spare_records *spare; /* Never freed before the pool: a late free of a stale
                                       pointer may still read them. */
    gp_counter count;               /* Pages' records that exist. */
} gp_page_store;

void gp_page_store_init(gp_page_store *store);
void gp_page_store_destroy(gp_page_store *store);

/* The records of the page that contains `base`, made if need be; NULL without host memory. The
 * caller holds the lock of the cache whose segment it lies in. */
gp_page_records *gp_page_store_at(gp_page_store *store, uintptr_t base);

/* The memory of a span goes back: no block is in it any more. Spans are page-aligned. */
void gp_page_store_retire(gp_page_store *store, uintptr_t base, size_t bytes);

#endif
