/* The sizes and the loop of `hit`, on an allocator that only counts. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "pairs.h"
#include "result.h"

static bench_pairs pairs;
static size_t allocs, frees, live, peak_live;
static size_t fail_after; /* Allocations that work; 0: all. */

static int count_alloc(struct bench_contender *contender, void **ptr, size_t bytes,
                       cudaStream_t stream)
{
    (void)contender;
    (void)bytes;
    (void)stream;
    if (fail_after != 0 && allocs == fail_after)
        return 2;
    *ptr = (void *)(uintptr_t)(512 * ++allocs);
    live++;
    peak_live = live > peak_live ? live : peak_live;
    return 0;
}

static int count_free(struct bench_contender *contender, void *ptr, size_t bytes,
                      cudaStream_t stream)
{
    (void)bytes;
    (void)contender;
    (void)ptr;
    (void)stream;
    frees++;
    live--;
    return 0;
}

Test(pairs, of_a_fixed_size_hold_one_block_at_most)
{
    bench_pairs_init(&pairs, 4096, 0);

    int code = bench_pairs_run(&pairs, 1000, count_alloc, count_free, NULL, NULL);

    cr_assert(eq(int, code, 0));
    cr_assert(eq(sz, allocs, 1000));
    cr_assert(eq(sz, frees, 1000));
    cr_assert(eq(sz, peak_live, 1));
    cr_assert(eq(sz, bench_pairs_peak_bytes(&pairs), 4096));
}

Test(pairs, of_random_size_keep_64_blocks_live)
{
    bench_pairs_init(&pairs, 0, 0);

    cr_assert(eq(int, bench_pairs_fill(&pairs, count_alloc, NULL, NULL), 0));
    cr_assert(eq(sz, live, BENCH_PAIRS_LIVE));
    cr_assert(eq(int, bench_pairs_run(&pairs, 10000, count_alloc, count_free, NULL, NULL), 0));
    cr_assert(eq(sz, live, BENCH_PAIRS_LIVE));
    cr_assert(eq(sz, peak_live, BENCH_PAIRS_LIVE));
    cr_assert(eq(int, bench_pairs_drain(&pairs, count_free, NULL, NULL), 0));
    cr_assert(eq(sz, live, 0));
    cr_assert(eq(sz, allocs, 10000 + BENCH_PAIRS_LIVE));
}

Test(pairs, of_random_size_are_spread_evenly_over_the_magnitudes)
{
    size_t small = 0;
    bench_pairs_init(&pairs, 0, 3);

    for (size_t i = 0; i < BENCH_PAIRS_STEPS; i++) {
        cr_assert(ge(sz, pairs.bytes[i], BENCH_PAIRS_MIN_BYTES));
        cr_assert(le(sz, pairs.bytes[i], BENCH_PAIRS_MAX_BYTES));
        small += pairs.bytes[i] < 8192; /* the geometric middle of 64 B and 1 MiB */
    }

    cr_assert(epsilon_eq(dbl, (double)small / BENCH_PAIRS_STEPS, 0.5, 0.05));
}

Test(pairs, are_the_same_for_the_same_seed_only)
{
    static bench_pairs same;
    static bench_pairs other;
    bench_pairs_init(&pairs, 0, 5);
    bench_pairs_init(&same, 0, 5);
    bench_pairs_init(&other, 0, 6);

    size_t equal = 0;
    for (size_t i = 0; i < BENCH_PAIRS_STEPS; i++) {
        cr_assert(eq(sz, same.bytes[i], pairs.bytes[i]));
        equal += other.bytes[i] == pairs.bytes[i];
    }

    cr_assert(lt(sz, equal, BENCH_PAIRS_STEPS / 10));
}

Test(pairs, stop_at_the_first_failure)
{
    fail_after = 5;
    bench_pairs_init(&pairs, 512, 0);

    int code = bench_pairs_run(&pairs, 1000, count_alloc, count_free, NULL, NULL);

    cr_assert(eq(int, code, 2));
    cr_assert(eq(sz, frees, 5));
}

Test(spread, has_the_median_and_both_ends)
{
    double odd[] = {5.0, 1.0, 3.0};
    double even[] = {4.0, 1.0, 3.0, 2.0};

    bench_spread of_odd = bench_spread_of(odd, 3);
    bench_spread of_even = bench_spread_of(even, 4);

    cr_assert(epsilon_eq(dbl, of_odd.median, 3.0, 1e-9));
    cr_assert(epsilon_eq(dbl, of_odd.low, 1.0, 1e-9));
    cr_assert(epsilon_eq(dbl, of_odd.high, 5.0, 1e-9));
    cr_assert(epsilon_eq(dbl, of_even.median, 2.5, 1e-9));
}
