/* Memory and captures: which addresses are a graph's. */
#include "captured_blocks.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static gp_captured_blocks blocks;

static void open_blocks(void)
{
    gp_captured_blocks_init(&blocks);
}

static void close_blocks(void)
{
    gp_captured_blocks_destroy(&blocks);
}

TestSuite(captured_blocks, .init = open_blocks, .fini = close_blocks);

Test(captured_blocks, know_the_addresses_they_were_told_and_no_other)
{
    for (uintptr_t address = 0x1000; address < 0x100000; address += 0x2000)
        cr_assert(eq(int, (int)gp_captured_blocks_add(&blocks, address), (int)GP_OK));

    for (uintptr_t address = 0x1000; address < 0x100000; address += 0x2000) {
        cr_assert(gp_captured_blocks_has(&blocks, address));
        cr_assert(not(gp_captured_blocks_has(&blocks, address + 0x1000)));
        cr_assert(not(gp_captured_blocks_has(&blocks, address + 1)));
    }
}

/* A new graph may get the address of one that is gone. */
Test(captured_blocks, may_be_told_the_same_address_again)
{
    cr_assert(eq(int, (int)gp_captured_blocks_add(&blocks, 0x1000), (int)GP_OK));
    cr_assert(eq(int, (int)gp_captured_blocks_add(&blocks, 0x1000), (int)GP_OK));

    cr_assert(gp_captured_blocks_has(&blocks, 0x1000));
}
