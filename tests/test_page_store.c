/* Records of small blocks: which pages have any, and what is left of them. */
#include "address_table.h"
#include "page_store.h"

#include "gp/policy.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define BASE ((uintptr_t)0x700000000000)

static gp_page_store store;

static void open_store(void)
{
    cr_assert(eq(int, (int)gp_address_table_prepare(BASE, 64 * GP_PAGE_BYTES), (int)GP_OK));
}

TestSuite(page_store, .init = open_store);

static gp_record *record_at(uintptr_t base)
{
    return gp_leaf_record(gp_address_table_held_leaf(base), base);
}

Test(page_store, has_a_record_of_its_own_for_each_granule_of_each_page)
{
    const uint32_t count = 64 * GP_PAGE_RECORDS;
    for (uint32_t i = 0; i < count; i++)
        gp_record_set(record_at(BASE + i * GP_GRANULE_BYTES), i);

    for (uint32_t i = 0; i < count; i++)
        cr_assert(eq(u32, gp_record_get(record_at(BASE + i * GP_GRANULE_BYTES)), i));
}

Test(page_store, counts_a_page_once_however_many_blocks_start_in_it)
{
    gp_page *page = gp_address_table_held(BASE);

    gp_page_store_note(&store, page);
    gp_page_store_note(&store, page);
    gp_page_store_note(&store, gp_address_table_held(BASE + GP_PAGE_BYTES));

    cr_assert(gp_page_has_small(page));
    cr_assert(not(gp_page_has_small(gp_address_table_held(BASE + 2 * GP_PAGE_BYTES))));
    cr_assert(eq(u64, gp_counter_get(&store.count), 2));
}

/* A record left over from another life would let a foreign pointer pass for a block. */
Test(page_store, leaves_no_record_where_the_memory_goes_back)
{
    gp_page *page = gp_address_table_held(BASE);
    gp_page_store_note(&store, page);
    gp_record_set(record_at(BASE), GP_STATE_LIVE);
    gp_record_set(record_at(BASE + GP_PAGE_BYTES - GP_GRANULE_BYTES), GP_STATE_FREED);

    gp_page_store_retire(&store, BASE, GP_PAGE_BYTES);

    cr_assert(eq(u32, gp_record_get(record_at(BASE)), GP_STATE_NONE));
    cr_assert(
        eq(u32, gp_record_get(record_at(BASE + GP_PAGE_BYTES - GP_GRANULE_BYTES)), GP_STATE_NONE));
    cr_assert(not(gp_page_has_small(page)));
    cr_assert(eq(u64, gp_counter_get(&store.count), 0));
}

Test(page_store, knows_a_block_that_comes_back_twice)
{
    gp_page *page = gp_address_table_held(BASE);
    gp_page_take(page, BASE + 512);

    cr_assert(gp_page_give(page, BASE + 512));
    cr_assert(not(gp_page_give(page, BASE + 512)));
}

Test(page_store, knows_of_no_block_where_the_memory_went_back)
{
    gp_page *page = gp_address_table_held(BASE);
    gp_page_store_note(&store, page);
    gp_page_take(page, BASE + 512);

    gp_page_store_retire(&store, BASE, GP_PAGE_BYTES);

    cr_assert(not(gp_page_give(page, BASE + 512)));
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
