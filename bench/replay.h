/*
 * Replay: play a trace through a contender, several times over, and measure each
 * pass. The first pass is cold, the later ones find what it left in the pool.
 */
#ifndef GP_BENCH_REPLAY_H
#define GP_BENCH_REPLAY_H

#include "result.h"
#include "stage.h"
#include "trace.h"

#include <stdbool.h>

typedef struct bench_replay {
    const device_ops *device;
    const bench_contender_ops *contender;
    const bench_ticks *ticks;
    bench_mode mode;
    bool per_stream; /* A thread for each stream; else one for all. */
    bool kernels;
    int passes;               /* At least 1. */
    bench_progress *progress; /* Begun; a step is an event. */
} bench_replay;

/*
 * Play a trace. `results` has room for replay->passes. On failure `error` is a
 * line of text, and the results are not to be used.
 */
bool bench_replay_run(const bench_replay *replay, const bench_trace *trace, bench_result *results,
                      char error[BENCH_ERROR_CHARS]);

#endif
