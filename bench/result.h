/*
 * What one measurement found: a pass over a trace, or a run of pairs. Reports
 * are made from it; docs/benchmarks.md says what each figure means.
 */
#ifndef GP_BENCH_RESULT_H
#define GP_BENCH_RESULT_H

#include "contender.h"
#include "latency.h"
#include "longest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_DEVICE_NAME_CHARS 128

/* Median, least and most over the rounds of a run. */
typedef struct bench_spread {
    double median, low, high;
} bench_spread;

/* What only `hit` finds. */
typedef struct bench_hit_figures {
    size_t bytes; /* 0: random */
    size_t rounds;
    bench_spread pair_ns;
    bench_spread malloc_pair_ns;
    bench_spread over_malloc; /* pair_ns by malloc_pair_ns, round by round */
    bool has_native;          /* The rest is there: native was not the contender itself. */
    bench_spread native_pair_ns;
    bench_spread native_mpairs_per_s;
    bench_spread native_over_contender; /* native_pair_ns by pair_ns, round by round */
} bench_hit_figures;

typedef struct bench_result {
    const char *command;
    const char *trace; /* NULL in `hit` */
    const char *policy;
    const char *device;
    char device_name[BENCH_DEVICE_NAME_CHARS];
    const char *thread_mode; /* bench_threads_name(); NULL in `hit` */
    size_t thread_count;
    const char *mode; /* NULL where the policy has none */
    int pass;         /* From 1; 0 in `hit`. */
    bool kernels;
    bool warmed;          /* Of the trace, before the first pass. */
    size_t limit_percent; /* Of the trace's peak live bytes; 0: no limit. */
    size_t refused;       /* Requests that a limit had no room for. */
    bool simulated;       /* The device is. */
    bool is_hit;          /* Else a pass of `replay`. */
    size_t events;        /* Calls made in it, allocations and frees. */

    bench_latency_summary alloc, free;
    double pair_ns;
    double mpairs_per_s;

    size_t peak_live_bytes;
    bench_usage usage;         /* Counts are this measurement's own; peaks likewise. */
    int64_t hazards;           /* -1: nobody looks for them on this device. */
    double sim_native_ns_mean; /* Simulated time of native calls, per event. */

    bench_call longest; /* of a pass that was watched; ticks 0: of none */
    double longest_ns;

    bench_hit_figures hit; /* if is_hit */
} bench_result;

/* Device memory held at the peak, by the bytes asked for at their peak. */
double bench_result_reserved_over_live(const bench_result *result);

/* Counts of `after` less those of `before`; peaks stay as they are in `after`. */
bench_usage bench_usage_since(const bench_usage *after, const bench_usage *before);

/* Median, least and most of at least one value; sorts them. */
bench_spread bench_spread_of(double *values, size_t count);

#endif
