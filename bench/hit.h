/*
 * Hit: pairs of allocation and free in a loop, the case a cache is for. Beside
 * the contender, in the same run and by turns, run the native pool and
 * malloc(64)/free, so that ratios hold on a machine that others use too.
 */
#ifndef GP_BENCH_HIT_H
#define GP_BENCH_HIT_H

#include "result.h"
#include "stage.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_hit {
    const device_ops *device;
    const bench_contender_ops *contender;
    const bench_ticks *ticks;
    bench_mode mode;
    size_t threads; /* At least 1, each with a stream of its own. */
    size_t bytes;   /* 0: random, see pairs.h */
    size_t rounds;  /* At least 1. */
} bench_hit;

/* On failure `error` is a line of text, and the result is not to be used. */
bool bench_hit_run(const bench_hit *hit, bench_result *result, char error[BENCH_ERROR_CHARS]);

#endif
