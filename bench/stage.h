/*
 * A stage: one trace being played on one contender, by one thread or by several. It holds what the
 * players share; player.c makes the calls.
 */
#ifndef GP_BENCH_STAGE_H
#define GP_BENCH_STAGE_H

#include "contender.h"
#include "latency.h"
#include "longest.h"
#include "memory.h"
#include "progress.h"
#include "rendezvous.h"
#include "trace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define BENCH_ERROR_CHARS 512

/* Who plays a trace. */
typedef enum bench_threads {
    BENCH_THREADS_ONE,        /* One thread, in trace order. */
    BENCH_THREADS_PER_STREAM, /* A thread for each stream. */
    BENCH_THREADS_RECORDED    /* A thread for each of the trace's. */
} bench_threads;

/* More would do nothing but wait for each other. */
#define BENCH_MAX_PLAYERS 256

/* As in reports and on the command line. */
const char *bench_threads_name(bench_threads threads);

/* One thread's part: its events in trace order, and what it measured. */
typedef struct bench_player {
    size_t *events; /* Indexes into the trace's events. */
    size_t event_count;
    bench_latency allocs, frees;
    uint64_t native_ns; /* Simulated time of native calls in this pass. */
    size_t refused;     /* Requests of this pass that a limit had no room for. */
    char apart[128];    /* Keeps players off each other's cache lines. */
} bench_player;

typedef struct bench_stage {
    const bench_trace *trace;
    const device_ops *device;
    bench_contender *contender;
    bool kernels;
    bool limited; /* The contender may refuse: that block is not played. */
    bench_threads threads;

    cudaStream_t *streams;   /* one for each stream of the trace */
    size_t streams_made;     /* of them, those that exist */
    _Atomic(void *) *blocks; /* where each lies; NULL: not live */
    bench_player *players;
    size_t player_count;
    size_t window_events; /* Players meet after so many events of the trace. */

    bench_rendezvous rendezvous;
    atomic_size_t live_bytes, peak_live_bytes; /* as requested, in true order */
    atomic_bool failed;
    char error[BENCH_ERROR_CHARS]; /* Written by the thread that set failed. */
    bench_progress *progress;      /* Used by player 0. */
    bench_memory *memory;          /* Likewise; NULL: no samples. */
    bench_longest *longest;        /* NULL: nobody asks for it. */
} bench_stage;

/*
 * Make the streams and share the events out. On failure stage->error says why; destroy it all the
 * same.
 */
bool bench_stage_create(bench_stage *stage, const bench_trace *trace, bench_contender *contender,
                        bench_threads threads, bool kernels);

/* Everything is idle: no player runs, no block is live unless the run failed. */
void bench_stage_destroy(bench_stage *stage);

/* Forget the last pass: peaks, latencies, simulated time. */
void bench_stage_reset(bench_stage *stage);

/* The first failure is kept. Any thread. Returns false, to be passed on. */
bool bench_stage_fail(bench_stage *stage, const char *call, const char *reason);

#endif
