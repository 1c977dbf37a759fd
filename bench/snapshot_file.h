/* The file of a memory snapshot of PyTorch's, as JSON, whichever of its two forms it has. */
#ifndef GP_BENCH_SNAPSHOT_FILE_H
#define GP_BENCH_SNAPSHOT_FILE_H

#include "text_file.h"

#include <jansson.h>

/*
 * Read a snapshot: JSON, gzipped or plain, or a pickle. python3 reads a pickle, with the
 * script snapshot_json.py beside the program.
 *
 * NULL on failure; `error` says why and, where the file is to blame, at which byte.
 */
json_t *bench_snapshot_load(const char *path, char error[BENCH_TEXT_ERROR_CHARS]);

#endif
