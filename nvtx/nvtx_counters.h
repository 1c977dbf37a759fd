/* The counters of one pool, as timelines. */
#ifndef GP_NVTX_COUNTERS_H
#define GP_NVTX_COUNTERS_H

#include <pthread.h>

#include "gp/trace.h"
#include "nvtx_headers.h"

typedef enum gp_nvtx_counter {
    GP_NVTX_COUNTER_LIVE,
    GP_NVTX_COUNTER_CACHED,
    GP_NVTX_COUNTER_RESERVED,
    GP_NVTX_COUNTER_IDLE,
    GP_NVTX_COUNTER_L1_HITS,
    GP_NVTX_COUNTER_L2_HITS,
    GP_NVTX_COUNTER_COUNT
} gp_nvtx_counter;

typedef struct gp_nvtx_counters {
    uint64_t ids[GP_NVTX_COUNTER_COUNT]; /* All 0: the tool knows no counters. */
    pthread_mutex_t lock;                /* Two samples may come at once. */
    gp_trace_sample last;                /* Rates are of what came since. */
    double l1_percent, l2_percent;       /* The last ones, while nothing is asked. */
} gp_nvtx_counters;

void gp_nvtx_counters_open(gp_nvtx_counters *counters, nvtxDomainHandle_t domain, uint32_t pool);
void gp_nvtx_counters_close(gp_nvtx_counters *counters);
void gp_nvtx_counters_sample(gp_nvtx_counters *counters, nvtxDomainHandle_t domain,
                             const gp_trace_sample *sample);

#endif
