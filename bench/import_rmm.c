/*
 * RMM's log: one line for each call, written under the logger's lock, an allocation after it
 * was made and a free before. So a block's free stands before the next allocation at its
 * address, whichever threads they are of.
 */
#include "import.h"

#include "trace_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS "Thread,Time,Action,Pointer,Size,Stream"
#define COLUMN_COUNT 6

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_DAY (NS_PER_S * 24 * 3600)

typedef struct rmm_reader {
    bench_text_file text;
    bench_trace_builder builder;
    bench_names streams, threads;
    bench_import_skips *skips;
    bool started;
    uint64_t first_ns, last_ns; /* as the file has them, days added */
    uint64_t days_ns;
} rmm_reader;

#define REJECT(reader, ...) BENCH_TEXT_REJECT(&(reader)->text, __VA_ARGS__)

/* ---- fields ---- */

/* A pointer as printf() and C++ streams show it: 0x7f00, (nil), 0. */
static bool parse_pointer(rmm_reader *reader, const char *name, const char *field,
                          uint64_t *pointer)
{
    *pointer = 0;
    if (strcmp(field, "(nil)") == 0)
        return true;
    const char *digits = strncmp(field, "0x", 2) == 0 ? field + 2 : field;
    if (digits[0] == '\0' || strspn(digits, "0123456789abcdefABCDEF") != strlen(digits))
        return REJECT(reader, "%s \"%s\" is not a pointer", name, field);
    errno = 0;
    *pointer = strtoull(digits, NULL, 16);
    if (errno == ERANGE)
        return REJECT(reader, "%s \"%s\" is too large", name, field);
    return true;
}

/* The digits at *text as a number of at most `most`; moves past them. */
static bool take_number(const char **text, uint64_t most, uint64_t *number)
{
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 12)
        return false;
    *number = strtoull(*text, NULL, 10);
    *text += digits;
    return *number <= most;
}

/* What stands behind the seconds: ".123456", or ":123456" in older versions. */
static bool take_fraction(const char **text, uint64_t *nanoseconds)
{
    *nanoseconds = 0;
    if (**text == '\0')
        return true;
    if (**text != '.' && **text != ':')
        return false;
    (*text)++;
    uint64_t unit = NS_PER_S / 10;
    size_t digits = strspn(*text, "0123456789");
    for (size_t i = 0; i < digits; i++, unit /= 10)
        *nanoseconds += unit * (uint64_t)((*text)[i] - '0');
    *text += digits;
    return digits > 0 && **text == '\0';
}

/* "15:25:57.123456", a time of day. */
static bool parse_clock(const char *field, uint64_t *nanoseconds)
{
    uint64_t hours = 0;
    uint64_t minutes = 0;
    uint64_t seconds = 0;
    uint64_t fraction = 0;
    if (!take_number(&field, 23, &hours) || *field++ != ':' || !take_number(&field, 59, &minutes) ||
        *field++ != ':' || !take_number(&field, 60, &seconds) || !take_fraction(&field, &fraction))
        return false;
    *nanoseconds = ((hours * 60 + minutes) * 60 + seconds) * NS_PER_S + fraction;
    return true;
}

/* Time since the first line. Threads wait for the logger's lock after they took the time, so that
 * it may step back a little; where it steps back by most of a day it was midnight. */
static bool parse_time(rmm_reader *reader, const char *field, uint64_t *time_ns)
{
    uint64_t now = 0;
    if (!parse_clock(field, &now))
        return REJECT(reader, "Time \"%s\" is no time of day as 15:25:57.123456", field);
    now += reader->days_ns;
    if (reader->started && now + NS_PER_DAY / 2 < reader->last_ns) {
        reader->days_ns += NS_PER_DAY;
        now += NS_PER_DAY;
    }
    if (!reader->started)
        reader->first_ns = now;
    else if (now < reader->last_ns)
        now = reader->last_ns;
    reader->started = true;
    reader->last_ns = now;
    *time_ns = now - reader->first_ns;
    return true;
}

static bool find_index(rmm_reader *reader, bench_names *names, const char *what, uint64_t name,
                       uint64_t *index)
{
    if (!bench_names_index(names, name, index))
        return REJECT(reader, "out of memory");
    if (*index >= BENCH_TRACE_MAX_INDEXES)
        return REJECT(reader, "more than %d %ss", BENCH_TRACE_MAX_INDEXES, what);
    return true;
}

/* ---- lines ---- */

static bool parse_record(rmm_reader *reader, char **fields, bench_trace_record *record)
{
    uint64_t thread = 0;
    uint64_t stream = 0;
    return bench_text_number(&reader->text, "Thread", fields[0], &thread) &&
           find_index(reader, &reader->threads, "thread", thread, &record->thread) &&
           parse_time(reader, fields[1], &record->time_ns) &&
           parse_pointer(reader, "Pointer", fields[3], &record->id) &&
           bench_text_number(&reader->text, "Size", fields[4], &record->bytes) &&
           parse_pointer(reader, "Stream", fields[5], &stream) &&
           find_index(reader, &reader->streams, "stream", stream, &record->stream);
}

static bool add_record(rmm_reader *reader, const bench_trace_record *record)
{
    if (record->bytes == 0) {
        reader->skips->empty_blocks++;
        return true;
    }
    return bench_trace_builder_add(&reader->builder, record) ||
           REJECT(reader, "%s", reader->builder.problem);
}

static bool read_call(rmm_reader *reader)
{
    char *fields[COLUMN_COUNT] = {NULL};
    bench_trace_record record = {0};
    if (!bench_text_split(&reader->text, fields, COLUMN_COUNT))
        return false;
    if (strcmp(fields[2], "allocate failure") == 0) {
        reader->skips->failed_allocs++;
        return true;
    }
    record.frees = strcmp(fields[2], "free") == 0;
    if (!record.frees && strcmp(fields[2], "allocate") != 0)
        return REJECT(reader, "Action \"%s\" is not known", fields[2]);
    return parse_record(reader, fields, &record) && add_record(reader, &record);
}

static bool read_open_file(rmm_reader *reader)
{
    bool more = false;
    if (!bench_text_next(&reader->text, &more))
        return false;
    if (!more || strcmp(reader->text.line, COLUMNS) != 0)
        return REJECT(reader, "the first line must be \"%s\"", COLUMNS);
    for (;;) {
        if (!bench_text_next(&reader->text, &more))
            return false;
        if (!more)
            break;
        if (!read_call(reader))
            return false;
    }
    return bench_trace_builder_finish(&reader->builder) ||
           REJECT(reader, "%s", reader->builder.problem);
}

bool bench_import_rmm(bench_trace *trace, bench_import_skips *skips, const char *path,
                      char error[BENCH_TRACE_ERROR_CHARS])
{
    *trace = (bench_trace){0};
    *skips = (bench_import_skips){0};
    rmm_reader reader = {.builder = {.trace = trace, .rules = BENCH_TRACE_LOSSY}, .skips = skips};
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

bool bench_import_is_rmm(const char *path)
{
    char error[BENCH_TRACE_ERROR_CHARS];
    bench_text_file text;
    bool more = false;
    if (!bench_text_open(&text, path, error))
        return false;
    bool matches = bench_text_next(&text, &more) && more && strncmp(text.line, "Thread,", 7) == 0;
    bench_text_close(&text);
    return matches;
}
