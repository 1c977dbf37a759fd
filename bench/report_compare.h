/* A comparison on paper: a table for people, JSON and CSV for programs, a page. */
#ifndef GP_BENCH_REPORT_COMPARE_H
#define GP_BENCH_REPORT_COMPARE_H

#include "compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One way of playing one trace, with what each contender of the line-up did in it. */
typedef struct bench_combination {
    const char *trace;
    bool per_stream, kernels;
    bench_cell *cells;
} bench_combination;

/* Everything that one run of `compare` found. Combinations of a trace stand together. */
typedef struct bench_comparison {
    const bench_lineup *lineup;
    size_t baseline; /* index into the line-up */
    const char *device;
    char device_name[BENCH_DEVICE_NAME_CHARS];
    bool simulated;
    size_t rounds;
    bench_combination *combinations;
    size_t count;
} bench_comparison;

/* "one thread, idle" */
const char *bench_combination_label(const bench_combination *combination);

void bench_report_compare_table(const bench_comparison *comparison, FILE *out);

/* An array of objects with the fields of `replay` and those of a comparison. As in
 * bench_report_json(). */
bool bench_report_compare_json(const bench_comparison *comparison, const char *path);

/* The same figures, a line for each object. False, and errno is set, on failure. */
bool bench_report_compare_csv(const bench_comparison *comparison, const char *path);

/* One page that needs nothing from outside. False, and errno is set, on failure. */
bool bench_report_compare_html(const bench_comparison *comparison, const char *path);

#endif
