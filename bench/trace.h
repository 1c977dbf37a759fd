/*
 * Allocation traces: what a recorded program allocated and freed, on which
 * stream, by which thread, in which order. docs/trace-format.md describes the
 * file.
 *
 * A trace is read and checked whole before anything uses it, so that a wrong
 * file never runs half.
 */
#ifndef GP_BENCH_TRACE_H
#define GP_BENCH_TRACE_H

#include "text_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an index of a stream or a thread holds. */
#define BENCH_TRACE_MAX_INDEXES 65536

/* No device holds as much: a size above this is a mistake in the file. */
#define BENCH_TRACE_MAX_BYTES ((size_t)1 << 47)

/* Room for any message of bench_trace_read(). */
#define BENCH_TRACE_ERROR_CHARS BENCH_TEXT_ERROR_CHARS

typedef struct bench_trace_event {
    uint64_t time_ns; /* Since the first event; never decreases. */
    uint32_t block;   /* Index into blocks: ids of the file made dense. */
    uint16_t stream;
    uint16_t thread;
    bool frees; /* Else it allocates. */
} bench_trace_event;

typedef struct bench_trace_block {
    size_t bytes;    /* As requested, not 0. */
    uint16_t stream; /* Of its allocation. */
} bench_trace_block;

/* What a file lacks, and what was made of that: trace_builder.h has the rules. */
typedef struct bench_trace_gaps {
    uint64_t dropped_events; /* The recorder says so. */
    size_t initial_blocks;   /* Live before the first event: allocated at the start. */
    size_t missing_frees;    /* Put in before another block has the address. */
    size_t ignored_frees;    /* Of what is not live. */
} bench_trace_gaps;

typedef struct bench_trace {
    char *name; /* The file's, without directories and .csv.gz. */
    bench_trace_event *events;
    bench_trace_block *blocks;
    size_t event_count;
    size_t block_count;
    size_t stream_count;    /* Highest index used, plus 1. */
    size_t thread_count;    /* Likewise. */
    size_t peak_live_bytes; /* Most bytes requested and live at once, in file order. */
    bench_trace_gaps gaps;
} bench_trace;

/*
 * Read a trace, gzipped or plain.
 *
 * On failure the trace is left empty and `error` holds one line of text:
 * "FILE:LINE: what is wrong", or "FILE: ..." where no line is to blame.
 */
bool bench_trace_read(bench_trace *trace, const char *path, char error[BENCH_TRACE_ERROR_CHARS]);

/*
 * Write a trace in the newest version, gzipped if the path ends in .gz. False, with
 * errno set, if that fails; part of the file may be there then.
 */
bool bench_trace_write(const bench_trace *trace, const char *path);

/* Free what the trace holds; an empty one is fine. */
void bench_trace_destroy(bench_trace *trace);

#endif
