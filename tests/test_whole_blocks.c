/* Whole blocks: the few that were freed last, for requests of just their size. */
#include "whole_blocks.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define KIB ((size_t)1 << 10)
#define ANY_AGE UINT64_MAX

static gp_whole_blocks whole;

static void open_whole(void)
{
    gp_whole_blocks_fit(&whole, 0);
}

TestSuite(whole_blocks, .init = open_whole);

static uintptr_t base_of(size_t block)
{
    return (block + 1) * GP_PAGE_BYTES;
}

/* Each block lies a page's length behind the one before it. */
static void put(size_t block, size_t bytes, uint64_t give)
{
    gp_whole_blocks_put(&whole, (gp_span){.base = base_of(block), .bytes = bytes}, give);
}

static const size_t none = SIZE_MAX;

static size_t take_aligned(size_t bytes, size_t alignment, uint64_t limit)
{
    const gp_fit fit = {.bytes = bytes, .alignment = alignment};
    gp_span block;
    return gp_whole_blocks_take(&whole, &fit, limit, &block) ? block.base / GP_PAGE_BYTES - 1
                                                             : none;
}

static size_t take(size_t bytes)
{
    return take_aligned(bytes, 512, ANY_AGE);
}

Test(whole_blocks, serve_only_requests_of_just_their_size)
{
    put(0, 1024 * KIB, 1);

    cr_assert(eq(sz, take(1024 * KIB - 64 * KIB), none));
    cr_assert(eq(sz, take(1024 * KIB + 64 * KIB), none));
    cr_assert(eq(sz, take(512 * KIB), none));
    cr_assert(eq(sz, take(1024 * KIB), 0));
    cr_assert(eq(sz, take(1024 * KIB), none));
}

Test(whole_blocks, go_newest_first_and_stay_in_order)
{
    put(0, 128 * KIB, 1);
    put(1, 192 * KIB, 2);
    put(2, 128 * KIB, 3);
    put(3, 192 * KIB, 4);

    cr_assert(eq(sz, take(128 * KIB), 2));
    cr_assert(eq(u64, gp_counter_get(&whole.bytes), (128 + 2 * 192) * KIB));
    cr_assert(eq(u64, whole.bases[0], base_of(0)));
    cr_assert(eq(u64, whole.bases[1], base_of(1)));
    cr_assert(eq(u64, whole.gives[1], 2));
    cr_assert(eq(sz, take(192 * KIB), 3));
    cr_assert(eq(sz, take(192 * KIB), 1));
    cr_assert(eq(sz, take(128 * KIB), 0));
    cr_assert(eq(u64, gp_counter_get(&whole.bytes), 0));
}

Test(whole_blocks, of_the_size_that_are_not_aligned_so_are_passed_by)
{
    put(1, 128 * KIB, 1);
    put(2, 128 * KIB, 2);
    put(3, 128 * KIB, 3);
    put(4, 128 * KIB, 4);

    cr_assert(eq(sz, take_aligned(128 * KIB, 256 * KIB, ANY_AGE), 3));
    cr_assert(eq(sz, take_aligned(128 * KIB, 256 * KIB, ANY_AGE), none));
    cr_assert(eq(sz, take_aligned(128 * KIB, 128 * KIB, ANY_AGE), 1));
}

Test(whole_blocks, younger_than_the_limit_are_passed_by)
{
    put(0, 128 * KIB, 5);
    put(1, 128 * KIB, 6);
    put(2, 128 * KIB, 7);

    cr_assert(eq(sz, take_aligned(128 * KIB, 512, 4), none));
    cr_assert(eq(sz, take_aligned(128 * KIB, 512, 6), 1));
    cr_assert(eq(sz, take_aligned(128 * KIB, 512, 6), 0));
    cr_assert(eq(sz, take_aligned(128 * KIB, 512, 6), none));
    cr_assert(eq(sz, take(128 * KIB), 2));
}

Test(whole_blocks, leave_oldest_first)
{
    put(0, 128 * KIB, 5);
    put(1, 192 * KIB, 6);
    put(2, 256 * KIB, 7);

    cr_assert(eq(u32, gp_whole_blocks_older(&whole, 4), 0));
    cr_assert(eq(u32, gp_whole_blocks_older(&whole, 6), 2));
    cr_assert(eq(u32, gp_whole_blocks_older(&whole, ANY_AGE), 3));
    gp_whole_blocks_drop(&whole, 2);

    cr_assert(eq(u32, gp_whole_blocks_count(&whole), 1));
    cr_assert(eq(u64, whole.bases[0], base_of(2)));
    cr_assert(eq(u64, gp_counter_get(&whole.bytes), 256 * KIB));
    cr_assert(eq(sz, take(256 * KIB), 2));
}

Test(whole_blocks, all_count_as_freed_later_once_renewed)
{
    put(0, 128 * KIB, 5);
    put(1, 192 * KIB, 6);

    gp_whole_blocks_renew(&whole, 9);

    cr_assert(eq(u32, gp_whole_blocks_older(&whole, 8), 0));
    cr_assert(eq(u32, gp_whole_blocks_older(&whole, 9), 2));
}

Test(whole_blocks, are_many_before_they_are_full)
{
    while (!gp_whole_blocks_are_many(&whole))
        put(gp_whole_blocks_count(&whole), 64 * KIB, gp_whole_blocks_count(&whole) + 1);

    cr_assert(not(gp_whole_blocks_are_full(&whole)));
    cr_assert(eq(u32, gp_whole_blocks_count(&whole) - gp_whole_blocks_surplus(&whole),
                 GP_WHOLE_BLOCKS / 2));
}

Test(whole_blocks, are_many_by_their_bytes)
{
    put(0, 2 * GP_WHOLE_BYTES / 8, 1);
    put(1, 3 * GP_WHOLE_BYTES / 8, 2);
    put(2, 3 * GP_WHOLE_BYTES / 8, 3);
    cr_assert(not(gp_whole_blocks_are_many(&whole)));
    put(3, 64 * KIB, 4);

    cr_assert(gp_whole_blocks_are_many(&whole));
    cr_assert(eq(u32, gp_whole_blocks_surplus(&whole), 2));
}

Test(whole_blocks, few_have_no_surplus)
{
    put(0, GP_WHOLE_BYTES / 2, 1);

    cr_assert(eq(u32, gp_whole_blocks_surplus(&whole), 0));
}

Test(whole_blocks, are_none_of_which_two_would_be_too_much)
{
    cr_assert(gp_whole_blocks_accept(&whole, GP_WHOLE_BYTES / 2));
    cr_assert(not(gp_whole_blocks_accept(&whole, GP_WHOLE_BYTES / 2 + 64 * KIB)));
}

Test(whole_blocks, may_be_more_in_a_pool_that_holds_much)
{
    gp_whole_blocks_fit(&whole, 2 * GP_WHOLE_SHARE * GP_WHOLE_BYTES);

    put(0, GP_WHOLE_BYTES, 1);
    put(1, GP_WHOLE_BYTES, 2);
    cr_assert(not(gp_whole_blocks_are_many(&whole)));
    put(2, 64 * KIB, 3);

    cr_assert(gp_whole_blocks_are_many(&whole));
    cr_assert(eq(u32, gp_whole_blocks_surplus(&whole), 2));
}
