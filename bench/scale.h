/*
 * Scale: what a pair of calls costs as threads, streams and live blocks grow. At each
 * point of an axis the contenders take turns, round by round.
 */
#ifndef GP_BENCH_SCALE_H
#define GP_BENCH_SCALE_H

#include "lineup.h"
#include "load.h"
#include "progress.h"
#include "result.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum bench_axis {
    BENCH_AXIS_THREADS, /* Each with a stream and 64 live blocks of its own. */
    BENCH_AXIS_STREAMS, /* One thread goes from stream to stream; 4096 live blocks. */
    BENCH_AXIS_LIVE,    /* Live blocks of one thread on one stream. */
    BENCH_AXIS_COUNT
} bench_axis;

/* "threads", "streams", "live" */
const char *bench_axis_name(bench_axis axis);

/* The value of the n-th point of an axis that goes up to `most`; 0 past the end. The last
 * point is `most` itself. */
size_t bench_axis_value(bench_axis axis, size_t index, size_t most);

/* What there is at a point. */
bench_load_size bench_axis_size(bench_axis axis, size_t value);

typedef struct bench_scale {
    const device_ops *device;
    const bench_ticks *ticks;
    const bench_lineup *lineup;
    size_t baseline;
    bench_mode mode;
    size_t rounds;
    bench_progress *progress; /* A step is a round of a contender. */
} bench_scale;

/* What was found of one contender at one point. */
typedef struct bench_scale_cell {
    bench_spread pair_ns;             /* mean of an allocation plus mean of a free */
    bench_spread pair_p50;            /* the sum of the two medians */
    bench_spread alloc_p99, free_p99; /* over the rounds, like the others */
    bool has_ratio;                   /* The baseline ran too. */
    bench_spread over_baseline;       /* pair_ns by the baseline's, round by round */
    bool failed;
    char error[BENCH_ERROR_CHARS];
} bench_scale_cell;

/* Run all contenders at one point; `cells` has room for them. False if memory ran out. */
bool bench_scale_run(const bench_scale *scale, bench_load_size size, bench_scale_cell *cells);

#endif
