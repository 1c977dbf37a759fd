/* From an address to what gp knows about it. */
#include "address_table.h"
#include "segment.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static gp_pool *const owner = (gp_pool *)(uintptr_t)0x1000;
static gp_segment segment = {.pool = (gp_pool *)(uintptr_t)0x1000};
static gp_segment *const here = &segment;

#define BASE ((uintptr_t)0x700000000000)
#define LEAF_BYTES ((uintptr_t)1 << GP_LEAF_SHIFT)

Test(address_table, knows_nothing_before_it_is_told)
{
    static const uintptr_t addresses[] = {
        0, 1, 4096, BASE, UINTPTR_MAX, (uintptr_t)1 << 49, ((uintptr_t)1 << 49) - 1};

    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        cr_assert(eq(ptr, (void *)gp_address_table_segment(addresses[i]), NULL));
        cr_assert(eq(ptr, (void *)gp_address_table_page(addresses[i]), NULL));
    }
}

Test(address_table, finds_the_segment_of_every_page_and_of_no_other)
{
    cr_assert(eq(int, (int)gp_address_table_prepare(BASE, 4 * GP_PAGE_BYTES), (int)GP_OK));

    gp_address_table_assign(BASE + GP_PAGE_BYTES, 2 * GP_PAGE_BYTES, here);

    cr_assert(eq(ptr, (void *)gp_address_table_segment(BASE + GP_PAGE_BYTES - 1), NULL));
    cr_assert(eq(ptr, (void *)gp_address_table_segment(BASE + GP_PAGE_BYTES), (void *)here));
    cr_assert(
        eq(ptr, (void *)gp_address_table_segment(BASE + 3 * GP_PAGE_BYTES - 1), (void *)here));
    cr_assert(eq(ptr, (void *)gp_address_table_segment(BASE + 3 * GP_PAGE_BYTES), NULL));
}

Test(address_table, tells_a_page_where_it_lies_and_whose_it_is)
{
    cr_assert(eq(int, (int)gp_address_table_prepare(BASE, 2 * GP_PAGE_BYTES), (int)GP_OK));

    gp_address_table_assign(BASE, 2 * GP_PAGE_BYTES, here);

    gp_page *page = gp_address_table_page(BASE + GP_PAGE_BYTES + 512);
    cr_assert(eq(u64, page->base, BASE + GP_PAGE_BYTES));
    cr_assert(eq(ptr, (void *)gp_address_table_pool(BASE + GP_PAGE_BYTES), (void *)owner));
}

Test(address_table, forgets_a_span_that_went_back)
{
    cr_assert(eq(int, (int)gp_address_table_prepare(BASE, GP_PAGE_BYTES), (int)GP_OK));
    gp_address_table_assign(BASE, GP_PAGE_BYTES, here);

    gp_address_table_assign(BASE, GP_PAGE_BYTES, NULL);

    cr_assert(eq(ptr, (void *)gp_address_table_segment(BASE), NULL));
    cr_assert(eq(ptr, (void *)gp_address_table_pool(BASE), NULL));
}

Test(address_table, spans_the_border_between_two_leaves)
{
    uintptr_t border = BASE + LEAF_BYTES;
    cr_assert(eq(int, (int)gp_address_table_prepare(border - GP_PAGE_BYTES, 2 * GP_PAGE_BYTES),
                 (int)GP_OK));

    gp_address_table_assign(border - GP_PAGE_BYTES, 2 * GP_PAGE_BYTES, here);

    cr_assert(eq(ptr, (void *)gp_address_table_segment(border - 1), (void *)here));
    cr_assert(eq(ptr, (void *)gp_address_table_segment(border), (void *)here));
}

Test(address_table, refuses_addresses_beyond_its_bits)
{
    gp_status status = gp_address_table_prepare(((uintptr_t)1 << GP_ADDRESS_BITS) - GP_PAGE_BYTES,
                                                2 * GP_PAGE_BYTES);

    cr_assert(eq(int, (int)status, (int)GP_ERR_UNSUPPORTED));
}
