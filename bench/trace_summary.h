/* What is in a trace, for people. */
#ifndef GP_BENCH_TRACE_SUMMARY_H
#define GP_BENCH_TRACE_SUMMARY_H

#include "trace.h"

#include <stdio.h>

void bench_trace_print(const bench_trace *trace, const char *title, FILE *file);

/* One line for each thing that the file lacked, if any. */
void bench_trace_print_gaps(const bench_trace_gaps *gaps, FILE *file);

#endif
