/*
 * A recorded run, read event by event: bench/traces/README.md has the format. Both of its versions
 * are known here:
 *
 *     t_us,op,id,size,stream             gp-trace 2
 *     17,a,4,65536,0                     t_ns,op,id,size,stream,thread
 *                                        17000,a,4,65536,0,0
 *
 * What a reader of events has no use for is skipped: rows that are neither allocation nor free,
 * times, threads.
 */
#ifndef GP_SRC_RECORDING_H
#define GP_SRC_RECORDING_H

#include "line_file.h"

typedef struct gp_recording {
    gp_line_file file;
    size_t fields; /* In a row. */
} gp_recording;

typedef struct gp_recorded_event {
    uint64_t id;
    size_t bytes;    /* As requested; of a free 0 if it is not known. */
    uint64_t stream; /* Any number. */
    bool frees;      /* Else it allocates. */
} gp_recorded_event;

/* GP_ERR_INVALID_ARGUMENT: there is no such file, or it is no recorded run; GP_ERR_UNSUPPORTED: it
 * is gzipped, and there is no zlib. Close it only if it was opened. */
gp_status gp_recording_open(gp_recording *recording, const char *path);
void gp_recording_close(gp_recording *recording);

/* *more is false at the end. GP_ERR_INVALID_ARGUMENT: a row is wrong, and the text says how. */
gp_status gp_recording_next(gp_recording *recording, gp_recorded_event *event, bool *more);

#endif
