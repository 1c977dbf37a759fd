/*
 * The command line of gp-bench, parsed and checked.
 */
#ifndef GP_BENCH_OPTIONS_H
#define GP_BENCH_OPTIONS_H

#include "lineup.h"
#include "scale.h"
#include "stage.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit codes. */
enum {
    BENCH_EXIT_OK = 0,
    BENCH_EXIT_FAILED = 1, /* The run did not end well. */
    BENCH_EXIT_USAGE = 2   /* The command line or a trace file is wrong: nothing ran. */
};

#define BENCH_MAX_THREADS 256

typedef struct bench_options {
    /* all commands */
    bench_lineup lineup;
    const char *device; /* "auto", "cuda" or "sim" */
    bench_mode mode;
    const char *json; /* Path, "-", or NULL for a table. */

    /* replay and tail */
    const char **traces; /* Into argv, but for the array itself: options_destroy(). */
    size_t trace_count;
    bench_threads replay_threads;
    bool kernels;
    bool warm_from_trace;
    size_t limit_percent; /* Of the trace's peak live bytes; 0: no limit. */
    size_t passes;

    /* hit */
    size_t threads;
    size_t bytes; /* 0: random */

    /* hit and the studies, which are compare, scale and fragment */
    size_t rounds;

    /* studies */
    bool is_study;
    const char *baseline;          /* Name of a contender; NULL: see --help. */
    const char *html;              /* Path, or NULL. */
    const char *csv;               /* Path, or NULL. */
    bool axes[BENCH_AXIS_COUNT];   /* of scale */
    size_t most[BENCH_AXIS_COUNT]; /* where each of them ends */
    size_t operations;             /* of fragment */
    size_t live_bytes;             /* likewise */
    bool thread_modes[2];          /* one, per-stream */
    bool loads[2];                 /* idle, kernels */
} bench_options;

/*
 * Parse the arguments of one command; argv[0] is the name to show. Ends the
 * process with BENCH_EXIT_USAGE if they are wrong, or after --help.
 */
void bench_options_parse_replay(bench_options *options, int argc, char **argv);
void bench_options_parse_tail(bench_options *options, int argc, char **argv);
void bench_options_parse_hit(bench_options *options, int argc, char **argv);
void bench_options_parse_compare(bench_options *options, int argc, char **argv);
void bench_options_parse_scale(bench_options *options, int argc, char **argv);
void bench_options_parse_fragment(bench_options *options, int argc, char **argv);

void bench_options_destroy(bench_options *options);

#endif
