#include "result.h"

#include <stdlib.h>

double bench_result_reserved_over_live(const bench_result *result)
{
    if (result->peak_live_bytes == 0)
        return 0.0;
    return (double)result->usage.reserved_bytes_high / (double)result->peak_live_bytes;
}

bench_usage bench_usage_since(const bench_usage *after, const bench_usage *before)
{
    return (bench_usage){
        .reserved_bytes = after->reserved_bytes,
        .reserved_bytes_high = after->reserved_bytes_high,
        .pool_bytes_high = after->pool_bytes_high,
        .l1_hits = after->l1_hits - before->l1_hits,
        .l2_hits = after->l2_hits - before->l2_hits,
        .shared_hits = after->shared_hits - before->shared_hits,
        .refills = after->refills - before->refills,
        .flushes = after->flushes - before->flushes,
        .queries = after->queries - before->queries,
        .records = after->records - before->records,
        .waits = after->waits - before->waits,
        .native_allocs = after->native_allocs - before->native_allocs,
        .native_frees = after->native_frees - before->native_frees,
        .native_trims = after->native_trims - before->native_trims,
    };
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

bench_spread bench_spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_doubles);
    double middle = values[count / 2];
    if (count % 2 == 0)
        middle = (middle + values[count / 2 - 1]) / 2.0;
    return (bench_spread){.median = middle, .low = values[0], .high = values[count - 1]};
}
