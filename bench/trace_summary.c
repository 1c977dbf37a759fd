#include "trace_summary.h"

#include <inttypes.h>

#define MIB 1048576.0

static size_t count_frees(const bench_trace *trace)
{
    size_t frees = 0;
    for (size_t i = 0; i < trace->event_count; i++)
        frees += trace->events[i].frees;
    return frees;
}

void bench_trace_print_gaps(const bench_trace_gaps *gaps, FILE *file)
{
    if (gaps->dropped_events > 0)
        (void)fprintf(file, "  dropped      %" PRIu64 " events, when it was recorded\n",
                      gaps->dropped_events);
    if (gaps->initial_blocks > 0)
        (void)fprintf(file, "  live before  %zu blocks, allocated at the start\n",
                      gaps->initial_blocks);
    if (gaps->missing_frees > 0)
        (void)fprintf(file, "  missing      %zu frees, put in before the address is used again\n",
                      gaps->missing_frees);
    if (gaps->ignored_frees > 0)
        (void)fprintf(file, "  left out     %zu frees of what is not live\n", gaps->ignored_frees);
}

void bench_trace_print(const bench_trace *trace, const char *title, FILE *file)
{
    size_t frees = count_frees(trace);
    size_t allocs = trace->event_count - frees;
    double seconds = (double)trace->events[trace->event_count - 1].time_ns / 1e9;
    (void)fprintf(file, "%s\n", title);
    (void)fprintf(file, "  events       %zu: %zu allocations, %zu frees, %zu live at the end\n",
                  trace->event_count, allocs, frees, allocs - frees);
    (void)fprintf(file, "  streams      %zu\n", trace->stream_count);
    (void)fprintf(file, "  threads      %zu\n", trace->thread_count);
    (void)fprintf(file, "  peak live    %.1f MiB\n", (double)trace->peak_live_bytes / MIB);
    (void)fprintf(file, "  time         %.3f s\n", seconds);
    bench_trace_print_gaps(&trace->gaps, file);
}
