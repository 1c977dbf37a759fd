#include "page_store.h"

#include <stdlib.h>
#include <string.h>

#include "address_table.h"

/* Their memory while no page has them. */
typedef struct gp_spare_records {
    struct gp_spare_records *next;
} gp_spare_records;

void gp_page_store_init(gp_page_store *store)
{
    store->spare = NULL;
}

void gp_page_store_destroy(gp_page_store *store)
{
    while (store->spare != NULL) {
        gp_spare_records *next = store->spare->next;
        free(store->spare);
        store->spare = next;
    }
}

static void *take_spare(gp_page_store *store)
{
    gp_lock_acquire(&store->lock, GP_RANK_LEAF);
    gp_spare_records *spare = store->spare;
    if (spare != NULL)
        store->spare = spare->next;
    gp_lock_release(&store->lock, GP_RANK_LEAF);
    return spare;
}

static void keep_spare(gp_page_store *store, gp_page_records *records)
{
    gp_spare_records *spare = (void *)records;
    gp_lock_acquire(&store->lock, GP_RANK_LEAF);
    spare->next = store->spare;
    store->spare = spare;
    gp_lock_release(&store->lock, GP_RANK_LEAF);
}

static void *make(gp_page_store *store)
{
    void *records = aligned_alloc(GP_CACHE_LINE, sizeof(gp_page_records));
    if (records != NULL)
        (void)gp_counter_add_shared(&store->count, 1);
    return records;
}

gp_page_records *gp_page_store_at(gp_page_store *store, uintptr_t base)
{
    gp_page *page = gp_address_table_held(base);
    gp_page_records *records = gp_page_get_records(page);
    if (GP_LIKELY(records != NULL))
        return records;

    records = take_spare(store);
    if (records == NULL)
        records = make(store);
    if (records == NULL)
        return NULL;

    /* Nobody sees them yet, so not one by one. */
    _Static_assert(GP_STATE_NONE == 0, "cleared records have no blocks");
    memset((void *)records, 0, sizeof(*records));
    atomic_store_explicit(&page->records, records, memory_order_release);
    return records;
}

void gp_page_store_retire(gp_page_store *store, uintptr_t base, size_t bytes)
{
    for (uintptr_t address = base; address < base + bytes; address += GP_PAGE_BYTES) {
        gp_page *page = gp_address_table_held(address);
        gp_record_set(&page->large, GP_STATE_NONE);
        gp_page_records *records =
            atomic_exchange_explicit(&page->records, NULL, memory_order_acq_rel);
        if (records != NULL)
            keep_spare(store, records);
    }
}
