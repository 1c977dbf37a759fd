/* All traces of a command line, read before anything runs. */
#ifndef GP_BENCH_TRACE_SET_H
#define GP_BENCH_TRACE_SET_H

#include "trace.h"

/* NULL, and said on standard error why, if one of them is wrong. */
bench_trace *bench_traces_read(const char *const *paths, size_t count);

/* NULL is allowed. */
void bench_traces_destroy(bench_trace *traces, size_t count);

#endif
