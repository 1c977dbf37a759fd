#include "lineup.h"
#include "memory.h"
#include "scale.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

TestSuite(bench_lineup);

static bench_lineup lineup;

Test(bench_lineup, knows_every_policy_of_gp_and_the_native_pool_by_name)
{
    static const char *const names[] = {"first-fit",   "best-fit", "by-size",
                                        "cache-first", "native",   "cuda-malloc"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cr_assert(eq(int, bench_lineup_add(&lineup, names[i]), BENCH_LINEUP_ADDED));
        cr_assert(eq(str, (char *)lineup.contenders[i]->name, (char *)names[i]));
    }
    cr_assert(eq(sz, lineup.count, 6));
}

Test(bench_lineup, measures_what_a_recording_costs_only_if_that_is_asked)
{
    cr_assert(eq(int, bench_lineup_add(&lineup, "recorded"), BENCH_LINEUP_ADDED));
    cr_assert(eq(str, (char *)lineup.contenders[0]->name, "recorded"));
    lineup = (bench_lineup){0};

    bench_lineup_add_all(&lineup);

    for (size_t i = 0; i < lineup.count; i++)
        cr_assert(ne(str, (char *)lineup.contenders[i]->name, "recorded"));
}

Test(bench_lineup, takes_nobody_twice)
{
    cr_assert(eq(int, bench_lineup_add(&lineup, "native"), BENCH_LINEUP_ADDED));
    cr_assert(eq(int, bench_lineup_add(&lineup, "native"), BENCH_LINEUP_ADDED));

    cr_assert(eq(sz, lineup.count, 1));
}

Test(bench_lineup, does_not_know_just_any_name)
{
    cr_assert(eq(int, bench_lineup_add(&lineup, "fastest"), BENCH_LINEUP_UNKNOWN));
    cr_assert(eq(int, bench_lineup_add(&lineup, ""), BENCH_LINEUP_UNKNOWN));
}

Test(bench_lineup, keeps_why_a_shared_library_could_not_be_had)
{
    cr_assert(eq(int, bench_lineup_add(&lineup, "./nonexistent.so"), BENCH_LINEUP_ABSENT));

    cr_assert(eq(sz, lineup.absent_count, 1));
    cr_assert(eq(str, lineup.absent[0].name, "./nonexistent.so"));
    cr_assert(ne(ptr, strstr(lineup.absent[0].reason, "No such file"), NULL));
}

Test(bench_lineup, takes_a_policy_out_of_a_shared_library)
{
    cr_assert(eq(int, bench_lineup_add(&lineup, GP_NEXT_FIT_FILE), BENCH_LINEUP_ADDED));

    cr_assert(eq(str, (char *)lineup.contenders[0]->name, "next-fit"));
}

Test(bench_lineup, refuses_a_peer_of_another_build)
{
    cr_assert(eq(int, bench_lineup_add(&lineup, GP_OLD_PEER_FILE), BENCH_LINEUP_ABSENT));

    cr_assert(eq(str, lineup.absent[0].reason, "built for another version of gp-bench"));
}

Test(bench_lineup, refuses_a_shared_library_that_offers_nothing)
{
    cr_assert(eq(int, bench_lineup_add(&lineup, FAKE_DRIVER_FILE), BENCH_LINEUP_ABSENT));

    cr_assert(ne(ptr, strstr(lineup.absent[0].reason, "exports neither"), NULL));
}

Test(bench_lineup, leaves_out_what_needs_a_gpu_and_says_so)
{
    static const bench_contender_ops needy = {.name = "needy", .needs_gpu = true};
    cr_assert(eq(int, bench_lineup_add(&lineup, "native"), BENCH_LINEUP_ADDED));
    lineup.contenders[lineup.count++] = &needy;
    cr_assert(eq(int, bench_lineup_add(&lineup, "cache-first"), BENCH_LINEUP_ADDED));

    bench_lineup_leave_gpu_out(&lineup);

    cr_assert(eq(sz, lineup.count, 2));
    cr_assert(eq(str, (char *)lineup.contenders[1]->name, "cache-first"));
    cr_assert(eq(str, lineup.absent[0].name, "needy"));
    cr_assert(eq(str, lineup.absent[0].reason, "needs a GPU"));
}

/* ---- the axes of scale, and the figure of fragment ---- */

Test(bench_lineup, an_axis_ends_with_the_most_that_was_asked_for)
{
    cr_assert(eq(sz, bench_axis_value(BENCH_AXIS_THREADS, 0, 6), 1));
    cr_assert(eq(sz, bench_axis_value(BENCH_AXIS_THREADS, 2, 6), 4));
    cr_assert(eq(sz, bench_axis_value(BENCH_AXIS_THREADS, 3, 6), 6));
    cr_assert(eq(sz, bench_axis_value(BENCH_AXIS_THREADS, 4, 6), 0));
    cr_assert(eq(sz, bench_axis_value(BENCH_AXIS_LIVE, 0, 10), 10));
    cr_assert(eq(sz, bench_axis_value(BENCH_AXIS_LIVE, 1, 10), 0));
}

Test(bench_lineup, fragmentation_is_the_share_of_free_memory_outside_its_longest_piece)
{
    const bench_memory_sample broken = {.holes = {.free_bytes = 100, .largest_free_bytes = 25}};
    const bench_memory_sample whole = {.holes = {.free_bytes = 100, .largest_free_bytes = 100}};
    const bench_memory_sample none = {0};

    cr_assert(eq(dbl, bench_memory_fragmentation(&broken), 0.75));
    cr_assert(eq(dbl, bench_memory_fragmentation(&whole), 0.0));
    cr_assert(eq(dbl, bench_memory_fragmentation(&none), 0.0));
}
