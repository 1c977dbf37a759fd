/* What the pipeline reached with each source of memory, on paper. */
#ifndef GP_EXAMPLES_PIPELINE_REPORT_H
#define GP_EXAMPLES_PIPELINE_REPORT_H

#include "memory_source.h"
#include "result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where and what: the same for all rows. */
typedef struct pipeline_setup {
    const char *device;
    char device_name[BENCH_DEVICE_NAME_CHARS];
    const char *kernel;
    bool simulated;
    size_t layers;
    size_t rounds, round_ms;
} pipeline_setup;

/* One source of memory at one thread count. */
typedef struct pipeline_row {
    const char *source;
    size_t threads;
    bench_spread requests_per_s;      /* Over the rounds. */
    bench_spread of_ceiling;          /* By the preallocated source's, round by round. */
    bench_spread over_native;         /* By the native pool's, round by round. */
    bench_latency_summary latency_ns; /* Of all requests of all rounds. */
    bench_spread p99_of_ceiling;      /* p99 by the preallocated source's, round by round. */
    uint64_t peak_bytes;              /* Held from the device. */
    double sim_native_us;             /* Simulated time of native calls, per request. */
} pipeline_row;

void pipeline_report_table(const pipeline_setup *setup, const pipeline_row *rows, size_t count);

/* To a file, or to standard output for "-"; ends the process if that fails. */
void pipeline_report_json(const pipeline_setup *setup, const pipeline_row *rows, size_t count,
                          const char *path, int64_t hazards);

#endif
