/*
 * A load: one contender with a number of threads, streams and live blocks, which are
 * replaced at random, one pair of a free and an allocation after the other. Every
 * call is timed on its own, so that the harness's own cache misses, which grow with
 * the live blocks, are not counted.
 */
#ifndef GP_BENCH_LOAD_H
#define GP_BENCH_LOAD_H

#include "contender.h"
#include "crew.h"
#include "latency.h"
#include "random.h"
#include "rendezvous.h"
#include "stage.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* How much of everything, in all threads together. */
typedef struct bench_load_size {
    size_t threads;
    size_t streams; /* A multiple of threads. */
    size_t live;    /* A multiple of threads. */
} bench_load_size;

/* One thread's part. */
typedef struct bench_loader {
    cudaStream_t *streams;
    size_t streams_made;
    void **blocks; /* Block i belongs to stream i modulo the number of streams. */
    uint32_t *bytes;
    bench_random random;
    bench_latency allocs, frees;
    char apart[128]; /* Keeps loaders off each other's cache lines. */
} bench_loader;

typedef struct bench_load {
    bench_contender *contender;
    bench_load_size size;
    size_t streams_each, live_each; /* a thread's */
    size_t pairs;                   /* of a thread in a job */
    bench_crew *crew;
    bench_loader *loaders;
    bench_rendezvous rendezvous;
    atomic_bool failed;
    char error[BENCH_ERROR_CHARS]; /* Written by the thread that set failed. */
} bench_load;

/* What one round took: means and percentiles of single calls, of all threads. */
typedef struct bench_load_round {
    bench_latency_summary alloc, free;
} bench_load_round;

/*
 * Open the contender, make streams and live blocks, and replace them until it is steady: at
 * least four times over and 1000 a stream, at most twice that while the contender still takes
 * more from the device. On failure load->error says why; close it all the same.
 */
bool bench_load_open(bench_load *load, const bench_contender_ops *ops, const device_ops *device,
                     bench_mode mode, bench_load_size size);

/* Replace blocks: so many that every thread and every stream has a fair number. */
bool bench_load_run(bench_load *load, const bench_ticks *ticks, bench_load_round *round);

void bench_load_close(bench_load *load);

#endif
