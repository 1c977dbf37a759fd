#include "report.h"

#include "json_fields.h"

static void put_run(json_t *object, const bench_result *result)
{
    bench_json_put_text(object, "command", result->command);
    bench_json_put_text(object, "trace", result->trace);
    bench_json_put_text(object, "policy", result->policy);
    bench_json_put_text(object, "device", result->device);
    bench_json_put_text(object, "device_name", result->device_name);
    bench_json_put(object, "threads",
                   result->is_hit ? json_integer((json_int_t)result->thread_count)
                                  : json_string(result->thread_mode));
    bench_json_put_count(object, "thread_count", result->thread_count);
    bench_json_put_text(object, "mode", result->mode);
    bench_json_put(object, "pass", result->is_hit ? json_null() : json_integer(result->pass));
    bench_json_put(object, "kernels", json_boolean(result->kernels));
    bench_json_put(object, "warmed", json_boolean(result->warmed));
    bench_json_put(object, "limit_percent",
                   result->limit_percent != 0 ? json_integer((json_int_t)result->limit_percent)
                                              : json_null());
    bench_json_put_count(object, "refused", result->refused);
    bench_json_put_count(object, "events", result->events);
}

static void put_times(json_t *object, const bench_result *result)
{
    bench_json_put(object, "alloc_ns_mean", json_real(result->alloc.mean));
    bench_json_put(object, "free_ns_mean", json_real(result->free.mean));
    bench_json_put(object, "alloc_ns_p50", json_real(result->alloc.p50));
    bench_json_put(object, "alloc_ns_p99", json_real(result->alloc.p99));
    bench_json_put(object, "alloc_ns_p999", json_real(result->alloc.p999));
    bench_json_put(object, "alloc_ns_max", json_real(result->alloc.max));
    bench_json_put(object, "free_ns_p50", json_real(result->free.p50));
    bench_json_put(object, "free_ns_p99", json_real(result->free.p99));
    bench_json_put(object, "free_ns_p999", json_real(result->free.p999));
    bench_json_put(object, "free_ns_max", json_real(result->free.max));
    bench_json_put(object, "pair_ns", json_real(result->pair_ns));
    bench_json_put(object, "mpairs_per_s", json_real(result->mpairs_per_s));
    bench_json_put(object, "sim_native_ns_mean",
                   result->simulated ? json_real(result->sim_native_ns_mean) : json_null());
}

static void put_memory(json_t *object, const bench_result *result)
{
    const bench_usage *usage = &result->usage;
    bench_json_put_count(object, "peak_live_bytes", result->peak_live_bytes);
    bench_json_put_count(object, "peak_reserved_bytes", usage->reserved_bytes_high);
    bench_json_put(object, "reserved_over_live",
                   json_real(bench_result_reserved_over_live(result)));
    bench_json_put_count(object, "gp_reserved_bytes_high", usage->pool_bytes_high);
    bench_json_put_count(object, "l1_hits", usage->l1_hits);
    bench_json_put_count(object, "l2_hits", usage->l2_hits);
    bench_json_put_count(object, "shared_hits", usage->shared_hits);
    bench_json_put_count(object, "queries", usage->queries);
    bench_json_put_count(object, "records", usage->records);
    bench_json_put_count(object, "waits", usage->waits);
    bench_json_put_count(object, "native_allocs", usage->native_allocs);
    bench_json_put_count(object, "native_frees", usage->native_frees);
    bench_json_put(object, "hazards",
                   result->hazards < 0 ? json_null() : json_integer(result->hazards));
}

static void put_hit(json_t *object, const bench_hit_figures *hit)
{
    bench_json_put(object, "bytes",
                   hit->bytes != 0 ? json_integer((json_int_t)hit->bytes) : json_string("random"));
    bench_json_put_count(object, "rounds", hit->rounds);
    bench_json_put(object, "malloc_pair_ns", json_real(hit->malloc_pair_ns.median));
    bench_json_put(object, "pair_over_malloc", json_real(hit->over_malloc.median));
    bench_json_put(object, "native_pair_ns",
                   hit->has_native ? json_real(hit->native_pair_ns.median) : json_null());
    bench_json_put(object, "native_mpairs_per_s",
                   hit->has_native ? json_real(hit->native_mpairs_per_s.median) : json_null());
    bench_json_put(object, "native_over_gp",
                   hit->has_native ? json_real(hit->native_over_contender.median) : json_null());

    json_t *spreads = json_object();
    bench_json_put_spread(spreads, "pair_ns", &hit->pair_ns);
    bench_json_put_spread(spreads, "malloc_pair_ns", &hit->malloc_pair_ns);
    bench_json_put_spread(spreads, "pair_over_malloc", &hit->over_malloc);
    if (hit->has_native) {
        bench_json_put_spread(spreads, "native_pair_ns", &hit->native_pair_ns);
        bench_json_put_spread(spreads, "native_over_gp", &hit->native_over_contender);
    }
    bench_json_put(object, "spread", spreads);
}

json_t *bench_json_result(const bench_result *result)
{
    json_t *object = json_object();
    put_run(object, result);
    put_times(object, result);
    put_memory(object, result);
    if (result->is_hit)
        put_hit(object, &result->hit);
    return object;
}

bool bench_report_json(const bench_result *results, size_t count, const char *path)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, bench_json_result(&results[i]));
    bool sound = bench_json_write(array, path);
    json_decref(array);
    return sound;
}
