/* The blocks of a pool that passes through, by address. */
#include "direct_table.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

static gp_direct_table table;

static void open_table(void)
{
    gp_direct_table_init(&table);
}

static void close_table(void)
{
    gp_direct_table_destroy(&table, NULL);
}

TestSuite(direct_table, .init = open_table, .fini = close_table);

static void add(uintptr_t base, size_t bytes)
{
    gp_direct_block *block = malloc(sizeof(*block));
    cr_assert(ne(ptr, block, NULL));
    *block = (gp_direct_block){
        .base = base, .bytes = bytes, .native_bytes = bytes, .state = GP_DIRECT_LIVE};
    gp_direct_table_add(&table, block);
}

static gp_direct_block *begin_end(uintptr_t base)
{
    return gp_direct_table_claim(&table, base, GP_DIRECT_LIVE, GP_DIRECT_ENDING);
}

static void end(uintptr_t base)
{
    gp_direct_block *block = begin_end(base);
    cr_assert(ne(ptr, block, NULL));
    gp_direct_table_retire(&table, block);
}

Test(direct_table, gives_a_block_to_one_of_those_that_end_it)
{
    add(0x1000, 512);

    cr_assert(ne(ptr, begin_end(0x1000), NULL));

    cr_assert(eq(ptr, begin_end(0x1000), NULL));
    cr_assert(not(gp_direct_table_has(&table, 0x1000)), "it may be another pool's by now");
    cr_assert(gp_direct_table_has_freed(&table, 0x1000));
}

Test(direct_table, knows_freed_blocks_until_their_memory_is_another_blocks)
{
    for (uintptr_t base = 0x1000; base < 0x5000; base += 0x1000) {
        add(base, 0x1000);
        end(base);
    }

    add(0x2800, 0x1000);

    cr_assert(gp_direct_table_has_freed(&table, 0x1fff));
    cr_assert(not(gp_direct_table_has_freed(&table, 0x2000)));
    cr_assert(not(gp_direct_table_has_freed(&table, 0x3fff)));
    cr_assert(gp_direct_table_has_freed(&table, 0x4000));
}

/* The native pool handed the memory out again before the thread that freed it said so here. */
Test(direct_table, lets_a_new_block_take_the_place_of_one_that_is_ending)
{
    add(0x1000, 512);
    gp_direct_block *ending = begin_end(0x1000);

    add(0x1000, 256);
    gp_direct_table_retire(&table, ending);

    gp_direct_block found;
    cr_assert(eq(int, (int)gp_direct_table_at(&table, (void *)0x1000, &found), (int)GP_OK));
    cr_assert(eq(sz, found.bytes, 256));
    cr_assert(eq(sz, table.freed_count, 0));
    cr_assert(not(gp_direct_table_has_freed(&table, 0x1000)));
}

Test(direct_table, forgets_the_oldest_of_very_many_freed_blocks)
{
    enum { MOST = 65536 };
    for (uintptr_t i = 1; i <= MOST + 10; i++) {
        add(i * 0x1000, 512);
        end(i * 0x1000);
    }

    cr_assert(not(gp_direct_table_has_freed(&table, 10 * 0x1000)));
    cr_assert(gp_direct_table_has_freed(&table, 11 * 0x1000));
    cr_assert(eq(u64, gp_counter_get(&table.count), MOST));
}

Test(direct_table, lists_and_sums_what_is_outstanding)
{
    gp_direct_block *blocks = NULL;
    size_t count = 0;
    add(0x3000, 100);
    add(0x1000, 200);
    add(0x2000, 300);
    end(0x2000);
    cr_assert(
        ne(ptr, gp_direct_table_claim(&table, 0x1000, GP_DIRECT_LIVE, GP_DIRECT_PARKED), NULL));

    const gp_direct_sum sum = gp_direct_table_sum(&table);
    cr_assert(gp_direct_table_list(&table, &blocks, &count));

    cr_assert(eq(u64, sum.native, 300));
    cr_assert(eq(u64, sum.live, 100));
    cr_assert(eq(u64, sum.parked, 200));
    cr_assert(eq(sz, count, 2));
    cr_assert(eq(u64, blocks[0].base, 0x1000));
    cr_assert(eq(u64, blocks[1].base, 0x3000));
    free(blocks);
}
