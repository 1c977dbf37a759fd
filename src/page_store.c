#include "page_store.h"

#include <stdlib.h>
#include <string.h>

#include "address_table.h"

void gp_page_store_init(gp_page_store *store, gp_pool *pool)
{
    store->pool = pool;
    store->spare = NULL;
}

void gp_page_store_destroy(gp_page_store *store)
{
    while (store->spare != NULL) {
        gp_page *next = store->spare->next;
        free(store->spare);
        store->spare = next;
    }
}

static gp_page *take_spare(gp_page_store *store)
{
    gp_lock_acquire(&store->lock);
    gp_page *page = store->spare;
    if (page != NULL)
        store->spare = page->next;
    gp_lock_release(&store->lock);
    return page;
}

static gp_page *make(gp_page_store *store)
{
    gp_page *page = aligned_alloc(_Alignof(gp_page), sizeof(*page));
    if (page != NULL) {
        *page = (gp_page){.pool = store->pool};
        (void)gp_counter_add_shared(&store->count, 1);
    }
    return page;
}

gp_page *gp_page_store_at(gp_page_store *store, uintptr_t base)
{
    gp_address_entry *entry = gp_address_table_entry(base);
    gp_page *page = atomic_load_explicit(&entry->page, memory_order_acquire);
    if (GP_LIKELY(page != NULL))
        return page;

    page = take_spare(store);
    if (page == NULL)
        page = make(store);
    if (page == NULL)
        return NULL;

    page->base = base & ~(GP_PAGE_BYTES - 1);
    /* Nobody sees it yet, so not one by one. */
    _Static_assert(GP_STATE_NONE == 0, "a cleared page has no blocks");
    memset((void *)page->records, 0, sizeof(page->records));
    atomic_store_explicit(&entry->page, page, memory_order_release);
    return page;
}

void gp_page_store_retire(gp_page_store *store, uintptr_t base, size_t bytes)
{
    for (uintptr_t address = base; address < base + bytes; address += GP_PAGE_BYTES) {
        gp_address_entry *entry = gp_address_table_entry(address);
        gp_page *page = atomic_exchange_explicit(&entry->page, NULL, memory_order_acq_rel);
        if (page == NULL)
            continue;
        gp_lock_acquire(&store->lock);
        page->next = store->spare;
        store->spare = page;
        gp_lock_release(&store->lock);
    }
}
