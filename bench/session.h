/*
 * A session: one contender and one trace, opened once and played pass after pass.
 * The first pass is cold, the later ones find what it left in the pool. Several
 * sessions may be open at once and take turns.
 */
#ifndef GP_BENCH_SESSION_H
#define GP_BENCH_SESSION_H

#include "crew.h"
#include "memory.h"
#include "result.h"
#include "stage.h"
#include "trace.h"

#include <stdbool.h>

typedef struct bench_session_config {
    const device_ops *device;
    const bench_contender_ops *contender;
    const bench_ticks *ticks;
    bench_mode mode;
    bench_threads threads;
    bool kernels;
    bool finds_longest;       /* Watch the passes for their longest call. */
    const char *warm_from;    /* A recording that the contender gets ready for; NULL: for none. */
    size_t limit_percent;     /* Of the trace's peak live bytes, for the contender; 0: no limit. */
    bench_progress *progress; /* Begun; a step is an event. */
} bench_session_config;

typedef struct bench_session {
    bench_session_config config;
    const bench_trace *trace;
    bench_contender *contender; /* NULL: not open. */
    bench_crew *crew;
    bench_stage stage;
    bench_longest longest;
    uint64_t long_ticks; /* In the next pass. */
    int passes;          /* played so far */
} bench_session;

/* On failure `error` is a line of text; close the session all the same. */
bool bench_session_open(bench_session *session, const bench_session_config *config,
                        const bench_trace *trace, char error[BENCH_ERROR_CHARS]);

/*
 * Play the trace once, and free what it leaves live.
 *
 * @param memory  Filled with what is held over the pass, for which the contender is
 *                asked in between; NULL where only times count.
 */
bool bench_session_play(bench_session *session, bench_result *result, bench_memory *memory,
                        char error[BENCH_ERROR_CHARS]);

void bench_session_close(bench_session *session);

#endif
