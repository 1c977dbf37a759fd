/* The first lines of a trace file: docs/trace-format.md. */
#ifndef GP_BENCH_TRACE_FORMAT_H
#define GP_BENCH_TRACE_FORMAT_H

#define BENCH_TRACE_FIRST_COLUMNS "t_us,op,id,size,stream"
#define BENCH_TRACE_SECOND_MARK "gp-trace 2"
#define BENCH_TRACE_SECOND_COLUMNS "t_ns,op,id,size,stream,thread"

#endif
