/*
 * Replay: play a trace through a contender, several times over, and measure each
 * pass.
 */
#ifndef GP_BENCH_REPLAY_H
#define GP_BENCH_REPLAY_H

#include "session.h"

#include <stdbool.h>

typedef struct bench_replay {
    bench_session_config session;
    int passes; /* At least 1. */
} bench_replay;

/*
 * Play a trace. `results` has room for replay->passes. On failure `error` is a
 * line of text, and the results are not to be used.
 */
bool bench_replay_run(const bench_replay *replay, const bench_trace *trace, bench_result *results,
                      char error[BENCH_ERROR_CHARS]);

#endif
