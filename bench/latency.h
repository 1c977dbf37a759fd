/*
 * Latencies of one kind of call: every one is kept, so that percentiles are
 * exact. One recording belongs to one thread; a summary joins several.
 */
#ifndef GP_BENCH_LATENCY_H
#define GP_BENCH_LATENCY_H

#include "ticks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_latency {
    uint64_t *ticks; /* Brackets as measured, their own cost not yet taken off. */
    size_t count;
    size_t capacity;
} bench_latency;

/* Points of a distribution, for plots: the shares are bench_latency_shares. */
#define BENCH_QUANTILES 14
extern const double bench_latency_shares[BENCH_QUANTILES];

/* All in nanoseconds, the cost of the bracket taken off; 0 if nothing was recorded. */
typedef struct bench_latency_summary {
    size_t count;
    double mean, p50, p99, p999, max;
    double quantiles[BENCH_QUANTILES];
} bench_latency_summary;

/* Room for `capacity` calls, touched now so that recording takes no page fault. */
bool bench_latency_create(bench_latency *latency, size_t capacity);
void bench_latency_destroy(bench_latency *latency);

/* Forget what was recorded. */
static inline void bench_latency_clear(bench_latency *latency)
{
    latency->count = 0;
}

/* Calls beyond the capacity are not kept. */
static inline void bench_latency_record(bench_latency *latency, uint64_t bracket)
{
    if (latency->count < latency->capacity)
        latency->ticks[latency->count++] = bracket;
}

/*
 * Join recordings: the n-th is at `first` + n * `stride_bytes`, so that one may
 * sit inside a larger struct. False if memory runs out.
 */
bool bench_latency_summarise(const bench_latency *first, size_t count, size_t stride_bytes,
                             const bench_ticks *ticks, bench_latency_summary *summary);

#endif
