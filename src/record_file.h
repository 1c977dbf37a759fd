/* The file of a recording: rows of docs/trace-format.md, through a buffer. One thread at a time. */
#ifndef GP_SRC_RECORD_FILE_H
#define GP_SRC_RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_record_row {
    uint64_t ns; /* Not before the last row's. */
    uint64_t id, bytes, stream, thread;
    char op;
} gp_record_row;

typedef struct gp_record_file {
    int descriptor;
    int failure; /* errno of what failed first: nothing is written from there on. Else 0. */
    uint64_t rows;
    uint64_t last_ns;
    size_t used;
    char buffer[1 << 16];
} gp_record_file;

/* Make or empty the file, and write its first lines. False with errno set; then it is closed. */
bool gp_record_file_open(gp_record_file *file, const char *path);

/* False if it fails now or failed before. */
bool gp_record_file_put(gp_record_file *file, const gp_record_row *row);
bool gp_record_file_flush(gp_record_file *file);

/* The last row, and the end. */
void gp_record_file_close(gp_record_file *file);

#endif
