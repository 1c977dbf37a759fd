#include "report_tail.h"

#include "json_fields.h"
#include "longest.h"

/* The last of bench_latency_shares. */
#define P9999 (BENCH_QUANTILES - 1)

/* ---- for people ---- */

static void print_call(const bench_result *result, FILE *out)
{
    const bench_call *call = &result->longest;
    if (call->ticks == 0)
        (void)fputs("  none was long\n", out);
    else
        (void)fprintf(out, "  %s of %zu bytes on stream %zu, event %zu: %.0f ns, %s\n",
                      call->frees ? "free" : "alloc", call->bytes, call->stream, call->event,
                      result->longest_ns, bench_longest_cause(call));
}

static void print_summary(const bench_latency_summary *summary, FILE *out)
{
    (void)fprintf(out, " %8.0f %8.0f %8.0f %8.0f %9.0f", summary->p50, summary->p99, summary->p999,
                  summary->quantiles[P9999], summary->max);
}

void bench_report_tail_table(const bench_result *results, size_t count, FILE *out)
{
    (void)fprintf(out,
                  "device: %s (%s); threads: %s; kernels: %s; ns; the longest call at the end\n\n",
                  results[0].device_name, results[0].device, results[0].thread_mode,
                  results[0].kernels ? "yes" : "no");
    (void)fprintf(out, "%-26s %-12s %4s %8s %8s %8s %8s %9s %8s %8s %8s %8s %9s\n", "trace",
                  "policy", "pass", "alloc", "p99", "p99.9", "p99.99", "max", "free", "p99",
                  "p99.9", "p99.99", "max");
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "%-26s %-12s %4d", results[i].trace, results[i].policy, results[i].pass);
        print_summary(&results[i].alloc, out);
        print_summary(&results[i].free, out);
        print_call(&results[i], out);
    }
}

/* ---- for programs ---- */

static json_t *call_to_json(const bench_result *result)
{
    const bench_call *call = &result->longest;
    if (call->ticks == 0)
        return json_null();
    json_t *object = json_object();
    bench_json_put_text(object, "op", call->frees ? "free" : "alloc");
    bench_json_put(object, "ns", json_real(result->longest_ns));
    bench_json_put_text(object, "cause", bench_longest_cause(call));
    bench_json_put_count(object, "event", call->event);
    bench_json_put_count(object, "bytes", call->bytes);
    bench_json_put_count(object, "stream", call->stream);
    bench_json_put_count(object, "native_allocs", call->did.native_allocs);
    bench_json_put_count(object, "native_frees", call->did.native_frees);
    bench_json_put_count(object, "native_trims", call->did.native_trims);
    bench_json_put_count(object, "waits", call->did.waits);
    bench_json_put_count(object, "records", call->did.records);
    bench_json_put_count(object, "queries", call->did.queries);
    bench_json_put_count(object, "shared_hits", call->did.shared_hits);
    bench_json_put_count(object, "refills", call->did.refills);
    bench_json_put_count(object, "flushes", call->did.flushes);
    return object;
}

bool bench_report_tail_json(const bench_result *results, size_t count, const char *path)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *object = bench_json_result(&results[i]);
        bench_json_put(object, "alloc_ns_p9999", json_real(results[i].alloc.quantiles[P9999]));
        bench_json_put(object, "free_ns_p9999", json_real(results[i].free.quantiles[P9999]));
        bench_json_put(object, "longest", call_to_json(&results[i]));
        (void)json_array_append_new(array, object);
    }
    bool sound = bench_json_write(array, path);
    json_decref(array);
    return sound;
}
