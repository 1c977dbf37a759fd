/*
 * zlib, if there is one on this machine: looked for when a gzipped file is first met, so that
 * neither gp nor a program of its users has to be linked with it.
 */
#ifndef GP_SRC_GZIP_H
#define GP_SRC_GZIP_H

#include "gp/status.h"

/* As in zlib.h, whose gzFile is a pointer to something. */
typedef struct gp_gzip {
    void *(*open)(const char *path, const char *mode);
    char *(*gets)(void *file, char *line, int chars);
    const char *(*error)(void *file, int *code);
    int (*close)(void *file);
} gp_gzip;

/* Codes of error() at a sound end of a file. */
#define GP_GZIP_OK 0
#define GP_GZIP_STREAM_END 1

/* GP_ERR_UNSUPPORTED: there is no zlib. */
gp_status gp_gzip_load(const gp_gzip **gzip);

#endif
