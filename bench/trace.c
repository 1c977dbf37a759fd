#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define HEADER "t_us,op,id,size,stream"
#define FIELD_COUNT 5
/* The longest sound line has four numbers of at most 20 digits. */
#define LINE_CHARS 256

/* An id of the file, in the search tree. */
typedef struct known_id {
    uint64_t id; /* First, so that a key may be a known_id of which only this is set. */
    uint32_t block;
    bool freed;
} known_id;

/* One line's numbers. */
typedef struct trace_record {
    uint64_t time_us, id, bytes, stream;
    bool frees;
} trace_record;

/* A trace that is being read. */
typedef struct trace_reader {
    bench_trace *trace;
    const char *path;
    char *error;
    gzFile file;
    void *ids; /* tsearch() tree of known_id */
    size_t line_number;
    size_t event_capacity, block_capacity;
    size_t live_bytes;
    char line[LINE_CHARS];
} trace_reader;

/* The file is wrong at the present line: say so. */
__attribute__((format(printf, 2, 3))) static void describe(const trace_reader *reader,
                                                           const char *format, ...)
{
    char *text = reader->error;
    int used =
        snprintf(text, BENCH_TRACE_ERROR_CHARS, "%s:%zu: ", reader->path, reader->line_number);
    if (used < 0 || used >= BENCH_TRACE_ERROR_CHARS)
        return;

    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, BENCH_TRACE_ERROR_CHARS - (size_t)used, format, arguments);
    va_end(arguments);
}

/* False, for the caller to pass on. A macro, so that readers and checkers see that. */
#define REJECT(reader, ...) (describe(reader, __VA_ARGS__), false)

/* Reading failed for a reason that no line is to blame for. */
static bool reject_file(const char *path, char *error, const char *reason)
{
    (void)snprintf(error, BENCH_TRACE_ERROR_CHARS, "%s: %s", path, reason);
    return false;
}

/* ---- lines ---- */

/* What zlib found wrong, if anything; NULL at a sound end of the file. */
static const char *read_failure(trace_reader *reader)
{
    int code = Z_OK;
    const char *text = gzerror(reader->file, &code);
    switch (code) {
    case Z_OK:
    case Z_STREAM_END:
        return NULL;
    case Z_BUF_ERROR:
        return "the compressed data ends too early";
    case Z_DATA_ERROR:
        return "the compressed data is damaged";
    case Z_ERRNO:
        return strerror(errno);
    default:
        return text;
    }
}

/* Cut the line end off. */
static bool check_line_end(trace_reader *reader)
{
    size_t length = strlen(reader->line);
    if (length > 0 && reader->line[length - 1] == '\n') {
        reader->line[length - 1] = '\0';
        return true;
    }
    if (length == LINE_CHARS - 1)
        return REJECT(reader, "the line is longer than %d characters", LINE_CHARS - 2);
    if (!gzeof(reader->file))
        return REJECT(reader, "the line holds a NUL byte");
    return true; /* the last line may lack its line end */
}

/* Next line into reader->line. *more is false at the end of the file. */
static bool read_line(trace_reader *reader, bool *more)
{
    errno = 0;
    reader->line_number++;
    *more = gzgets(reader->file, reader->line, LINE_CHARS) != NULL;

    /* A damaged file may still have given part of a line. */
    const char *failure = read_failure(reader);
    if (failure != NULL)
        return REJECT(reader, "%s", failure);
    return *more ? check_line_end(reader) : true;
}

static bool read_header(trace_reader *reader)
{
    bool more = false;
    if (!read_line(reader, &more))
        return false;
    if (!more)
        return REJECT(reader, "the file is empty");
    if (strcmp(reader->line, HEADER) != 0)
        return REJECT(reader, "the first line must be \"%s\"", HEADER);
    return true;
}

/* ---- fields ---- */

/* Cut a line at its commas. */
static bool split(trace_reader *reader, char *fields[FIELD_COUNT])
{
    size_t count = 0;
    char *rest = reader->line;
    for (char *field = strsep(&rest, ","); field != NULL; field = strsep(&rest, ",")) {
        if (count < FIELD_COUNT)
            fields[count] = field;
        count++;
    }
    if (count != FIELD_COUNT)
        return REJECT(reader, "expected %d fields, found %zu", FIELD_COUNT, count);
    return true;
}

static bool parse_number(trace_reader *reader, const char *name, const char *field,
                         uint64_t *number)
{
    /* strtoull() alone would take signs, blanks and nothing at all. */
    if (field[0] == '\0' || strspn(field, "0123456789") != strlen(field))
        return REJECT(reader, "%s \"%s\" is not a number", name, field);
    errno = 0;
    *number = strtoull(field, NULL, 10);
    if (errno == ERANGE)
        return REJECT(reader, "%s %s is too large", name, field);
    return true;
}

static bool parse_op(trace_reader *reader, const char *field, bool *frees)
{
    *frees = strcmp(field, "f") == 0;
    if (!*frees && strcmp(field, "a") != 0)
        return REJECT(reader, "op \"%s\" is neither \"a\" nor \"f\"", field);
    return true;
}

static bool parse_record(trace_reader *reader, trace_record *record)
{
    char *fields[FIELD_COUNT] = {NULL};
    return split(reader, fields) && parse_number(reader, "t_us", fields[0], &record->time_us) &&
           parse_op(reader, fields[1], &record->frees) &&
           parse_number(reader, "id", fields[2], &record->id) &&
           parse_number(reader, "size", fields[3], &record->bytes) &&
           parse_number(reader, "stream", fields[4], &record->stream);
}

static bool check_ranges(trace_reader *reader, const trace_record *record)
{
    const bench_trace *trace = reader->trace;
    uint64_t before = trace->event_count > 0 ? trace->events[trace->event_count - 1].time_us : 0;
    if (record->time_us < before)
        return REJECT(reader, "t_us %" PRIu64 " is earlier than %" PRIu64 " on the line above",
                      record->time_us, before);
    if (record->bytes == 0)
        return REJECT(reader, "size is 0");
    if (record->bytes > BENCH_TRACE_MAX_BYTES)
        return REJECT(reader, "size %" PRIu64 " is more than any device holds", record->bytes);
    if (record->stream >= BENCH_TRACE_MAX_STREAMS)
        return REJECT(reader, "stream %" PRIu64 " is above %d", record->stream,
                      BENCH_TRACE_MAX_STREAMS - 1);
    return true;
}

/* ---- events ---- */

static int compare_ids(const void *left, const void *right)
{
    uint64_t a = ((const known_id *)left)->id;
    uint64_t b = ((const known_id *)right)->id;
    return (a > b) - (a < b);
}

/* Room for one more element, by doubling. */
static bool reserve(trace_reader *reader, void **array, size_t count, size_t *capacity,
                    size_t element_bytes)
{
    if (count < *capacity)
        return true;

    size_t wanted = *capacity == 0 ? 1024 : *capacity * 2;
    void *larger = reallocarray(*array, wanted, element_bytes);
    if (larger == NULL)
        return REJECT(reader, "out of memory");
    *array = larger;
    *capacity = wanted;
    return true;
}

/* Enter a new id; one seen before is a mistake. */
static bool remember_id(trace_reader *reader, uint64_t id, uint32_t block)
{
    known_id *entry = malloc(sizeof(*entry));
    if (entry == NULL)
        return REJECT(reader, "out of memory");
    *entry = (known_id){.id = id, .block = block};

    known_id **found = tsearch(entry, &reader->ids, compare_ids);
    if (found != NULL && *found == entry)
        return true;
    free(entry);
    if (found == NULL)
        return REJECT(reader, "out of memory");
    return REJECT(reader, "id %" PRIu64 " is allocated a second time", id);
}

static bool add_block(trace_reader *reader, const trace_record *record, uint32_t *block)
{
    bench_trace *trace = reader->trace;
    void *blocks = trace->blocks;
    if (!reserve(reader, &blocks, trace->block_count, &reader->block_capacity,
                 sizeof(*trace->blocks)))
        return false;
    trace->blocks = blocks;
    if (!remember_id(reader, record->id, (uint32_t)trace->block_count))
        return false;

    *block = (uint32_t)trace->block_count++;
    trace->blocks[*block] =
        (bench_trace_block){.bytes = record->bytes, .stream = (uint16_t)record->stream};
    reader->live_bytes += record->bytes;
    if (reader->live_bytes > trace->peak_live_bytes)
        trace->peak_live_bytes = reader->live_bytes;
    return true;
}

static bool end_block(trace_reader *reader, const trace_record *record, uint32_t *block)
{
    known_id key = {.id = record->id};
    known_id **found = tfind(&key, &reader->ids, compare_ids);
    if (found == NULL)
        return REJECT(reader, "id %" PRIu64 " is freed but was never allocated", record->id);
    known_id *entry = *found;
    if (entry->freed)
        return REJECT(reader, "id %" PRIu64 " is freed a second time", record->id);
    size_t allocated = reader->trace->blocks[entry->block].bytes;
    if (record->bytes != allocated)
        return REJECT(reader,
                      "size %" PRIu64 " is freed, but id %" PRIu64 " was allocated with %zu",
                      record->bytes, record->id, allocated);

    entry->freed = true;
    *block = entry->block;
    reader->live_bytes -= record->bytes;
    return true;
}

static bool add_event(trace_reader *reader, const trace_record *record)
{
    bench_trace *trace = reader->trace;
    void *events = trace->events;
    if (!reserve(reader, &events, trace->event_count, &reader->event_capacity,
                 sizeof(*trace->events)))
        return false;
    trace->events = events;

    uint32_t block = 0;
    if (!(record->frees ? end_block(reader, record, &block) : add_block(reader, record, &block)))
        return false;
    trace->events[trace->event_count++] = (bench_trace_event){
        .time_us = record->time_us,
        .block = block,
        .stream = (uint16_t)record->stream,
        .frees = record->frees,
    };
    if (record->stream >= trace->stream_count)
        trace->stream_count = record->stream + 1;
    return true;
}

/* ---- the file ---- */

static bool read_events(trace_reader *reader)
{
    for (;;) {
        bool more = false;
        trace_record record;
        if (!read_line(reader, &more))
            return false;
        if (!more)
            break;
        if (!parse_record(reader, &record) || !check_ranges(reader, &record) ||
            !add_event(reader, &record))
            return false;
    }
    if (reader->trace->event_count == 0)
        return REJECT(reader, "the file has no events");
    return true;
}

/* "dir/resnet.csv.gz" is "resnet". */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *start = slash != NULL ? slash + 1 : path;
    const char *end = strstr(start, ".csv");
    return strndup(start, end != NULL && end > start ? (size_t)(end - start) : strlen(start));
}

static bool read_open_file(trace_reader *reader)
{
    reader->trace->name = name_of(reader->path);
    if (reader->trace->name == NULL)
        return REJECT(reader, "out of memory");
    return read_header(reader) && read_events(reader);
}

bool bench_trace_read(bench_trace *trace, const char *path, char error[BENCH_TRACE_ERROR_CHARS])
{
    *trace = (bench_trace){0};
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (file == NULL)
        return reject_file(path, error, errno != 0 ? strerror(errno) : "out of memory");

    trace_reader reader = {.trace = trace, .path = path, .error = error, .file = file};
    bool sound = read_open_file(&reader);
    tdestroy(reader.ids, free);
    (void)gzclose_r(file);
    if (!sound)
        bench_trace_destroy(trace);
    return sound;
}

void bench_trace_destroy(bench_trace *trace)
{
    free(trace->name);
    free(trace->events);
    free(trace->blocks);
    *trace = (bench_trace){0};
}
