/*
 * Traces out of what other programs write. Neither knows all that gp's format has:
 * trace_builder.h says what is made of blocks that were live before, and of what is
 * missing.
 *
 * On failure the trace is left empty and `error` says why, as bench_trace_read() does.
 */
#ifndef GP_BENCH_IMPORT_H
#define GP_BENCH_IMPORT_H

#include "trace.h"

/* What was found in the file and is in no trace. */
typedef struct bench_import_skips {
    size_t failed_allocs;
    size_t empty_blocks; /* of no bytes */
} bench_import_skips;

/* The log of RMM's logging_resource_adaptor. */
bool bench_import_rmm(bench_trace *trace, bench_import_skips *skips, const char *path,
                      char error[BENCH_TRACE_ERROR_CHARS]);

/*
 * A memory snapshot of PyTorch's: JSON, or the pickle of torch.cuda.memory._dump_snapshot(),
 * which needs python3.
 *
 * @param device  Whose events; -1 for the only device that has some.
 */
bool bench_import_snapshot(bench_trace *trace, bench_import_skips *skips, const char *path,
                           int device, char error[BENCH_TRACE_ERROR_CHARS]);

/* Does a file begin like a log of RMM's? False too if it cannot be read. */
bool bench_import_is_rmm(const char *path);

#endif
