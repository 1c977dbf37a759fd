/*
 * Text files that are read line by line, gzipped or plain, and the fields of their lines. Whatever
 * is wrong with one is said with its line.
 */
#ifndef GP_BENCH_TEXT_FILE_H
#define GP_BENCH_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* Room for any message: a path and a line of text. */
#define BENCH_TEXT_ERROR_CHARS 4608

/* Longer than the longest sound line, which has six numbers of at most 20 digits. */
#define BENCH_TEXT_LINE_CHARS 256

typedef struct bench_text_file {
    const char *path;
    char *error; /* BENCH_TEXT_ERROR_CHARS, the reader's */
    gzFile file;
    size_t line_number;
    char line[BENCH_TEXT_LINE_CHARS]; /* without its end */
} bench_text_file;

/* On failure, here and below, `error` holds "FILE:LINE: what is wrong" or "FILE: ...". */
bool bench_text_open(bench_text_file *text, const char *path, char error[BENCH_TEXT_ERROR_CHARS]);
void bench_text_close(bench_text_file *text);

/* The next line. *more is false at the end of the file. */
bool bench_text_next(bench_text_file *text, bool *more);

/* Cut the line at its commas, into exactly `count` fields. */
bool bench_text_split(bench_text_file *text, char **fields, size_t count);

/* A decimal number; `name` is the field's, to be shown. */
bool bench_text_number(bench_text_file *text, const char *name, const char *field,
                       uint64_t *number);

/* The file is wrong at the present line: say so. */
__attribute__((format(printf, 2, 3))) void bench_text_describe(const bench_text_file *text,
                                                               const char *format, ...);

/* The same, and false for the caller to pass on. A macro, so that readers and checkers see that. */
#define BENCH_TEXT_REJECT(text, ...) (bench_text_describe(text, __VA_ARGS__), false)

#endif
