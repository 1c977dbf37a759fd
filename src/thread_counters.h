/* What one host thread did in one pool; written by that thread alone. */
#ifndef GP_SRC_THREAD_COUNTERS_H
#define GP_SRC_THREAD_COUNTERS_H

#include "counter.h"

typedef struct gp_thread_counters {
    gp_counter requests;
    gp_counter frees;
    gp_counter l1_misses;
    gp_counter shared_hits;
    gp_counter l3_hits; /* Served by growing the pool. */
    gp_counter refills;
    gp_counter flushes;
    gp_counter failures;
    gp_counter asked_bytes; /* By requests that L1 did not serve, */
    gp_counter given_bytes; /* and what they got. */
    gp_counter live_bytes;  /* Allocated minus freed by this thread, modulo 2^64. */
    gp_counter live_peak;   /* Its highest value, as a signed number, since the last fold. */
    gp_counter live_folded; /* The part of live_bytes the pool knows. */
} gp_thread_counters;

#endif
