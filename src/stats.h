/* Sums over threads and streams of a pool. */
#ifndef GP_SRC_STATS_H
#define GP_SRC_STATS_H

#include "gp/stats.h"
#include "gp/trace.h"
#include "thread_counters.h"

/* Counters of all threads, past and present. Not under the registry's lock. */
void gp_stats_sum(gp_pool *pool, gp_thread_counters *sum);

/* Bytes held by callers, and by arenas. */
uint64_t gp_stats_live_bytes(gp_pool *pool);

/* What sinks are told of the counters. */
void gp_stats_sample(gp_pool *pool, gp_trace_sample *sample);

/* An arena holds more bytes, or fewer. */
void gp_stats_add_pinned(gp_pool *pool, size_t bytes);
void gp_stats_sub_pinned(gp_pool *pool, size_t bytes);

#endif
