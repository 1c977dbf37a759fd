/* A trace file of a test's own, and what was read from it. */
#ifndef GP_TESTS_TRACE_FIXTURE_H
#define GP_TESTS_TRACE_FIXTURE_H

#include "trace.h"

#include <stdbool.h>
#include <stddef.h>

#define FIRST_HEADER "t_us,op,id,size,stream\n"
#define SECOND_HEADER "gp-trace 2\nt_ns,op,id,size,stream,thread\n"

extern char trace_path[64];
extern char trace_error[BENCH_TRACE_ERROR_CHARS];
extern bench_trace trace_read_back;

/* .init and .fini of a suite. */
void trace_make_path(void);
void trace_remove_path(void);

void trace_write_bytes(const void *bytes, size_t count);
void trace_write_text(const char *text);
void trace_write_gzipped(const char *text);

/* Write the text to the file, and read it. */
bool trace_read_text(const char *text);

/* The file is refused with this text, after its name. */
void trace_assert_refused(bool was_read, const char *reason);
void trace_assert_text_refused(const char *text, const char *reason);

/* An event of the trace: 'a' or 'f', the bytes of its block, stream and thread. */
void trace_assert_event(size_t index, char op, size_t bytes, unsigned int stream,
                        unsigned int thread);

#endif
