/*
 * The records of a pool's small blocks: which pages have any, and that none is left where the
 * memory under it goes back.
 */
#ifndef GP_SRC_PAGE_STORE_H
#define GP_SRC_PAGE_STORE_H

#include "counter.h"
#include "page.h"

typedef struct gp_page_store {
    gp_counter count; /* Pages in which a small block ever started. */
} gp_page_store;

/* Of the records of a page. */
#define GP_PAGE_RECORD_BYTES (GP_PAGE_RECORDS * sizeof(gp_record))

/* A small block starts in the page. The caller holds the lock of the cache that cuts it. */
static inline void gp_page_store_note(gp_page_store *store, gp_page *page)
{
    if (GP_LIKELY(atomic_load_explicit(&page->has_small, memory_order_relaxed)))
        return;
    atomic_store_explicit(&page->has_small, true, memory_order_relaxed);
    (void)gp_counter_add_shared(&store->count, 1);
}

static inline bool gp_page_has_small(const gp_page *page)
{
    return atomic_load_explicit(&page->has_small, memory_order_relaxed);
}

/* The memory of a span goes back: no block is in it any more, and a late free of a stale pointer
 * finds none. */
void gp_page_store_retire(gp_page_store *store, uintptr_t base, size_t bytes);

#endif
