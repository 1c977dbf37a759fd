/*
 * Allocation traces: what a recorded program allocated and freed, on which
 * stream, in which order. The file format is described in bench/traces/README.md.
 *
 * A trace is read and checked whole before anything uses it, so that a wrong
 * file never runs half.
 */
#ifndef GP_BENCH_TRACE_H
#define GP_BENCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Streams are small indexes in the file; each may become a thread. */
#define BENCH_TRACE_MAX_STREAMS 256

/* No device holds as much: a size above this is a mistake in the file. */
#define BENCH_TRACE_MAX_BYTES ((size_t)1 << 47)

/* Room for any message of bench_trace_read(). */
#define BENCH_TRACE_ERROR_CHARS 4608

typedef struct bench_trace_event {
    uint64_t time_us; /* Since the first event; never decreases. */
    uint32_t block;   /* Index into blocks: ids of the file made dense. */
    uint16_t stream;
    bool frees; /* Else it allocates. */
} bench_trace_event;

typedef struct bench_trace_block {
    size_t bytes;    /* As requested, not 0. */
    uint16_t stream; /* Of its allocation. */
} bench_trace_block;

typedef struct bench_trace {
    char *name; /* The file's, without directories and .csv.gz. */
    bench_trace_event *events;
    bench_trace_block *blocks;
    size_t event_count;
    size_t block_count;
    size_t stream_count;    /* Highest index used, plus 1. */
    size_t peak_live_bytes; /* Most bytes requested and live at once, in file order. */
} bench_trace;

/*
 * Read a trace, gzipped or plain.
 *
 * On failure the trace is left empty and `error` holds one line of text:
 * "FILE:LINE: what is wrong", or "FILE: ..." where no line is to blame.
 */
bool bench_trace_read(bench_trace *trace, const char *path, char error[BENCH_TRACE_ERROR_CHARS]);

/* Free what bench_trace_read() made; an empty trace is fine. */
void bench_trace_destroy(bench_trace *trace);

#endif
