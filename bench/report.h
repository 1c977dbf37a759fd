/*
 * Results on paper: JSON for programs, a table for people.
 */
#ifndef GP_BENCH_REPORT_H
#define GP_BENCH_REPORT_H

#include "result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* An array with one object a result, to a file, or to standard output for "-".
 * False, and errno is set, if it cannot be written. */
bool bench_report_json(const bench_result *results, size_t count, const char *path);

/* Results of `replay`: a line each. They share the device. */
void bench_report_replay_table(const bench_result *results, size_t count, FILE *out);

/* One result of `hit`: a paragraph. */
void bench_report_hit_table(const bench_result *result, FILE *out);

#endif
