#include "trace_fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

char trace_path[64];
char trace_error[BENCH_TRACE_ERROR_CHARS];
bench_trace trace_read_back;

void trace_make_path(void)
{
    (void)snprintf(trace_path, sizeof(trace_path), "/tmp/gp_test_trace_XXXXXX");
    int file = mkstemp(trace_path);
    cr_assert(ge(int, file, 0));
    close(file);
}

void trace_remove_path(void)
{
    bench_trace_destroy(&trace_read_back);
    (void)unlink(trace_path);
}

void trace_write_bytes(const void *bytes, size_t count)
{
    FILE *file = fopen(trace_path, "wb");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(eq(sz, fwrite(bytes, 1, count, file), count));
    cr_assert(eq(int, fclose(file), 0));
}

void trace_write_text(const char *text)
{
    trace_write_bytes(text, strlen(text));
}

void trace_write_gzipped(const char *text)
{
    gzFile file = gzopen(trace_path, "wb");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(eq(int, gzputs(file, text), (int)strlen(text)));
    cr_assert(eq(int, gzclose(file), Z_OK));
}

bool trace_read_text(const char *text)
{
    trace_write_text(text);
    return bench_trace_read(&trace_read_back, trace_path, trace_error);
}

void trace_assert_refused(bool was_read, const char *reason)
{
    size_t length = strlen(trace_path);
    cr_assert(not(was_read), "the file was taken");
    cr_assert(eq(sz, trace_read_back.event_count, 0));
    cr_assert(eq(int, strncmp(trace_error, trace_path, length), 0), "%s", trace_error);
    cr_assert(eq(str, trace_error + length, (char *)reason));
}

void trace_assert_text_refused(const char *text, const char *reason)
{
    trace_assert_refused(trace_read_text(text), reason);
}

void trace_assert_event(size_t index, char op, size_t bytes, unsigned int stream,
                        unsigned int thread)
{
    cr_assert(lt(sz, index, trace_read_back.event_count));
    const bench_trace_event *event = &trace_read_back.events[index];
    cr_assert(eq(chr, event->frees ? 'f' : 'a', op), "event %zu", index);
    cr_assert(eq(sz, trace_read_back.blocks[event->block].bytes, bytes), "event %zu", index);
    cr_assert(eq(uint, event->stream, stream), "event %zu", index);
    cr_assert(eq(uint, event->thread, thread), "event %zu", index);
}
