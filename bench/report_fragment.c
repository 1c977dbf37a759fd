#include "report_fragment.h"

#include "json_fields.h"

#include <inttypes.h>

#define MIB 1048576.0

/* ---- for people ---- */

static void print_line(const bench_fragment_result *result, const char *name, FILE *out)
{
    if (result->failed) {
        (void)fprintf(out, "%-14s failed: %s\n", name, result->error);
        return;
    }
    (void)fprintf(out, "%-14s %9.0f %9.0f %9.3f %9.3f", name, (double)result->peak_live_bytes / MIB,
                  (double)result->peak_reserved_bytes / MIB, result->reserved_over_live,
                  result->reserved_over_live_mean);
    if (result->has_holes)
        (void)fprintf(out, " %9.3f %9.3f", result->fragmentation_mean, result->fragmentation_max);
    else
        (void)fprintf(out, " %9s %9s", "-", "-");
    (void)fprintf(out, " %8.0f %8.0f %8.0f %8.0f\n", result->alloc.mean, result->alloc.p99,
                  result->free.mean, result->free.p99);
}

void bench_report_fragment_table(const bench_fragmentation *found, FILE *out)
{
    (void)fprintf(out, "device: %s (%s); %s\n", found->device_name, found->device, found->mode);
    for (size_t i = 0; i < found->lineup->absent_count; i++)
        (void)fprintf(out, "not measured: %s (%s)\n", found->lineup->absent[i].name,
                      found->lineup->absent[i].reason);
    (void)fprintf(out, "%zu operations, at most %.0f MiB live; MiB and ns\n\n", found->operations,
                  (double)found->live_bytes / MIB);
    (void)fprintf(out, "%-14s %9s %9s %9s %9s %9s %9s %8s %8s %8s %8s\n", "policy", "live", "held",
                  "held/live", "mean", "fragment.", "worst", "alloc", "p99", "free", "p99");
    for (size_t i = 0; i < found->lineup->count; i++)
        print_line(&found->results[i], found->lineup->contenders[i]->name, out);
}

/* ---- for programs ---- */

static json_t *sample_to_json(const bench_memory_sample *sample)
{
    json_t *object = json_object();
    bench_json_put_count(object, "event", sample->event);
    bench_json_put_count(object, "live_bytes", sample->live_bytes);
    bench_json_put_count(object, "reserved_bytes", sample->reserved_bytes);
    if (!sample->has_holes)
        return object;
    bench_json_put_count(object, "free_bytes", sample->holes.free_bytes);
    bench_json_put_count(object, "largest_free_bytes", sample->holes.largest_free_bytes);
    bench_json_put(object, "fragmentation", json_real(bench_memory_fragmentation(sample)));
    return object;
}

static json_t *result_to_json(const bench_fragmentation *found, size_t index)
{
    const bench_fragment_result *result = &found->results[index];
    const bench_contender_ops *ops = found->lineup->contenders[index];
    json_t *object = json_object();
    json_t *samples = json_array();
    bench_json_put_text(object, "command", "fragment");
    bench_json_put_text(object, "policy", ops->name);
    bench_json_put_text(object, "mode", ops->has_modes ? found->mode : NULL);
    bench_json_put_text(object, "device", found->device);
    bench_json_put_text(object, "device_name", found->device_name);
    bench_json_put_count(object, "operations", result->operations);
    bench_json_put_count(object, "peak_live_bytes", result->peak_live_bytes);
    bench_json_put_count(object, "peak_reserved_bytes", result->peak_reserved_bytes);
    bench_json_put(object, "reserved_over_live", json_real(result->reserved_over_live));
    bench_json_put(object, "reserved_over_live_mean", json_real(result->reserved_over_live_mean));
    bench_json_put(object, "fragmentation_mean",
                   result->has_holes ? json_real(result->fragmentation_mean) : json_null());
    bench_json_put(object, "fragmentation_max",
                   result->has_holes ? json_real(result->fragmentation_max) : json_null());
    bench_json_put(object, "alloc_ns_mean", json_real(result->alloc.mean));
    bench_json_put(object, "alloc_ns_p50", json_real(result->alloc.p50));
    bench_json_put(object, "alloc_ns_p99", json_real(result->alloc.p99));
    bench_json_put(object, "free_ns_mean", json_real(result->free.mean));
    bench_json_put(object, "free_ns_p50", json_real(result->free.p50));
    bench_json_put(object, "free_ns_p99", json_real(result->free.p99));
    for (size_t i = 0; i < result->memory.count; i++)
        (void)json_array_append_new(samples, sample_to_json(&result->memory.samples[i]));
    bench_json_put(object, "samples", samples);
    return object;
}

bool bench_report_fragment_json(const bench_fragmentation *found, const char *path)
{
    json_t *array = json_array();
    for (size_t i = 0; i < found->lineup->count; i++) {
        if (!found->results[i].failed)
            (void)json_array_append_new(array, result_to_json(found, i));
    }
    bool sound = bench_json_write(array, path);
    json_decref(array);
    return sound;
}

/* Every sample a line: what a table program plots. */
bool bench_report_fragment_csv(const bench_fragmentation *found, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    (void)fputs("policy,event,live_bytes,reserved_bytes,free_bytes,largest_free_bytes\n", out);
    for (size_t i = 0; i < found->lineup->count; i++) {
        const bench_memory *memory = &found->results[i].memory;
        for (size_t j = 0; j < memory->count && !found->results[i].failed; j++) {
            const bench_memory_sample *sample = &memory->samples[j];
            (void)fprintf(out, "%s,%zu,%" PRIu64 ",%" PRIu64, found->lineup->contenders[i]->name,
                          sample->event, sample->live_bytes, sample->reserved_bytes);
            if (sample->has_holes)
                (void)fprintf(out, ",%" PRIu64 ",%" PRIu64 "\n", sample->holes.free_bytes,
                              sample->holes.largest_free_bytes);
            else
                (void)fputs(",,\n", out);
        }
    }
    bool sound = ferror(out) == 0;
    return fclose(out) == 0 && sound;
}
