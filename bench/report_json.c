#include "report.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static void put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

static void put_count(json_t *object, const char *key, uint64_t count)
{
    put(object, key, json_integer((json_int_t)count));
}

static void put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text != NULL ? json_string(text) : json_null();
    /* A file may be named with bytes that JSON has no way to say. */
    put(object, key, value != NULL ? value : json_string("(not UTF-8)"));
}

static void put_spread(json_t *object, const char *key, const bench_spread *spread)
{
    put(object, key,
        json_pack("{s:f, s:f, s:f}", "median", spread->median, "min", spread->low, "max",
                  spread->high));
}

static void put_run(json_t *object, const bench_result *result)
{
    put_text(object, "command", result->command);
    put_text(object, "trace", result->trace);
    put_text(object, "policy", result->policy);
    put_text(object, "device", result->device);
    put_text(object, "device_name", result->device_name);
    put(object, "threads",
        result->is_hit ? json_integer((json_int_t)result->thread_count)
                       : json_string(result->thread_mode));
    put_count(object, "thread_count", result->thread_count);
    put_text(object, "mode", result->mode);
    put(object, "pass", result->is_hit ? json_null() : json_integer(result->pass));
    put(object, "kernels", json_boolean(result->kernels));
    put_count(object, "events", result->events);
}

static void put_times(json_t *object, const bench_result *result)
{
    put(object, "alloc_ns_mean", json_real(result->alloc.mean));
    put(object, "free_ns_mean", json_real(result->free.mean));
    put(object, "alloc_ns_p50", json_real(result->alloc.p50));
    put(object, "alloc_ns_p99", json_real(result->alloc.p99));
    put(object, "alloc_ns_p999", json_real(result->alloc.p999));
    put(object, "alloc_ns_max", json_real(result->alloc.max));
    put(object, "free_ns_p50", json_real(result->free.p50));
    put(object, "free_ns_p99", json_real(result->free.p99));
    put(object, "free_ns_p999", json_real(result->free.p999));
    put(object, "free_ns_max", json_real(result->free.max));
    put(object, "pair_ns", json_real(result->pair_ns));
    put(object, "mpairs_per_s", json_real(result->mpairs_per_s));
    put(object, "sim_native_ns_mean",
        result->simulated ? json_real(result->sim_native_ns_mean) : json_null());
}

static void put_memory(json_t *object, const bench_result *result)
{
    const bench_usage *usage = &result->usage;
    put_count(object, "peak_live_bytes", result->peak_live_bytes);
    put_count(object, "peak_reserved_bytes", usage->reserved_bytes_high);
    put(object, "reserved_over_live", json_real(bench_result_reserved_over_live(result)));
    put_count(object, "gp_reserved_bytes_high", usage->pool_bytes_high);
    put_count(object, "l1_hits", usage->l1_hits);
    put_count(object, "l2_hits", usage->l2_hits);
    put_count(object, "shared_hits", usage->shared_hits);
    put_count(object, "queries", usage->queries);
    put_count(object, "records", usage->records);
    put_count(object, "waits", usage->waits);
    put_count(object, "native_allocs", usage->native_allocs);
    put_count(object, "native_frees", usage->native_frees);
    put(object, "hazards", result->hazards < 0 ? json_null() : json_integer(result->hazards));
}

static void put_hit(json_t *object, const bench_hit_figures *hit)
{
    put(object, "bytes",
        hit->bytes != 0 ? json_integer((json_int_t)hit->bytes) : json_string("random"));
    put_count(object, "rounds", hit->rounds);
    put(object, "malloc_pair_ns", json_real(hit->malloc_pair_ns.median));
    put(object, "pair_over_malloc", json_real(hit->over_malloc.median));
    put(object, "native_pair_ns",
        hit->has_native ? json_real(hit->native_pair_ns.median) : json_null());
    put(object, "native_mpairs_per_s",
        hit->has_native ? json_real(hit->native_mpairs_per_s.median) : json_null());
    put(object, "native_over_gp",
        hit->has_native ? json_real(hit->native_over_contender.median) : json_null());

    json_t *spreads = json_object();
    put_spread(spreads, "pair_ns", &hit->pair_ns);
    put_spread(spreads, "malloc_pair_ns", &hit->malloc_pair_ns);
    put_spread(spreads, "pair_over_malloc", &hit->over_malloc);
    if (hit->has_native) {
        put_spread(spreads, "native_pair_ns", &hit->native_pair_ns);
        put_spread(spreads, "native_over_gp", &hit->native_over_contender);
    }
    put(object, "spread", spreads);
}

static json_t *result_to_json(const bench_result *result)
{
    json_t *object = json_object();
    put_run(object, result);
    put_times(object, result);
    put_memory(object, result);
    if (result->is_hit)
        put_hit(object, &result->hit);
    return object;
}

/* Enough digits for a nanosecond in a second. */
#define DUMP_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(10))

static bool dump(const json_t *array, const char *path)
{
    if (strcmp(path, "-") == 0)
        return json_dumpf(array, stdout, DUMP_FLAGS) == 0 && fputc('\n', stdout) != EOF &&
               fflush(stdout) == 0;
    return json_dump_file(array, path, DUMP_FLAGS) == 0;
}

bool bench_report_json(const bench_result *results, size_t count, const char *path)
{
    errno = ENOMEM; /* What a NULL from jansson means. */
    json_t *array = json_array();
    bool sound = array != NULL;
    for (size_t i = 0; i < count && sound; i++)
        sound = json_array_append_new(array, result_to_json(&results[i])) == 0;
    if (sound) {
        errno = EIO; /* Unless the call that fails says more. */
        sound = dump(array, path);
    }
    json_decref(array);
    return sound;
}
