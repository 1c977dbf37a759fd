/*
 * Any bytes as what another program wrote: refused with a text, or a trace. Compiled once for
 * each reader.
 *
 *   FUZZED_SNAPSHOT   1: PyTorch's snapshots; 0: RMM's logs
 */
#include "fuzz_file.h"
#include "import.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static bool import(bench_trace *trace, const char *path, char *error)
{
    bench_import_skips skips;
#if FUZZED_SNAPSHOT
    return bench_import_snapshot(trace, &skips, path, -1, error);
#else
    return bench_import_rmm(trace, &skips, path, error);
#endif
}

/* Every event is of a block, and no block is freed that is not live. */
static void check_blocks(const bench_trace *trace)
{
    bool *live = calloc(trace->block_count, sizeof(*live));
    if (live == NULL)
        return;
    for (size_t i = 0; i < trace->event_count; i++) {
        const bench_trace_event *event = &trace->events[i];
        if (event->block >= trace->block_count || live[event->block] != event->frees)
            abort();
        live[event->block] = !event->frees;
    }
    free(live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char error[BENCH_TRACE_ERROR_CHARS] = "";
    bench_trace trace;
    const char *path = fuzz_file(data, bytes);
    /* What begins a pickle starts Python, which no fuzzer of this program sees into. */
    if (bytes > 0 && data[0] == 0x80)
        return 0;
    if (!import(&trace, path, error)) {
        if (strncmp(error, path, strlen(path)) != 0 || trace.events != NULL)
            abort();
        return 0;
    }
    check_blocks(&trace);
    bench_trace_destroy(&trace);
    return 0;
}
