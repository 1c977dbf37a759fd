/*
 * Compare: several contenders on one trace, by turns. Each plays a cold pass first;
 * then, round by round, each plays a warm one, so that what disturbs the machine
 * disturbs all of them, and ratios are taken within a round.
 */
#ifndef GP_BENCH_COMPARE_H
#define GP_BENCH_COMPARE_H

#include "lineup.h"
#include "memory.h"
#include "result.h"
#include "session.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_compare {
    const device_ops *device;
    const bench_ticks *ticks;
    const bench_lineup *lineup;
    size_t baseline; /* Index into the line-up: what ratios are taken to. */
    bench_mode mode;
    bool per_stream;
    bool kernels;
    bool with_memory; /* A pass more, in which memory is sampled. */
    size_t rounds;    /* Warm passes that count, at least 1; slow contenders play one. */
    bench_progress *progress;
} bench_compare;

/* What was found of one contender. */
typedef struct bench_cell {
    /* The warm pass that stands in the middle by pair_ns, whole; but the hazards are
     * those of all passes. */
    bench_result result;
    size_t rounds;
    double cold_pair_ns;
    bench_spread pair_ns, alloc_p99, free_p99; /* over the rounds */
    bool has_ratio;                            /* The baseline ran too. */
    const char *baseline;
    bench_spread over_baseline; /* pair_ns by the baseline's, round by round */
    bench_memory memory;        /* count 0: not sampled */
    bool failed;                /* The rest means nothing. */
    char error[BENCH_ERROR_CHARS];
} bench_cell;

/*
 * Run all contenders of the line-up on a trace; `cells` has room for them, in order.
 * One that fails is left out of the rounds that follow, and its cell says why.
 * False if memory ran out: then no cell is to be used.
 */
bool bench_compare_run(const bench_compare *compare, const bench_trace *trace, bench_cell *cells);

/* Passes that a contender of a comparison plays. */
size_t bench_compare_passes(const bench_compare *compare, const bench_contender_ops *ops);

#endif
