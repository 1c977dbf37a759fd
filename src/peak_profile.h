/*
 * The peak profile of a recorded run: the most that each of its streams had live at once, of what
 * it allocated, in blocks as a pool rounds them.
 *
 *     stream   large blocks   small blocks
 *        0       146 MiB        2.9 MiB
 *        1       153 MiB        2.6 MiB
 *
 * Peaks of streams need not fall on one moment. A pool that has the sum of them needs nothing of
 * one stream for another, however they are shifted against each other in another run.
 */
#ifndef GP_SRC_PEAK_PROFILE_H
#define GP_SRC_PEAK_PROFILE_H

#include "gp/pool.h"

typedef struct gp_peak {
    size_t live, most; /* Bytes. */
} gp_peak;

typedef struct gp_stream_peaks {
    gp_peak large, small;
} gp_stream_peaks;

typedef struct gp_peak_profile {
    gp_stream_peaks *streams;
    size_t stream_count;
} gp_peak_profile;

/* Read a recorded run (recording.h). Statuses as gp_recording_open(); GP_ERR_OUT_OF_HOST_MEMORY. */
gp_status gp_peak_profile_read(gp_peak_profile *profile, const char *path,
                               const gp_pool_config *config);

void gp_peak_profile_destroy(gp_peak_profile *profile);

#endif
