/*
 * One line on the terminal that says how far a run is, once it has taken more
 * than a second. Nothing at all where standard error is not a terminal.
 *
 * A run is made of parts, each with a label and a number of steps.
 */
#ifndef GP_BENCH_PROGRESS_H
#define GP_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_progress {
    char label[96];
    size_t total;               /* Steps of the run. */
    size_t before;              /* Steps of the parts that are done. */
    size_t part;                /* Steps of the present part. */
    uint64_t start_ns, next_ns; /* Shown at or after next_ns. */
    bool terminal;
    bool shown;
} bench_progress;

void bench_progress_begin(bench_progress *progress, size_t total);

/* The part before is done, the next begins. */
void bench_progress_part(bench_progress *progress, const char *label, size_t steps);

/* So many steps of the part are done; cheap, call it often, from one thread. */
void bench_progress_update(bench_progress *progress, size_t done);

/* Wipe the line. */
void bench_progress_end(bench_progress *progress);

#endif
