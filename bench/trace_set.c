#include "trace_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void bench_traces_destroy(bench_trace *traces, size_t count)
{
    for (size_t i = 0; traces != NULL && i < count; i++)
        bench_trace_destroy(&traces[i]);
    free(traces);
}

/* What is played is not quite what ran. */
static void warn(const bench_trace *trace)
{
    if (trace->gaps.dropped_events > 0)
        (void)fprintf(stderr,
                      "gp-bench: %s: %" PRIu64 " events were dropped when it was recorded\n",
                      trace->name, trace->gaps.dropped_events);
}

bench_trace *bench_traces_read(const char *const *paths, size_t count)
{
    bench_trace *traces = calloc(count, sizeof(*traces));
    bool sound = traces != NULL;
    for (size_t i = 0; i < count && sound; i++) {
        char error[BENCH_TRACE_ERROR_CHARS];
        sound = bench_trace_read(&traces[i], paths[i], error);
        if (sound)
            warn(&traces[i]);
        else
            (void)fprintf(stderr, "gp-bench: %s\n", error);
    }
    if (sound)
        return traces;
    bench_traces_destroy(traces, count);
    return NULL;
}
