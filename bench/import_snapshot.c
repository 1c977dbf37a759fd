/*
 * PyTorch's memory snapshot: the calls of each device in order ("device_traces"), and what is
 * allocated at its end ("segments"), which tells of blocks that live all through. It knows no
 * threads: all calls are of one.
 *
 * A free counts where the program asked for it ("free_requested"). When PyTorch's allocator is
 * done with the block ("free_completed"), and what it asks the device for, is its own matter.
 */
#include "import.h"

#include "snapshot_file.h"
#include "trace_builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct snapshot_reader {
    const char *path;
    char *error;
    bench_trace_builder builder;
    bench_names streams;
    bench_import_skips *skips;
    size_t device;
    int64_t first_us, last_us;
    bool started;
} snapshot_reader;

/* Where something stands in the snapshot, to be shown: "device_traces[0][17]". */
typedef struct place {
    const char *list;
    size_t outer, inner;
} place;

__attribute__((format(printf, 2, 3))) static void describe(const snapshot_reader *reader,
                                                           const char *format, ...)
{
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    (void)snprintf(reader->error, BENCH_TRACE_ERROR_CHARS, "%s: %s", reader->path, reason);
}

/* False, for the caller to pass on. */
#define REJECT(reader, ...) (describe(reader, __VA_ARGS__), false)
#define REJECT_AT(reader, at, text)                                                                \
    REJECT(reader, "%s[%zu][%zu]: %s", (at)->list, (at)->outer, (at)->inner, text)

/* ---- members ---- */

static bool get_number(snapshot_reader *reader, const place *at, const json_t *object,
                       const char *key, uint64_t *number)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return REJECT(reader, "%s[%zu][%zu]: \"%s\" is missing or no whole number", at->list,
                      at->outer, at->inner, key);
    *number = (uint64_t)json_integer_value(value);
    return true;
}

static bool get_stream(snapshot_reader *reader, const place *at, const json_t *object,
                       uint64_t *index)
{
    uint64_t stream = 0;
    if (!get_number(reader, at, object, "stream", &stream))
        return false;
    if (!bench_names_index(&reader->streams, stream, index))
        return REJECT(reader, "out of memory");
    if (*index >= BENCH_TRACE_MAX_INDEXES)
        return REJECT_AT(reader, at, "too many streams");
    return true;
}

/* Old versions take no time; the clock may be set back while the program runs. */
static uint64_t get_time(snapshot_reader *reader, const json_t *entry)
{
    int64_t now_us = json_integer_value(json_object_get(entry, "time_us"));
    if (!reader->started) {
        reader->first_us = now_us;
        reader->last_us = now_us;
    }
    reader->started = true;
    if (now_us > reader->last_us)
        reader->last_us = now_us;
    return ((uint64_t)reader->last_us - (uint64_t)reader->first_us) * 1000;
}

static const char *get_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* ---- calls ---- */

static bool add_call(snapshot_reader *reader, const place *at, const json_t *entry, bool frees)
{
    bench_trace_record record = {.time_ns = get_time(reader, entry), .frees = frees};
    if (!get_number(reader, at, entry, "addr", &record.id) ||
        !get_number(reader, at, entry, "size", &record.bytes) ||
        !get_stream(reader, at, entry, &record.stream))
        return false;
    if (record.bytes == 0) {
        reader->skips->empty_blocks++;
        return true;
    }
    return bench_trace_builder_add(&reader->builder, &record) ||
           REJECT_AT(reader, at, reader->builder.problem);
}

static bool read_entry(snapshot_reader *reader, const place *at, const json_t *entry)
{
    const char *action = get_text(entry, "action");
    if (action[0] == '\0')
        return REJECT_AT(reader, at, "\"action\" is missing");
    if (strcmp(action, "oom") == 0)
        reader->skips->failed_allocs++;
    if (strcmp(action, "alloc") == 0)
        return add_call(reader, at, entry, false);
    if (strcmp(action, "free_requested") == 0)
        return add_call(reader, at, entry, true);
    return true;
}

static bool read_calls(snapshot_reader *reader, const json_t *root)
{
    const json_t *traces = json_object_get(root, "device_traces");
    const json_t *entries = json_array_get(traces, reader->device);
    place at = {.list = "device_traces", .outer = reader->device};
    for (at.inner = 0; at.inner < json_array_size(entries); at.inner++) {
        if (!read_entry(reader, &at, json_array_get(entries, at.inner)))
            return false;
    }
    return true;
}

/* ---- what lives all through ---- */

static bool read_block(snapshot_reader *reader, const place *at, const json_t *segment,
                       const json_t *block)
{
    bench_trace_record record = {0};
    if (strcmp(get_text(block, "state"), "active_allocated") != 0)
        return true;
    if (!get_number(reader, at, block, "address", &record.id) ||
        !get_number(reader, at, block, "requested_size", &record.bytes) ||
        !get_stream(reader, at, segment, &record.stream))
        return false;
    if (record.bytes == 0 || bench_trace_builder_knows(&reader->builder, record.id))
        return true;
    return bench_trace_builder_add_initial(&reader->builder, &record) ||
           REJECT_AT(reader, at, reader->builder.problem);
}

static bool read_segments(snapshot_reader *reader, const json_t *root)
{
    const json_t *segments = json_object_get(root, "segments");
    place at = {.list = "segments"};
    for (at.outer = 0; at.outer < json_array_size(segments); at.outer++) {
        const json_t *segment = json_array_get(segments, at.outer);
        const json_t *blocks = json_object_get(segment, "blocks");
        if ((size_t)json_integer_value(json_object_get(segment, "device")) != reader->device)
            continue;
        for (at.inner = 0; at.inner < json_array_size(blocks); at.inner++) {
            if (!read_block(reader, &at, segment, json_array_get(blocks, at.inner)))
                return false;
        }
    }
    return true;
}

/* ---- the snapshot ---- */

/* The device asked for, or the only one that has events. */
static bool choose_device(snapshot_reader *reader, const json_t *traces, int asked)
{
    size_t found = 0;
    for (size_t i = 0; i < json_array_size(traces); i++) {
        if (json_array_size(json_array_get(traces, i)) == 0)
            continue;
        found++;
        reader->device = i;
    }
    if (asked >= 0)
        reader->device = (size_t)asked;
    if (json_array_size(json_array_get(traces, reader->device)) == 0)
        return REJECT(reader, "no events in \"device_traces\": they are there if "
                              "torch.cuda.memory._record_memory_history() was called");
    if (asked < 0 && found > 1)
        return REJECT(reader, "%zu devices have events: choose one with --device", found);
    return true;
}

static bool read_root(snapshot_reader *reader, const json_t *root, int device)
{
    if (!choose_device(reader, json_object_get(root, "device_traces"), device) ||
        !read_calls(reader, root) || !read_segments(reader, root))
        return false;
    return bench_trace_builder_finish(&reader->builder) ||
           REJECT(reader, "%s", reader->builder.problem);
}

bool bench_import_snapshot(bench_trace *trace, bench_import_skips *skips, const char *path,
                           int device, char error[BENCH_TRACE_ERROR_CHARS])
{
    *trace = (bench_trace){0};
    *skips = (bench_import_skips){0};
    json_t *root = bench_snapshot_load(path, error);
    if (root == NULL)
        return false;
    snapshot_reader reader = {.path = path,
                              .error = error,
                              .builder = {.trace = trace, .rules = BENCH_TRACE_LOSSY},
                              .skips = skips};
    bool sound = read_root(&reader, root, device);
    json_decref(root);
    bench_trace_builder_destroy(&reader.builder);
    bench_names_destroy(&reader.streams);
    if (!sound)
        bench_trace_destroy(trace);
    return sound;
}
