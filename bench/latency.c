#include "latency.h"

#include <stdlib.h>
#include <string.h>

const double bench_latency_shares[BENCH_QUANTILES] = {
    0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9995, 0.9999,
};

bool bench_latency_create(bench_latency *latency, size_t capacity)
{
    *latency = (bench_latency){0};
    if (capacity == 0)
        return true;

    latency->ticks = reallocarray(NULL, capacity, sizeof(*latency->ticks));
    if (latency->ticks == NULL)
        return false;
    memset(latency->ticks, 0xff, capacity * sizeof(*latency->ticks));
    latency->capacity = capacity;
    return true;
}

void bench_latency_destroy(bench_latency *latency)
{
    free(latency->ticks);
    *latency = (bench_latency){0};
}

static int compare_ticks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Nearest rank: the smallest value that at least `share` of all do not exceed. */
static double percentile(const uint64_t *sorted, size_t count, double share,
                         const bench_ticks *ticks)
{
    double exact = share * (double)count;
    size_t rank = (size_t)exact;
    if ((double)rank < exact)
        rank++;
    return bench_ticks_to_ns(ticks, sorted[rank > 0 ? rank - 1 : 0]);
}

static double mean(const uint64_t *values, size_t count, const bench_ticks *ticks)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += bench_ticks_to_ns(ticks, values[i]);
    return sum / (double)count;
}

static const bench_latency *part(const bench_latency *first, size_t index, size_t stride_bytes)
{
    return (const bench_latency *)(const void *)((const char *)first + index * stride_bytes);
}

static size_t total_count(const bench_latency *first, size_t count, size_t stride_bytes)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += part(first, i, stride_bytes)->count;
    return total;
}

bool bench_latency_summarise(const bench_latency *first, size_t count, size_t stride_bytes,
                             const bench_ticks *ticks, bench_latency_summary *summary)
{
    *summary = (bench_latency_summary){.count = total_count(first, count, stride_bytes)};
    if (summary->count == 0)
        return true;
    uint64_t *all = reallocarray(NULL, summary->count, sizeof(*all));
    if (all == NULL)
        return false;

    size_t filled = 0;
    for (size_t i = 0; i < count; i++) {
        const bench_latency *latency = part(first, i, stride_bytes);
        if (latency->count == 0)
            continue; /* It may have no array at all. */
        memcpy(all + filled, latency->ticks, latency->count * sizeof(*all));
        filled += latency->count;
    }
    qsort(all, filled, sizeof(*all), compare_ticks);
    summary->mean = mean(all, filled, ticks);
    summary->p50 = percentile(all, filled, 0.5, ticks);
    summary->p99 = percentile(all, filled, 0.99, ticks);
    summary->p999 = percentile(all, filled, 0.999, ticks);
    for (size_t i = 0; i < BENCH_QUANTILES; i++)
        summary->quantiles[i] = percentile(all, filled, bench_latency_shares[i], ticks);
    summary->max = bench_ticks_to_ns(ticks, all[filled - 1]);
    free(all);
    return true;
}
