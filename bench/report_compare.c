#include "report_compare.h"

#include "json_fields.h"

#include <inttypes.h>

const char *bench_combination_label(const bench_combination *combination)
{
    if (combination->per_stream)
        return combination->kernels ? "a thread a stream, kernels" : "a thread a stream, idle";
    return combination->kernels ? "one thread, kernels" : "one thread, idle";
}

/* ---- for people ---- */

static void print_head(const bench_comparison *comparison, FILE *out)
{
    (void)fprintf(out, "device: %s (%s)\n", comparison->device_name, comparison->device);
    if (comparison->simulated)
        (void)fprintf(out, "Times are host time of this machine: compare gp's policies with each "
                           "other, not with\nthe native pool, whose calls cost nothing here but "
                           "the simulation's own work.\n");
    (void)fprintf(out,
                  "warm passes by turns: %zu; times in ns; a pair is one alloc and one free; "
                  "ratio to %s\n",
                  comparison->rounds, comparison->lineup->contenders[comparison->baseline]->name);
    for (size_t i = 0; i < comparison->lineup->absent_count; i++)
        (void)fprintf(out, "not measured: %s (%s)\n", comparison->lineup->absent[i].name,
                      comparison->lineup->absent[i].reason);
}

static void print_columns(const bench_comparison *comparison, FILE *out)
{
    (void)fprintf(out, "  %-14s %8s %17s %7s %8s %8s %8s %8s %9s", "policy", "pair", "least..most",
                  "ratio", "alloc", "p99", "free", "p99", "held/live");
    (void)fprintf(out, comparison->simulated ? " %7s\n" : "\n", "hazards");
}

static void print_cell(const bench_cell *cell, const char *name, FILE *out)
{
    const bench_result *result = &cell->result;
    if (cell->failed) {
        (void)fprintf(out, "  %-14s failed: %s\n", name, cell->error);
        return;
    }
    (void)fprintf(out, "  %-14s %8.0f %8.0f..%-7.0f", name, cell->pair_ns.median, cell->pair_ns.low,
                  cell->pair_ns.high);
    if (cell->has_ratio)
        (void)fprintf(out, " %7.2f", cell->over_baseline.median);
    else
        (void)fprintf(out, " %7s", "-");
    (void)fprintf(out, " %8.0f %8.0f %8.0f %8.0f %9.2f", result->alloc.mean, result->alloc.p99,
                  result->free.mean, result->free.p99, bench_result_reserved_over_live(result));
    if (result->hazards >= 0)
        (void)fprintf(out, " %7" PRId64, result->hazards);
    (void)fputc('\n', out);
}

void bench_report_compare_table(const bench_comparison *comparison, FILE *out)
{
    print_head(comparison, out);
    for (size_t i = 0; i < comparison->count; i++) {
        const bench_combination *combination = &comparison->combinations[i];
        (void)fprintf(out, "\n%s, %s\n", combination->trace, bench_combination_label(combination));
        print_columns(comparison, out);
        for (size_t j = 0; j < comparison->lineup->count; j++)
            print_cell(&combination->cells[j], comparison->lineup->contenders[j]->name, out);
    }
}

/* ---- for programs ---- */

static json_t *memory_to_json(const bench_memory *memory)
{
    json_t *samples = json_array();
    for (size_t i = 0; i < memory->count; i++) {
        const bench_memory_sample *sample = &memory->samples[i];
        (void)json_array_append_new(
            samples, json_pack("{s:I, s:I, s:I}", "event", (json_int_t)sample->event, "live_bytes",
                               (json_int_t)sample->live_bytes, "reserved_bytes",
                               (json_int_t)sample->reserved_bytes));
    }
    return samples;
}

static json_t *cell_to_json(const bench_cell *cell)
{
    json_t *object = bench_json_result(&cell->result);
    json_t *spreads = json_object();
    bench_json_put_count(object, "rounds", cell->rounds);
    bench_json_put(object, "cold_pair_ns", json_real(cell->cold_pair_ns));
    bench_json_put_text(object, "baseline", cell->baseline);
    bench_json_put(object, "pair_over_baseline",
                   cell->has_ratio ? json_real(cell->over_baseline.median) : json_null());
    bench_json_put_spread(spreads, "pair_ns", &cell->pair_ns);
    bench_json_put_spread(spreads, "alloc_ns_p99", &cell->alloc_p99);
    bench_json_put_spread(spreads, "free_ns_p99", &cell->free_p99);
    if (cell->has_ratio)
        bench_json_put_spread(spreads, "pair_over_baseline", &cell->over_baseline);
    bench_json_put(object, "spread", spreads);
    bench_json_put(object, "memory",
                   cell->memory.count > 0 ? memory_to_json(&cell->memory) : json_null());
    return object;
}

bool bench_report_compare_json(const bench_comparison *comparison, const char *path)
{
    json_t *array = json_array();
    for (size_t i = 0; i < comparison->count; i++) {
        for (size_t j = 0; j < comparison->lineup->count; j++) {
            const bench_cell *cell = &comparison->combinations[i].cells[j];
            if (!cell->failed)
                (void)json_array_append_new(array, cell_to_json(cell));
        }
    }
    bool sound = bench_json_write(array, path);
    json_decref(array);
    return sound;
}

static void write_csv_line(const bench_cell *cell, FILE *out)
{
    const bench_result *result = &cell->result;
    (void)fprintf(out, "%s,%s,%s,%d,%s,%zu,%.1f,%.1f,%.1f,", result->trace, result->policy,
                  result->thread_mode, result->kernels, result->device, cell->rounds,
                  cell->pair_ns.median, cell->pair_ns.low, cell->pair_ns.high);
    if (cell->has_ratio)
        (void)fprintf(out, "%.4f", cell->over_baseline.median);
    (void)fprintf(out, ",%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%zu,%" PRIu64 ",%.4f,%" PRId64 "\n",
                  result->alloc.mean, result->alloc.p50, result->alloc.p99, result->free.mean,
                  result->free.p50, result->free.p99, result->peak_live_bytes,
                  result->usage.reserved_bytes_high, bench_result_reserved_over_live(result),
                  result->hazards);
}

bool bench_report_compare_csv(const bench_comparison *comparison, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    (void)fputs("trace,policy,threads,kernels,device,rounds,pair_ns,pair_ns_min,pair_ns_max,"
                "pair_over_baseline,alloc_ns_mean,alloc_ns_p50,alloc_ns_p99,free_ns_mean,"
                "free_ns_p50,free_ns_p99,peak_live_bytes,peak_reserved_bytes,reserved_over_live,"
                "hazards\n",
                out);
    for (size_t i = 0; i < comparison->count; i++) {
        for (size_t j = 0; j < comparison->lineup->count; j++) {
            if (!comparison->combinations[i].cells[j].failed)
                write_csv_line(&comparison->combinations[i].cells[j], out);
        }
    }
    bool sound = ferror(out) == 0;
    return fclose(out) == 0 && sound;
}
