/* What `tail` found, on paper. */
#ifndef GP_BENCH_REPORT_TAIL_H
#define GP_BENCH_REPORT_TAIL_H

#include "result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A line for each pass. They share the device. */
void bench_report_tail_table(const bench_result *results, size_t count, FILE *out);

/* As bench_report_json(). */
bool bench_report_tail_json(const bench_result *results, size_t count, const char *path);

#endif
