/* The longest call of a pass, and what it is put down to. */
#include "longest.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/* A contender that does nothing; the test moves its counters. */
static bench_usage counters;

static int get_counters(bench_contender *contender, bench_usage *usage)
{
    (void)contender;
    *usage = counters;
    return 0;
}

static const bench_contender_ops still_ops = {.name = "still", .get_usage = get_counters};
static bench_contender still = {.ops = &still_ops};
static bench_longest longest;

static void open_longest(void)
{
    counters = (bench_usage){0};
    bench_longest_init(&longest);
    cr_assert(eq(int, bench_longest_begin(&longest, &still, 100), 0));
}

static void close_longest(void)
{
    bench_longest_destroy(&longest);
}

TestSuite(longest, .init = open_longest, .fini = close_longest);

static void look(uint64_t ticks, bool frees)
{
    bench_call call = {.ticks = ticks, .event = (size_t)ticks, .frees = frees};
    cr_assert(eq(int, bench_longest_look(&longest, &still, &call), 0));
}

Test(longest, call_is_long_from_the_bound_on_where_anybody_asks)
{
    cr_assert(not(bench_longest_is_long(&longest, 99)));
    cr_assert(bench_longest_is_long(&longest, 100));
    cr_assert(not(bench_longest_is_long(NULL, 100)));
}

Test(longest, call_of_all_that_were_looked_at_is_kept)
{
    look(200, false);
    look(500, true);
    look(300, false);

    cr_assert(eq(sz, longest.call.event, 500));
    cr_assert(longest.call.frees);
}

Test(longest, counts_are_those_since_the_last_look)
{
    counters.native_allocs = 7;
    look(200, false);
    counters.native_allocs = 9;
    counters.queries = 2;
    look(500, false);

    cr_assert(eq(u64, longest.call.did.native_allocs, 2));
    cr_assert(eq(u64, longest.call.did.queries, 2));
}

Test(longest, pass_begins_anew_with_what_was_counted_before)
{
    look(500, false);
    counters.native_allocs = 3;

    cr_assert(eq(int, bench_longest_begin(&longest, &still, 100), 0));
    cr_assert(eq(u64, longest.call.ticks, 0));
    look(200, false);

    cr_assert(eq(u64, longest.call.did.native_allocs, 0));
}

static void expect_cause(const char *cause, bool frees, bench_usage did)
{
    const bench_call call = {.ticks = 1, .frees = frees, .did = did};
    cr_assert(eq(str, (char *)bench_longest_cause(&call), (char *)cause));
}

Test(longest, cause_is_the_costliest_thing_that_a_call_of_its_kind_can_have_done)
{
    expect_cause("growth", false,
                 (bench_usage){.native_allocs = 1, .native_frees = 1, .queries = 9});
    expect_cause("release", false, (bench_usage){.native_trims = 1, .waits = 1});
    expect_cause("wait", false, (bench_usage){.waits = 1, .records = 1});
    expect_cause("fence", true, (bench_usage){.queries = 1, .flushes = 1});
    expect_cause("share", false, (bench_usage){.shared_hits = 1, .refills = 1});
    expect_cause("refill", false, (bench_usage){.refills = 1, .flushes = 1});
    expect_cause("flush", true, (bench_usage){.shared_hits = 1, .refills = 1, .flushes = 1});
    expect_cause("host", true, (bench_usage){.native_allocs = 1, .l1_hits = 3});
    expect_cause("host", false, (bench_usage){.l1_hits = 3});
}

Test(longest, call_that_is_a_native_one_has_no_other_cause)
{
    const bench_call call = {.ticks = 1, .passes_through = true};

    cr_assert(eq(str, (char *)bench_longest_cause(&call), "native"));
}
