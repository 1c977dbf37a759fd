/*
 * A lane: one contender of `hit`, run by all threads at once. Lanes take turns,
 * so that what disturbs the machine disturbs each of them.
 */
#ifndef GP_BENCH_LANE_H
#define GP_BENCH_LANE_H

#include "contender.h"
#include "crew.h"
#include "latency.h"
#include "rendezvous.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One thread in a lane. */
typedef struct bench_runner {
    cudaStream_t stream;
    bool entered; /* The stream exists and the contender knows it. */
    bench_pairs pairs;
    uint64_t start, end; /* Ticks of the last round. */
    bench_latency allocs, frees;
    uint64_t native_ns; /* Simulated time of native calls while sampling. */
    char apart[128];    /* Keeps runners off each other's cache lines. */
} bench_runner;

typedef struct bench_lane {
    bench_contender *contender;
    bench_crew *crew;
    const bench_ticks *ticks;
    bench_runner *runners;
    size_t thread_count;
    size_t pairs_per_round; /* Each thread's. */
    bench_rendezvous rendezvous;
    atomic_bool failed;
    char error[256]; /* Written by the thread that set failed. */
} bench_lane;

/* What one round took. */
typedef struct bench_round {
    double pair_ns;      /* A thread's time for a pair, the mean of all threads. */
    double mpairs_per_s; /* Of all threads together. */
} bench_round;

/*
 * Make a stream for each thread of the crew, fill the live blocks of random
 * pairs, and run until a round is long enough to be timed, which also warms the
 * contender up. On failure lane->error says why; close it all the same.
 *
 * @param bytes  Of every block; 0: random.
 */
bool bench_lane_open(bench_lane *lane, const bench_contender_ops *ops, const device_ops *device,
                     bench_mode mode, bench_crew *crew, size_t thread_count, size_t bytes,
                     const bench_ticks *ticks);

/* Free what is live, wait for the streams, and close the contender. */
void bench_lane_close(bench_lane *lane);

/* One round, timed as a whole: a look at the clock costs as much as a hit. */
bool bench_lane_run(bench_lane *lane, bench_round *round);

/* Time single calls, for percentiles, into the runners' allocs and frees. */
bool bench_lane_sample(bench_lane *lane);

#endif
