#include "trace.h"

#include "trace_builder.h"
#include "trace_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Streams of a file of version 1 are indexes already, and each may become a thread. */
#define FIRST_MAX_STREAMS 256

/* A trace that is being read. */
typedef struct trace_reader {
    bench_text_file text;
    bench_trace *trace;
    bench_trace_builder builder;
    bench_names streams, threads; /* of version 2 */
    uint64_t rows;                /* of the file, but for its last */
    uint64_t last_time;           /* In the file's unit. */
    bool at_end;                  /* The row that says so was read. */
} trace_reader;

#define REJECT(reader, ...) BENCH_TEXT_REJECT(&(reader)->text, __VA_ARGS__)

/* ---- rows ---- */

static bool parse_time(trace_reader *reader, const char *name, const char *field, uint64_t *time)
{
    if (!bench_text_number(&reader->text, name, field, time))
        return false;
    if (*time < reader->last_time)
        return REJECT(reader, "%s %" PRIu64 " is earlier than %" PRIu64 " on the line above", name,
                      *time, reader->last_time);
    reader->last_time = *time;
    return true;
}

static bool add_record(trace_reader *reader, const bench_trace_record *record)
{
    return bench_trace_builder_add(&reader->builder, record) ||
           REJECT(reader, "%s", reader->builder.problem);
}

/* ---- version 1 ---- */

static bool read_first_row(trace_reader *reader)
{
    bench_text_file *text = &reader->text;
    char *fields[5] = {NULL};
    bench_trace_record record = {0};
    if (!bench_text_split(text, fields, 5) ||
        !parse_time(reader, "t_us", fields[0], &record.time_ns))
        return false;
    if (record.time_ns > UINT64_MAX / 1000)
        return REJECT(reader, "t_us %s is too large", fields[0]);
    record.time_ns *= 1000;
    record.frees = strcmp(fields[1], "f") == 0;
    if (!record.frees && strcmp(fields[1], "a") != 0)
        return REJECT(reader, "op \"%s\" is neither \"a\" nor \"f\"", fields[1]);
    if (!bench_text_number(text, "id", fields[2], &record.id) ||
        !bench_text_number(text, "size", fields[3], &record.bytes) ||
        !bench_text_number(text, "stream", fields[4], &record.stream))
        return false;
    if (record.stream >= FIRST_MAX_STREAMS)
        return REJECT(reader, "stream %" PRIu64 " is above %d", record.stream,
                      FIRST_MAX_STREAMS - 1);
    return add_record(reader, &record);
}

/* ---- version 2 ---- */

typedef struct second_row {
    uint64_t time, id, size, stream, thread;
    char op;
} second_row;

static bool parse_second_op(trace_reader *reader, const char *field, char *op)
{
    *op = field[0];
    if (strlen(field) != 1 || strchr("afde", *op) == NULL)
        return REJECT(reader, "op \"%s\" is none of \"a\", \"f\", \"d\" and \"e\"", field);
    return true;
}

static bool parse_second_row(trace_reader *reader, second_row *row)
{
    bench_text_file *text = &reader->text;
    char *fields[6] = {NULL};
    return bench_text_split(text, fields, 6) && parse_time(reader, "t_ns", fields[0], &row->time) &&
           parse_second_op(reader, fields[1], &row->op) &&
           bench_text_number(text, "id", fields[2], &row->id) &&
           bench_text_number(text, "size", fields[3], &row->size) &&
           bench_text_number(text, "stream", fields[4], &row->stream) &&
           bench_text_number(text, "thread", fields[5], &row->thread);
}

static bool find_index(trace_reader *reader, bench_names *names, const char *what, uint64_t name,
                       uint64_t *index)
{
    if (!bench_names_index(names, name, index))
        return REJECT(reader, "out of memory");
    if (*index >= BENCH_TRACE_MAX_INDEXES)
        return REJECT(reader, "more than %d %ss", BENCH_TRACE_MAX_INDEXES, what);
    return true;
}

static bool add_second_event(trace_reader *reader, const second_row *row)
{
    bench_trace_record record = {
        .time_ns = row->time, .id = row->id, .bytes = row->size, .frees = row->op == 'f'};
    return find_index(reader, &reader->streams, "stream", row->stream, &record.stream) &&
           find_index(reader, &reader->threads, "thread", row->thread, &record.thread) &&
           add_record(reader, &record);
}

static bool check_end(trace_reader *reader, const second_row *row)
{
    reader->at_end = true;
    return row->size == reader->rows ||
           REJECT(reader, "the file says that %" PRIu64 " rows came before, but has %" PRIu64,
                  row->size, reader->rows);
}

static bool read_second_row(trace_reader *reader)
{
    second_row row;
    if (reader->at_end)
        return REJECT(reader, "a line after the end");
    if (!parse_second_row(reader, &row))
        return false;
    if (row.op == 'e')
        return check_end(reader, &row);
    reader->rows++;
    if (row.op != 'd')
        return add_second_event(reader, &row);
    reader->trace->gaps.dropped_events += row.size;
    reader->builder.rules = BENCH_TRACE_LOSSY;
    return true;
}

/* ---- the file ---- */

static bool read_rows(trace_reader *reader, bool (*read_row)(trace_reader *reader))
{
    for (;;) {
        bool more = false;
        if (!bench_text_next(&reader->text, &more))
            return false;
        if (!more)
            return true;
        if (!read_row(reader))
            return false;
    }
}

static bool read_first_version(trace_reader *reader)
{
    reader->builder.rules = BENCH_TRACE_CLOSED;
    return read_rows(reader, read_first_row);
}

static bool read_second_version(trace_reader *reader)
{
    bool more = false;
    reader->builder.rules = BENCH_TRACE_OPEN;
    if (!bench_text_next(&reader->text, &more))
        return false;
    if (!more || strcmp(reader->text.line, BENCH_TRACE_SECOND_COLUMNS) != 0)
        return REJECT(reader, "the second line must be \"%s\"", BENCH_TRACE_SECOND_COLUMNS);
    if (!read_rows(reader, read_second_row))
        return false;
    return reader->at_end || REJECT(reader, "the file was cut off: its last line is missing");
}

static bool read_version(trace_reader *reader)
{
    bool more = false;
    if (!bench_text_next(&reader->text, &more))
        return false;
    if (!more)
        return REJECT(reader, "the file is empty");
    if (strcmp(reader->text.line, BENCH_TRACE_FIRST_COLUMNS) == 0)
        return read_first_version(reader);
    if (strcmp(reader->text.line, BENCH_TRACE_SECOND_MARK) == 0)
        return read_second_version(reader);
    return REJECT(reader, "the first line must be \"%s\" or \"%s\"", BENCH_TRACE_SECOND_MARK,
                  BENCH_TRACE_FIRST_COLUMNS);
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
    reader->trace->name = name_of(reader->text.path);
    if (reader->trace->name == NULL)
        return REJECT(reader, "out of memory");
    if (!read_version(reader))
        return false;
    return bench_trace_builder_finish(&reader->builder) ||
           REJECT(reader, "%s", reader->builder.problem);
}

bool bench_trace_read(bench_trace *trace, const char *path, char error[BENCH_TRACE_ERROR_CHARS])
{
    *trace = (bench_trace){0};
    trace_reader reader = {.trace = trace, .builder = {.trace = trace}};
    if (!bench_text_open(&reader.text, path, error))
        return false;
    bool sound = read_open_file(&reader);
    bench_text_close(&reader.text);
    bench_trace_builder_destroy(&reader.builder);
    bench_names_destroy(&reader.streams);
    bench_names_destroy(&reader.threads);
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
