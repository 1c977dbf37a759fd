#include "text_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_text_describe(const bench_text_file *text, const char *format, ...)
{
    int used =
        snprintf(text->error, BENCH_TEXT_ERROR_CHARS, "%s:%zu: ", text->path, text->line_number);
    if (used < 0 || used >= BENCH_TEXT_ERROR_CHARS)
        return;

    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text->error + used, BENCH_TEXT_ERROR_CHARS - (size_t)used, format, arguments);
    va_end(arguments);
}

bool bench_text_open(bench_text_file *text, const char *path, char error[BENCH_TEXT_ERROR_CHARS])
{
    *text = (bench_text_file){.path = path, .error = error};
    errno = 0;
    text->file = gzopen(path, "rb");
    if (text->file != NULL)
        return true;
    (void)snprintf(error, BENCH_TEXT_ERROR_CHARS, "%s: %s", path,
                   errno != 0 ? strerror(errno) : "out of memory");
    return false;
}

void bench_text_close(bench_text_file *text)
{
    (void)gzclose_r(text->file);
}

/* ---- lines ---- */

/* What zlib found wrong, if anything; NULL at a sound end of the file. */
static const char *read_failure(bench_text_file *text)
{
    int code = Z_OK;
    const char *reason = gzerror(text->file, &code);
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
        return reason;
    }
}

/* Cut the line end off. */
static bool check_line_end(bench_text_file *text)
{
    size_t length = strlen(text->line);
    if (length > 0 && text->line[length - 1] == '\n') {
        text->line[length - 1] = '\0';
        return true;
    }
    if (length == BENCH_TEXT_LINE_CHARS - 1)
        return BENCH_TEXT_REJECT(text, "the line is longer than %d characters",
                                 BENCH_TEXT_LINE_CHARS - 2);
    if (!gzeof(text->file))
        return BENCH_TEXT_REJECT(text, "the line holds a NUL byte");
    return true; /* the last line may lack its line end */
}

bool bench_text_next(bench_text_file *text, bool *more)
{
    errno = 0;
    text->line_number++;
    *more = gzgets(text->file, text->line, BENCH_TEXT_LINE_CHARS) != NULL;

    /* A damaged file may still have given part of a line. */
    const char *failure = read_failure(text);
    if (failure != NULL)
        return BENCH_TEXT_REJECT(text, "%s", failure);
    return *more ? check_line_end(text) : true;
}

/* ---- fields ---- */

bool bench_text_split(bench_text_file *text, char **fields, size_t count)
{
    size_t found = 0;
    char *rest = text->line;
    for (char *field = strsep(&rest, ","); field != NULL; field = strsep(&rest, ",")) {
        if (found < count)
            fields[found] = field;
        found++;
    }
    if (found != count)
        return BENCH_TEXT_REJECT(text, "expected %zu fields, found %zu", count, found);
    return true;
}

bool bench_text_number(bench_text_file *text, const char *name, const char *field, uint64_t *number)
{
    /* strtoull() alone would take signs, blanks and nothing at all. */
    if (field[0] == '\0' || strspn(field, "0123456789") != strlen(field))
        return BENCH_TEXT_REJECT(text, "%s \"%s\" is not a number", name, field);
    errno = 0;
    *number = strtoull(field, NULL, 10);
    if (errno == ERANGE)
        return BENCH_TEXT_REJECT(text, "%s %s is too large", name, field);
    return true;
}
