#include "report.h"

#include <inttypes.h>

#define MIB 1048576.0

static void print_device(const bench_result *result, FILE *out)
{
    (void)fprintf(out, "device: %s (%s)\n", result->device_name, result->device);
    if (result->simulated)
        (void)fprintf(out,
                      "Times are host time of this machine. Native calls cost nothing in them "
                      "but\nthe simulation's own work; their simulated cost is given apart.\n");
}

/* ---- replay ---- */

static void print_limit(const bench_result *result, FILE *out)
{
    if (result->limit_percent != 0)
        (void)fprintf(out, "limit: %zu %% of the trace's peak live bytes; ", result->limit_percent);
}

static void print_replay_head(const bench_result *result, FILE *out)
{
    print_device(result, out);
    print_limit(result, out);
    (void)fprintf(
        out, "threads: %s; kernels: %s; warmed: %s; alloc and free in ns, live and held in MiB\n\n",
        result->thread_mode, result->kernels ? "yes" : "no", result->warmed ? "yes" : "no");
    (void)fprintf(out, "%-26s %-12s %-8s %4s %8s %8s %8s %9s %8s %8s %9s %8s %8s %8s %7s", "trace",
                  "policy", "mode", "pass", "alloc", "p50", "p99", "max", "free", "live", "held",
                  "held/live", "native", "shared", "L1+L2 %");
    if (result->limit_percent != 0)
        (void)fprintf(out, " %7s", "refused");
    if (result->simulated)
        (void)fprintf(out, " %7s %12s", "hazards", "simulated ns");
    (void)fputc('\n', out);
}

/* Share of the allocations that the stream's own caches met. */
static double own_hits_percent(const bench_result *result)
{
    if (result->alloc.count == 0)
        return 0.0;
    return 100.0 * (double)(result->usage.l1_hits + result->usage.l2_hits) /
           (double)result->alloc.count;
}

static void print_replay_line(const bench_result *result, FILE *out)
{
    const bench_usage *usage = &result->usage;
    (void)fprintf(out, "%-26s %-12s %-8s %4d %8.0f %8.0f %8.0f %9.0f %8.0f %8.0f", result->trace,
                  result->policy, result->mode != NULL ? result->mode : "-", result->pass,
                  result->alloc.mean, result->alloc.p50, result->alloc.p99, result->alloc.max,
                  result->free.mean, (double)result->peak_live_bytes / MIB);
    (void)fprintf(out, " %9.0f %9.2f %8" PRIu64 " %8" PRIu64 " %7.1f",
                  (double)usage->reserved_bytes_high / MIB, bench_result_reserved_over_live(result),
                  usage->native_allocs + usage->native_frees, usage->shared_hits,
                  own_hits_percent(result));
    if (result->limit_percent != 0)
        (void)fprintf(out, " %7zu", result->refused);
    if (result->simulated)
        (void)fprintf(out, " %7" PRId64 " %12.0f", result->hazards, result->sim_native_ns_mean);
    (void)fputc('\n', out);
}

void bench_report_replay_table(const bench_result *results, size_t count, FILE *out)
{
    if (count == 0)
        return;
    print_replay_head(&results[0], out);
    for (size_t i = 0; i < count; i++)
        print_replay_line(&results[i], out);
}

/* ---- hit ---- */

static void print_spread(const char *label, const bench_spread *spread, FILE *out)
{
    (void)fprintf(out, "%-28s %10.1f %10.1f %10.1f\n", label, spread->median, spread->low,
                  spread->high);
}

static void print_hit_head(const bench_result *result, FILE *out)
{
    print_device(result, out);
    (void)fprintf(out, "policy: %s", result->policy);
    if (result->mode != NULL)
        (void)fprintf(out, ", %s", result->mode);
    (void)fprintf(out, "; threads: %zu; block: ", result->thread_count);
    if (result->hit.bytes != 0)
        (void)fprintf(out, "%zu bytes", result->hit.bytes);
    else
        (void)fprintf(out, "random, 64 B to 1 MiB, %d live a thread", BENCH_PAIRS_LIVE);
    (void)fprintf(out, "; rounds: %zu\n\n", result->hit.rounds);
}

static void print_rounds(const bench_result *result, FILE *out)
{
    const bench_hit_figures *hit = &result->hit;
    (void)fprintf(out, "%-28s %10s %10s %10s\n", "over the rounds", "median", "least", "most");
    print_spread("alloc + free, ns a pair", &hit->pair_ns, out);
    print_spread("malloc(64) + free, ns", &hit->malloc_pair_ns, out);
    print_spread("  times as long as malloc", &hit->over_malloc, out);
    if (hit->has_native) {
        print_spread("native pool, ns a pair", &hit->native_pair_ns, out);
        print_spread("  times as long as gp", &hit->native_over_contender, out);
    }
    (void)fprintf(out, "%-28s %10.2f\n", "million pairs a second", result->mpairs_per_s);
    if (hit->has_native)
        (void)fprintf(out, "%-28s %10.2f\n", "  native pool", hit->native_mpairs_per_s.median);
}

static void print_latency(const char *label, const bench_latency_summary *summary, FILE *out)
{
    (void)fprintf(out, "%-28s %10.1f %10.1f %10.1f %10.1f %10.0f\n", label, summary->mean,
                  summary->p50, summary->p99, summary->p999, summary->max);
}

static void print_single_calls(const bench_result *result, FILE *out)
{
    (void)fprintf(out, "\n%-28s %10s %10s %10s %10s %10s\n", "single calls, ns", "mean", "p50",
                  "p99", "p99.9", "max");
    print_latency("alloc", &result->alloc, out);
    print_latency("free", &result->free, out);
    if (result->simulated)
        (void)fprintf(out, "%-28s %10.1f\n", "simulated native time", result->sim_native_ns_mean);
}

void bench_report_hit_table(const bench_result *result, FILE *out)
{
    const bench_usage *usage = &result->usage;
    print_hit_head(result, out);
    print_rounds(result, out);
    print_single_calls(result, out);
    (void)fprintf(out,
                  "\nof %zu allocations: L1 %" PRIu64 ", L2 %" PRIu64 ", shared %" PRIu64
                  ", native calls %" PRIu64 "\n",
                  result->events / 2, usage->l1_hits, usage->l2_hits, usage->shared_hits,
                  usage->native_allocs);
    (void)fprintf(out, "peak live %.1f MiB, held %.1f MiB\n", (double)result->peak_live_bytes / MIB,
                  (double)usage->reserved_bytes_high / MIB);
}
