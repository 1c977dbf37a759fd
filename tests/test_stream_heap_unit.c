/* The stream heap, step by step. */
#include "heap_fixture.h"

#include "address_table.h"

TestSuite(stream_heap_unit, .init = heap_open, .fini = heap_close);

static size_t take(size_t pages)
{
    return heap_take(pages, 1, HEAP_ANY_AGE);
}

/* Nothing is so old. */
static void expect_no_old(uint64_t limit)
{
    heap_span spans[HEAP_PAGES];
    cr_assert(eq(sz, heap_take_old(limit, spans), 0));
}

/* All that is so old are these, in this order. */
static void expect_old(uint64_t limit, const heap_span *expected, size_t count)
{
    heap_span spans[HEAP_PAGES];
    cr_assert(eq(sz, heap_take_old(limit, spans), count));
    for (size_t i = 0; i < count; i++) {
        cr_assert(eq(sz, spans[i].page, expected[i].page));
        cr_assert(eq(sz, spans[i].pages, expected[i].pages));
    }
}

/* ---- in ------------------------------------------------------------------------------ */

Test(stream_heap_unit, joins_what_comes_back_in_any_order)
{
    enum { COUNT = 5, ORDERS = 120, EACH = 3 };

    for (size_t permutation = 0; permutation < ORDERS; permutation++) {
        size_t places[COUNT] = {0, 1, 2, 3, 4};
        size_t digits = permutation;
        for (size_t left = COUNT; left > 0; left--) {
            size_t i = digits % left;
            digits /= left;
            heap_give(places[i] * EACH, EACH, left);
            places[i] = places[left - 1];
        }

        cr_assert(eq(sz, heap_pages(), COUNT * EACH));
        cr_assert(eq(sz, heap_take_exact(COUNT * EACH, 1), 0));
        cr_assert(eq(sz, heap_pages(), 0));
    }
}

Test(stream_heap_unit, does_not_join_what_does_not_touch)
{
    heap_give(0, 2, 1);
    heap_give(3, 2, 2);

    cr_assert(eq(sz, take(3), HEAP_NONE));
    cr_assert(eq(sz, heap_pages(), 4));
}

Test(stream_heap_unit, never_joins_across_native_segments_that_touch)
{
    const size_t border = heap_segment_starts[1];
    heap_give(border, 4, 1);
    heap_give(border - 4, 4, 2);

    cr_assert(eq(sz, take(5), HEAP_NONE));

    heap_give(border + 4, 4, 3);
    cr_assert(eq(sz, heap_take_exact(8, 1), border), "within one it does");
    cr_assert(eq(sz, heap_take_exact(4, 1), border - 4));
}

/* Whoever walks the pool must meet each span once. */
Test(stream_heap_unit, is_one_cached_block_for_each_span)
{
    heap_give(0, 2, 1);
    heap_give(4, 2, 2);
    cr_assert(eq(u32, heap_record(0), GP_CLASS_LARGE | GP_STATE_CACHED));
    cr_assert(eq(u32, heap_record(4), GP_CLASS_LARGE | GP_STATE_CACHED));

    heap_give(2, 2, 3);

    cr_assert(eq(u32, heap_record(0), GP_CLASS_LARGE | GP_STATE_CACHED));
    cr_assert(eq(u32, heap_record(2), GP_CLASS_LARGE | GP_STATE_FREED));
    cr_assert(eq(u32, heap_record(4), GP_CLASS_LARGE | GP_STATE_FREED));
    cr_assert(
        eq(sz, gp_page_large_bytes(gp_address_table_page(HEAP_ADDRESS(0))), 6 * GP_PAGE_BYTES));
}

/* ---- out ----------------------------------------------------------------------------- */

Test(stream_heap_unit, takes_the_smallest_span_with_room_and_the_lowest_of_equals)
{
    heap_give(0, 9, 1);
    heap_give(10, 5, 2);
    heap_give(20, 6, 3);
    heap_give(30, 5, 4);

    cr_assert(eq(sz, take(5), 10));
    cr_assert(eq(sz, take(5), 30));
    cr_assert(eq(sz, take(5), 21));
    cr_assert(eq(sz, take(5), 4));
    cr_assert(eq(sz, take(5), HEAP_NONE));
    cr_assert(eq(sz, heap_pages(), 4 + 1));
}

Test(stream_heap_unit, cuts_the_high_end_off)
{
    heap_give(0, 10, 7);

    cr_assert(eq(sz, take(3), 7));
    cr_assert(eq(sz, take(3), 4));

    cr_assert(eq(sz, heap_pages(), 4));
    cr_assert(eq(sz, heap_take_exact(4, 1), 0), "the rest is one span");
}

Test(stream_heap_unit, leaves_what_lies_before_and_behind_an_aligned_block)
{
    heap_give(1, 13, 7);

    cr_assert(eq(sz, heap_take(3, 8, HEAP_ANY_AGE), 8));

    cr_assert(eq(sz, heap_pages(), 10));
    cr_assert(eq(u32, heap_record(11), GP_CLASS_LARGE | GP_STATE_CACHED));
    heap_give(8, 3, 1);
    cr_assert(eq(sz, heap_take_exact(13, 1), 1), "both are joined to it again");
}

Test(stream_heap_unit, leaves_only_the_tail_of_a_span_that_starts_aligned)
{
    heap_give(8, 7, 7);

    cr_assert(eq(sz, heap_take(3, 8, HEAP_ANY_AGE), 8));

    cr_assert(eq(sz, heap_pages(), 4));
    cr_assert(eq(sz, heap_take_exact(4, 1), 11));
}

Test(stream_heap_unit, passes_by_spans_in_which_the_alignment_leaves_no_room)
{
    heap_give(1, 9, 1);   /* Of 8 its pages 1 to 9. */
    heap_give(20, 11, 2); /* 24 to 30 are too few. */
    heap_give(40, 12, 3);

    cr_assert(eq(sz, heap_take(8, 8, HEAP_ANY_AGE), 40));
    cr_assert(eq(sz, heap_take(8, 8, HEAP_ANY_AGE), HEAP_NONE));
    cr_assert(eq(sz, heap_take(1, (size_t)1 << 40, HEAP_ANY_AGE), HEAP_NONE));
    cr_assert(eq(sz, heap_pages(), 9 + 11 + 4));
}

Test(stream_heap_unit, takes_an_exact_span_only_of_just_the_size)
{
    heap_give(1, 4, 1);
    heap_give(10, 6, 2);
    heap_give(20, 4, 3);

    cr_assert(eq(sz, heap_take_exact(5, 1), HEAP_NONE));
    cr_assert(eq(sz, heap_take_exact(6, 8), HEAP_NONE), "it is not aligned so");
    cr_assert(eq(sz, heap_take_exact(4, 1), 1));
    cr_assert(eq(sz, heap_take_exact(4, 1), 20));
    cr_assert(eq(sz, heap_take_exact(4, 1), HEAP_NONE));
    cr_assert(eq(sz, heap_take_exact(6, 2), 10));
    cr_assert(eq(sz, heap_take_exact(6, 1), HEAP_NONE));
}

/* ---- age ------------------------------------------------------------------------------- */

Test(stream_heap_unit, takes_nothing_that_is_younger_than_the_limit)
{
    heap_give(0, 4, 10);
    heap_give(8, 6, 5);

    cr_assert(eq(sz, heap_take(4, 1, 4), HEAP_NONE));
    cr_assert(eq(sz, heap_take(4, 1, 5), 10), "past the smaller one");
    cr_assert(eq(sz, heap_take(4, 1, 9), HEAP_NONE));
    cr_assert(eq(sz, heap_take(4, 1, 10), 0));
}

/* Whichever part is joined to which. */
Test(stream_heap_unit, joined_span_is_as_young_as_its_youngest_part)
{
    static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t order = 0; order < 6; order++) {
        for (size_t youngest = 0; youngest < 3; youngest++) {
            for (size_t i = 0; i < 3; i++)
                heap_give(orders[order][i] * 2, 2, orders[order][i] == youngest ? 9 : 3);

            cr_assert(eq(sz, heap_take(1, 1, 8), HEAP_NONE));
            expect_no_old(8);
            expect_old(9, &(heap_span){.page = 0, .pages = 6}, 1);
        }
    }
}

Test(stream_heap_unit, what_is_left_of_a_span_is_as_young_as_that_was)
{
    heap_give(1, 13, 7);
    cr_assert(eq(sz, heap_take(3, 8, HEAP_ANY_AGE), 8));

    static const heap_span left[] = {{1, 7}, {11, 3}};
    expect_no_old(6);
    expect_old(7, left, 2);
}

Test(stream_heap_unit, gives_up_all_old_spans_in_order_of_address)
{
    static const heap_span old[] = {{0, 3}, {40, 1}};
    heap_give(40, 1, 1);
    heap_give(20, 2, 9);
    heap_give(0, 3, 5);

    expect_old(5, old, 2);

    expect_no_old(8);
    cr_assert(eq(sz, heap_pages(), 2));
    expect_old(9, &(heap_span){.page = 20, .pages = 2}, 1);
    cr_assert(eq(sz, heap_pages(), 0));
}

Test(stream_heap_unit, makes_all_of_it_as_young_as_it_is_told)
{
    static const heap_span all[] = {{10, 2}, {20, 4}};
    heap_give(0, 1, 3);
    heap_give(10, 2, 8);
    heap_give(20, 4, 5);

    gp_stream_heap_renew(&heap, 12);

    cr_assert(eq(sz, heap_take(1, 1, 11), HEAP_NONE));
    expect_no_old(11);
    cr_assert(eq(sz, heap_take(1, 1, 12), 0));
    expect_old(12, all, 2);
}

Test(stream_heap_unit, forgets_everything_when_cleared)
{
    heap_give(0, 4, 1);
    heap_give(10, 4, 1);

    gp_stream_heap_clear(&heap);

    cr_assert(eq(sz, heap_pages(), 0));
    cr_assert(eq(sz, take(1), HEAP_NONE));
    expect_no_old(HEAP_ANY_AGE);
}
