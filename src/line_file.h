/* A text file, plain or gzipped, read line by line. */
#ifndef GP_SRC_LINE_FILE_H
#define GP_SRC_LINE_FILE_H

#include <stdio.h>

#include "gzip.h"

/* More than any sound line of a recorded run has. */
#define GP_LINE_CHARS 256

typedef struct gp_line_file {
    const char *path;
    FILE *plain;         /* NULL: it is gzipped. */
    const gp_gzip *gzip; /* With which it is read then, */
    void *zipped;        /* and as what. */
    size_t number;       /* Of the present line, from 1. */
    char line[GP_LINE_CHARS];
} gp_line_file;

/* GP_ERR_INVALID_ARGUMENT: it cannot be opened; GP_ERR_UNSUPPORTED: it is gzipped, and there is no
 * zlib. Close it only if it was opened. */
gp_status gp_line_file_open(gp_line_file *file, const char *path);
void gp_line_file_close(gp_line_file *file);

/* The next line, without its end, into `line`. *more is false at the end of the file.
 * GP_ERR_INVALID_ARGUMENT: it cannot be read on, or a line is too long. */
gp_status gp_line_file_next(gp_line_file *file, bool *more);

/* GP_ERR_INVALID_ARGUMENT, with a text that names the present line. */
GP_PRINTF(2, 3)
gp_status gp_line_file_reject(const gp_line_file *file, const char *format, ...);

#endif
