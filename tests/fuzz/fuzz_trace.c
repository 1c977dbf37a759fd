/* Any bytes as a trace: refused with a text, or read, and then written and read again. */
#include "fuzz_file.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void expect(bool condition)
{
    if (!condition)
        abort();
}

/* Whatever was taken can be written, and is the same when read back. */
static void write_and_compare(const bench_trace *trace, const char *path)
{
    char error[BENCH_TRACE_ERROR_CHARS];
    bench_trace again;
    expect(bench_trace_write(trace, path));
    expect(bench_trace_read(&again, path, error));
    expect(again.event_count == trace->event_count);
    expect(again.peak_live_bytes == trace->peak_live_bytes);
    expect(again.block_count == trace->block_count);
    for (size_t i = 0; i < trace->event_count; i++) {
        const bench_trace_event *a = &trace->events[i];
        const bench_trace_event *b = &again.events[i];
        expect(a->frees == b->frees && a->time_ns == b->time_ns);
        expect(trace->blocks[a->block].bytes == again.blocks[b->block].bytes);
    }
    bench_trace_destroy(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char error[BENCH_TRACE_ERROR_CHARS] = "";
    bench_trace trace;
    const char *path = fuzz_file(data, bytes);
    if (!bench_trace_read(&trace, path, error)) {
        expect(strncmp(error, path, strlen(path)) == 0 && trace.events == NULL);
        return 0;
    }
    write_and_compare(&trace, path);
    bench_trace_destroy(&trace);
    return 0;
}
