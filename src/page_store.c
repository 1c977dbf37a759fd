#include "page_store.h"

#include "address_table.h"

/* One by one: a late free may read them meanwhile. */
static void clear_records(uintptr_t page_base)
{
    gp_record *record = gp_leaf_record(gp_address_table_held_leaf(page_base), page_base);
    for (uint32_t i = 0; i < GP_PAGE_RECORDS; i++)
        gp_record_set(&record[i], GP_STATE_NONE);
}

void gp_page_store_retire(gp_page_store *store, uintptr_t base, size_t bytes)
{
    for (uintptr_t address = base; address < base + bytes; address += GP_PAGE_BYTES) {
        gp_page *page = gp_address_table_held(address);
        gp_record_set(&page->large, GP_STATE_NONE);
        if (!gp_page_has_small(page))
            continue;
        clear_records(address);
        for (uint32_t i = 0; i < GP_PAGE_RECORDS / 64; i++)
            page->taken[i] = 0;
        atomic_store_explicit(&page->has_small, false, memory_order_relaxed);
        gp_counter_sub_shared(&store->count, 1);
    }
}
