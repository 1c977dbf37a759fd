#include "pipeline_report.h"

#include "fail.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define MIB 1048576.0

/* ---- table ---- */

static void print_head(const pipeline_setup *setup)
{
    printf("device: %s (%s); %zu layers a request, each: %s\n", setup->device_name, setup->device,
           setup->layers, setup->kernel);
    if (setup->simulated)
        printf("The device is simulated: kernels take no real time, requests/s and latencies are\n"
               "those of the host's work alone, and a native call costs what its simulation does.\n"
               "What native calls would take is given apart, as simulated time.\n");
    printf("medians of %zu rounds of %zu ms, the sources taking turns\n\n", setup->rounds,
           setup->round_ms);
    printf("%7s  %-13s %10s %21s %9s %9s %9s %8s %8s", "threads", "memory", "requests/s",
           "(least - most)", "p50 us", "p99 us", "held MiB", "ceiling", "native");
    printf(setup->simulated ? " %13s\n" : "\n", "simulated us");
}

static void print_row(const pipeline_setup *setup, const pipeline_row *row)
{
    printf("%7zu  %-13s %10.0f  (%8.0f -%8.0f) %9.1f %9.1f %9.1f %7.1f%% %7.2fx", row->threads,
           row->source, row->requests_per_s.median, row->requests_per_s.low,
           row->requests_per_s.high, row->latency_ns.p50 / 1e3, row->latency_ns.p99 / 1e3,
           (double)row->peak_bytes / MIB, row->of_ceiling.median * 100.0, row->over_native.median);
    if (setup->simulated)
        printf(" %13.2f", row->sim_native_us);
    printf("\n");
}

static void print_summary(const pipeline_row *rows, size_t count)
{
    printf("\nceiling: requests/s by those of preallocated; native: by those of the native pool\n");
    for (size_t i = 0; i < count; i++) {
        if (strncmp(rows[i].source, "gp", 2) == 0)
            printf("%s, %zu thread%s: %.1f%% of the ceiling, %.2f times the native pool, p99 %.2f "
                   "times the ceiling's\n",
                   rows[i].source, rows[i].threads, rows[i].threads == 1 ? "" : "s",
                   rows[i].of_ceiling.median * 100.0, rows[i].over_native.median,
                   rows[i].p99_of_ceiling.median);
    }
}

void pipeline_report_table(const pipeline_setup *setup, const pipeline_row *rows, size_t count)
{
    print_head(setup);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && rows[i].threads != rows[i - 1].threads)
            printf("\n");
        print_row(setup, &rows[i]);
    }
    print_summary(rows, count);
}

/* ---- JSON ---- */

static json_t *spread_to_json(const bench_spread *spread)
{
    return json_pack("{s:f, s:f, s:f}", "median", spread->median, "min", spread->low, "max",
                     spread->high);
}

static json_t *row_to_json(const pipeline_setup *setup, const pipeline_row *row)
{
    json_t *object = json_pack(
        "{s:s, s:I, s:f, s:o, s:f, s:f, s:f, s:I, s:f, s:o, s:f, s:o, s:f, s:o}", "memory",
        row->source, "threads", (json_int_t)row->threads, "requests_per_s",
        row->requests_per_s.median, "requests_per_s_spread", spread_to_json(&row->requests_per_s),
        "p50_us", row->latency_ns.p50 / 1e3, "p99_us", row->latency_ns.p99 / 1e3, "max_us",
        row->latency_ns.max / 1e3, "peak_reserved_bytes", (json_int_t)row->peak_bytes, "of_ceiling",
        row->of_ceiling.median, "of_ceiling_spread", spread_to_json(&row->of_ceiling),
        "over_native", row->over_native.median, "over_native_spread",
        spread_to_json(&row->over_native), "p99_of_ceiling", row->p99_of_ceiling.median,
        "p99_of_ceiling_spread", spread_to_json(&row->p99_of_ceiling));
    json_t *simulated = setup->simulated ? json_real(row->sim_native_us) : json_null();
    (void)json_object_set_new(object, "sim_native_us_per_request", simulated);
    return object;
}

static json_t *to_json(const pipeline_setup *setup, const pipeline_row *rows, size_t count,
                       int64_t hazards)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, row_to_json(setup, &rows[i]));
    return json_pack("{s:s, s:s, s:b, s:s, s:I, s:I, s:I, s:o, s:o}", "device", setup->device,
                     "device_name", setup->device_name, "simulated", (int)setup->simulated,
                     "kernel", setup->kernel, "layers", (json_int_t)setup->layers, "rounds",
                     (json_int_t)setup->rounds, "round_ms", (json_int_t)setup->round_ms, "hazards",
                     hazards < 0 ? json_null() : json_integer(hazards), "rows", array);
}

void pipeline_report_json(const pipeline_setup *setup, const pipeline_row *rows, size_t count,
                          const char *path, int64_t hazards)
{
    json_t *report = to_json(setup, rows, count, hazards);
    if (report == NULL)
        example_fail("json", "out of memory");

    size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(10);
    int result = strcmp(path, "-") == 0 ? json_dumpf(report, stdout, flags)
                                        : json_dump_file(report, path, flags);
    if (result != 0)
        example_fail(path, "cannot be written");
    if (strcmp(path, "-") == 0)
        printf("\n");
    json_decref(report);
}
