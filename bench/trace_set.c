#include "trace_set.h"

#include <stdio.h>
#include <stdlib.h>

void bench_traces_destroy(bench_trace *traces, size_t count)
{
    for (size_t i = 0; traces != NULL && i < count; i++)
        bench_trace_destroy(&traces[i]);
    free(traces);
}

bench_trace *bench_traces_read(const char *const *paths, size_t count)
{
    bench_trace *traces = calloc(count, sizeof(*traces));
    bool sound = traces != NULL;
    for (size_t i = 0; i < count && sound; i++) {
        char error[BENCH_TRACE_ERROR_CHARS];
        sound = bench_trace_read(&traces[i], paths[i], error);
        if (!sound)
            (void)fprintf(stderr, "gp-bench: %s\n", error);
    }
    if (sound)
        return traces;
    bench_traces_destroy(traces, count);
    return NULL;
}
