/* Percentiles are exact, and the cost of the time stamps is taken off. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "latency.h"

static const bench_ticks two_ns_ticks = {.ns_per_tick = 2.0, .overhead = 10};

static bench_latency parts[2];

static void make_parts(void)
{
    cr_assert(bench_latency_create(&parts[0], 100));
    cr_assert(bench_latency_create(&parts[1], 100));
}

static void destroy_parts(void)
{
    bench_latency_destroy(&parts[0]);
    bench_latency_destroy(&parts[1]);
}

TestSuite(latency, .init = make_parts, .fini = destroy_parts);

static bench_latency_summary summarise(size_t count)
{
    bench_latency_summary summary;
    cr_assert(bench_latency_summarise(parts, count, sizeof(parts[0]), &two_ns_ticks, &summary));
    return summary;
}

Test(latency, takes_the_cost_of_the_bracket_off_and_scales)
{
    bench_latency_record(&parts[0], 15);

    bench_latency_summary summary = summarise(1);

    cr_assert(epsilon_eq(dbl, summary.mean, 10.0, 1e-9));
    cr_assert(epsilon_eq(dbl, summary.max, 10.0, 1e-9));
}

Test(latency, is_never_negative)
{
    bench_latency_record(&parts[0], 9);

    cr_assert(epsilon_eq(dbl, summarise(1).mean, 0.0, 1e-9));
}

Test(latency, has_percentiles_by_nearest_rank)
{
    for (uint64_t i = 100; i >= 1; i--)
        bench_latency_record(&parts[0], 10 + i);

    bench_latency_summary summary = summarise(1);

    cr_assert(epsilon_eq(dbl, summary.p50, 100.0, 1e-9));
    cr_assert(epsilon_eq(dbl, summary.p99, 198.0, 1e-9));
    cr_assert(epsilon_eq(dbl, summary.p999, 200.0, 1e-9));
    cr_assert(epsilon_eq(dbl, summary.max, 200.0, 1e-9));
}

Test(latency, joins_the_recordings_of_several_threads)
{
    bench_latency_record(&parts[0], 11);
    bench_latency_record(&parts[1], 13);
    bench_latency_record(&parts[1], 15);

    bench_latency_summary summary = summarise(2);

    cr_assert(eq(sz, summary.count, 3));
    cr_assert(epsilon_eq(dbl, summary.p50, 6.0, 1e-9));
    cr_assert(epsilon_eq(dbl, summary.mean, 6.0, 1e-9));
}

Test(latency, is_zero_when_nothing_was_recorded)
{
    bench_latency_summary summary = summarise(2);

    cr_assert(eq(sz, summary.count, 0));
    cr_assert(epsilon_eq(dbl, summary.p99, 0.0, 1e-9));
}

Test(latency, joins_a_recording_that_never_had_room)
{
    bench_latency_destroy(&parts[0]);
    cr_assert(bench_latency_create(&parts[0], 0));
    bench_latency_record(&parts[1], 13);

    cr_assert(eq(sz, summarise(2).count, 1));
}

Test(latency, forgets_what_was_cleared)
{
    bench_latency_record(&parts[0], 50);
    bench_latency_clear(&parts[0]);
    bench_latency_record(&parts[0], 11);

    cr_assert(epsilon_eq(dbl, summarise(1).max, 2.0, 1e-9));
}

Test(latency, drops_what_it_has_no_room_for)
{
    for (int i = 0; i < 101; i++)
        bench_latency_record(&parts[0], 11);

    cr_assert(eq(sz, summarise(1).count, 100));
}

Test(ticks, agree_with_the_monotonic_clock)
{
    bench_ticks ticks;
    bench_ticks_calibrate(&ticks);

    uint64_t start_ns = bench_ticks_monotonic_ns();
    uint64_t start = bench_ticks_begin();
    while (bench_ticks_monotonic_ns() - start_ns < 20000000u) {
    }
    double took = bench_ticks_to_ns(&ticks, bench_ticks_end() - start);
    double truth = (double)(bench_ticks_monotonic_ns() - start_ns);

    cr_assert(epsilon_eq(dbl, took / truth, 1.0, 0.05));
}
