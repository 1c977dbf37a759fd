/* Records of small blocks: made, retired, used again. */
#include "address_table.h"
#include "page_store.h"

#include "gp/policy.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define BASE ((uintptr_t)0x700000000000)

static gp_page_store store;

static void open_store(void)
{
    gp_page_store_init(&store);
    cr_assert(eq(int, (int)gp_address_table_prepare(BASE, 64 * GP_PAGE_BYTES), (int)GP_OK));
}

static void close_store(void)
{
    gp_page_store_retire(&store, BASE, 64 * GP_PAGE_BYTES);
    gp_page_store_destroy(&store);
}

TestSuite(page_store, .init = open_store, .fini = close_store);

static void *records_at(uintptr_t base)
{
    return gp_page_store_at(&store, base);
}

Test(page_store, has_one_set_of_records_for_all_addresses_in_a_page)
{
    void *records = records_at(BASE + 512);

    cr_assert(eq(ptr, records_at(BASE), records));
    cr_assert(eq(ptr, records_at(BASE + GP_PAGE_BYTES - 512), records));
    cr_assert(ne(ptr, records_at(BASE + GP_PAGE_BYTES), records));
    cr_assert(eq(ptr, (void *)gp_page_get_records(gp_address_table_page(BASE)), records));
}

Test(page_store, has_a_record_of_its_own_for_each_granule)
{
    gp_page_records *records = gp_page_store_at(&store, BASE);
    for (uint32_t i = 0; i < GP_PAGE_RECORDS; i++)
        gp_record_set(gp_record_at(records, BASE + i * GP_GRANULE_BYTES), i);

    for (uint32_t i = 0; i < GP_PAGE_RECORDS; i++)
        cr_assert(eq(u32, gp_record_get(&records->of_granule[i]), i));
}

/* A record left over from another life would let a foreign pointer pass for a block. */
Test(page_store, hands_retired_records_out_blank)
{
    gp_page_records *records = gp_page_store_at(&store, BASE);
    gp_record_set(gp_record_at(records, BASE + 1024), GP_STATE_LIVE);

    gp_page_store_retire(&store, BASE, GP_PAGE_BYTES);
    gp_page_records *again = gp_page_store_at(&store, BASE + 8 * GP_PAGE_BYTES);

    cr_assert(eq(ptr, (void *)gp_page_get_records(gp_address_table_page(BASE)), NULL));
    cr_assert(eq(ptr, (void *)again, (void *)records));
    cr_assert(eq(u32, gp_record_get(&again->of_granule[2]), GP_STATE_NONE));
    cr_assert(eq(u64, gp_counter_get(&store.count), 1));
}

Test(page_store, forgets_a_large_block_with_the_memory_under_it)
{
    gp_page *page = gp_address_table_page(BASE);
    gp_page_set_large(page, GP_STATE_FREED);

    gp_page_store_retire(&store, BASE, GP_PAGE_BYTES);

    cr_assert(eq(u32, gp_record_get(&page->large), GP_STATE_NONE));
}

Test(page_store, retires_a_span_in_which_no_small_block_ever_started)
{
    gp_page_store_retire(&store, BASE, 64 * GP_PAGE_BYTES);

    cr_assert(eq(u64, gp_counter_get(&store.count), 0));
}
