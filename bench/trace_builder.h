/*
 * Builds a trace event by event, out of whatever a reader finds in its file.
 *
 * Files differ in what they promise about a block's life:
 *
 *   closed  Each free has its allocation before it, an id never returns.
 *   open    A block may have been live before the first event: its first event is a
 *           free, which has its size. An id returns after its free.
 *   lossy   Events may be missing. An id that is allocated while live was freed
 *           unseen, and is freed just before; a free of what is not live any more is
 *           left out. Both are counted.
 *
 * Blocks that were live before are allocated ahead of all events, at time 0, in the
 * order in which they are freed.
 */
#ifndef GP_BENCH_TRACE_BUILDER_H
#define GP_BENCH_TRACE_BUILDER_H

#include "names.h"
#include "trace.h"

typedef enum bench_trace_rules {
    BENCH_TRACE_CLOSED,
    BENCH_TRACE_OPEN,
    BENCH_TRACE_LOSSY
} bench_trace_rules;

typedef struct bench_trace_record {
    uint64_t time_ns; /* Not before the last one's, which the reader sees to. */
    uint64_t id;      /* Any number. */
    uint64_t bytes;   /* Of a free: 0 if unknown. */
    uint64_t stream;  /* An index. */
    uint64_t thread;  /* An index. */
    bool frees;
} bench_trace_record;

/* All zero but for trace and rules: empty. */
typedef struct bench_trace_builder {
    bench_trace *trace;
    bench_trace_rules rules;
    bench_names ids; /* The present block of each, or none any more. */
    size_t event_capacity, block_capacity;
    bench_trace_event *initial; /* Allocations of the blocks that were live before. */
    size_t initial_capacity;
    char problem[160];
} bench_trace_builder;

/* False, and `problem` says why, if the rules do not allow it or memory is out. */
bool bench_trace_builder_add(bench_trace_builder *builder, const bench_trace_record *record);

/* A block that was live before all events, and is not freed by any that comes later. */
bool bench_trace_builder_add_initial(bench_trace_builder *builder,
                                     const bench_trace_record *record);

/* Is the block of an id live now? Or was it, and is not any more? */
bool bench_trace_builder_knows(const bench_trace_builder *builder, uint64_t id);

/* All is read: complete the trace. False as above; a trace without events is a problem. */
bool bench_trace_builder_finish(bench_trace_builder *builder);

/* The trace stays. */
void bench_trace_builder_destroy(bench_trace_builder *builder);

#endif
