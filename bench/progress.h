/*
 * One line on the terminal that says how far a run is, once it has taken more
 * than a second. Nothing at all where standard error is not a terminal.
 */
#ifndef GP_BENCH_PROGRESS_H
#define GP_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_progress {
    char label[96];
    uint64_t start_ns, next_ns; /* Shown at or after next_ns. */
    bool terminal;
    bool shown;
} bench_progress;

/* Begin: `label` says what runs. */
void bench_progress_begin(bench_progress *progress, const char *label);

/* `done` of `total` steps; cheap, call it often, from one thread. */
void bench_progress_update(bench_progress *progress, size_t done, size_t total);

/* Wipe the line. */
void bench_progress_end(bench_progress *progress);

#endif
