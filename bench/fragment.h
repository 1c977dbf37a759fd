/*
 * Fragment: what an adversary (adversary.h) makes of a contender's memory, over a long
 * run of one thread on a few idle streams.
 */
#ifndef GP_BENCH_FRAGMENT_H
#define GP_BENCH_FRAGMENT_H

#include "latency.h"
#include "memory.h"
#include "progress.h"
#include "stage.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_fragment {
    const device_ops *device;
    const bench_ticks *ticks;
    bench_mode mode;
    size_t operations;        /* A slow contender makes a hundredth of them. */
    size_t live_bytes;        /* Most bytes live at once. */
    bench_progress *progress; /* A step is an operation. */
} bench_fragment;

/* What was found of one contender. */
typedef struct bench_fragment_result {
    size_t operations; /* that it made */
    bench_memory memory;
    size_t peak_live_bytes;
    uint64_t peak_reserved_bytes;
    double reserved_over_live;      /* the peaks */
    double reserved_over_live_mean; /* of the samples */
    bool has_holes;                 /* The next two are known. */
    double fragmentation_mean, fragmentation_max;
    bench_latency_summary alloc, free;
    bool failed;
    char error[BENCH_ERROR_CHARS];
} bench_fragment_result;

void bench_fragment_run(const bench_fragment *fragment, const bench_contender_ops *ops,
                        bench_fragment_result *result);

#endif
