#include "trace.h"

#include "trace_format.h"

#include <inttypes.h>
#include <string.h>

static bool write_event(gzFile file, const bench_trace *trace, const bench_trace_event *event)
{
    return gzprintf(file, "%" PRIu64 ",%c,%" PRIu32 ",%zu,%u,%u\n", event->time_ns,
                    event->frees ? 'f' : 'a', event->block, trace->blocks[event->block].bytes,
                    (unsigned int)event->stream, (unsigned int)event->thread) > 0;
}

static bool write_open_file(gzFile file, const bench_trace *trace)
{
    bool sound = gzputs(file, BENCH_TRACE_SECOND_MARK "\n" BENCH_TRACE_SECOND_COLUMNS "\n") > 0;
    for (size_t i = 0; i < trace->event_count && sound; i++)
        sound = write_event(file, trace, &trace->events[i]);
    uint64_t end = trace->event_count > 0 ? trace->events[trace->event_count - 1].time_ns : 0;
    return sound && gzprintf(file, "%" PRIu64 ",e,0,%zu,0,0\n", end, trace->event_count) > 0;
}

bool bench_trace_write(const bench_trace *trace, const char *path)
{
    const char *dot = strrchr(path, '.');
    bool zipped = dot != NULL && strcmp(dot, ".gz") == 0;
    gzFile file = gzopen(path, zipped ? "wb" : "wbT");
    if (file == NULL)
        return false;
    bool sound = write_open_file(file, trace);
    return gzclose_w(file) == Z_OK && sound;
}
