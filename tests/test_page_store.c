/* Pages of block records: made, retired, used again. */
#include "address_table.h"
#include "page_store.h"

#include "gp/policy.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define BASE ((uintptr_t)0x700000000000)

static gp_page_store store;
static gp_pool *const owner = (gp_pool *)(uintptr_t)0x1000;

static void open_store(void)
{
    gp_page_store_init(&store, owner);
    cr_assert(eq(int, (int)gp_address_table_prepare(BASE, 64 * GP_PAGE_BYTES), (int)GP_OK));
}

static void close_store(void)
{
    gp_page_store_retire(&store, BASE, 64 * GP_PAGE_BYTES);
    gp_page_store_destroy(&store);
}

TestSuite(page_store, .init = open_store, .fini = close_store);

Test(page_store, has_one_page_for_all_addresses_in_it)
{
    gp_page *page = gp_page_store_at(&store, BASE + 512);

    cr_assert(eq(ptr, (void *)gp_page_store_at(&store, BASE), (void *)page));
    cr_assert(eq(ptr, (void *)gp_page_store_at(&store, BASE + GP_PAGE_BYTES - 512), (void *)page));
    cr_assert(ne(ptr, (void *)gp_page_store_at(&store, BASE + GP_PAGE_BYTES), (void *)page));
    cr_assert(eq(ptr, (void *)page->pool, (void *)owner));
    cr_assert(eq(u64, page->base, BASE));
}

Test(page_store, has_a_record_of_its_own_for_each_granule)
{
    gp_page *page = gp_page_store_at(&store, BASE);
    for (uint32_t i = 0; i < GP_PAGE_RECORDS; i++)
        gp_record_set(gp_page_record(page, BASE + i * GP_GRANULE_BYTES), i);

    for (uint32_t i = 0; i < GP_PAGE_RECORDS; i++)
        cr_assert(eq(u32, gp_record_get(&page->records[i]), i));
}

/* A record left over from another life would let a foreign pointer pass for a block. */
Test(page_store, hands_a_retired_page_out_blank)
{
    gp_page *page = gp_page_store_at(&store, BASE);
    gp_record_set(gp_page_record(page, BASE + 1024), GP_STATE_LIVE);

    gp_page_store_retire(&store, BASE, GP_PAGE_BYTES);
    gp_page *again = gp_page_store_at(&store, BASE + 8 * GP_PAGE_BYTES);

    cr_assert(eq(ptr, (void *)gp_address_table_page(BASE), NULL));
    cr_assert(eq(ptr, (void *)again, (void *)page));
    cr_assert(eq(u64, again->base, BASE + 8 * GP_PAGE_BYTES));
    cr_assert(eq(u32, gp_record_get(&again->records[2]), GP_STATE_NONE));
    cr_assert(eq(u64, gp_counter_get(&store.count), 1));
}

Test(page_store, retires_a_span_in_which_no_block_ever_started)
{
    gp_page_store_retire(&store, BASE, 64 * GP_PAGE_BYTES);

    cr_assert(eq(u64, gp_counter_get(&store.count), 0));
}
