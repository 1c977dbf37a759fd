#include "report_scale.h"

#include "json_fields.h"

/* ---- figures ---- */

double bench_scale_mean(const bench_scale_cell *cell)
{
    return cell->pair_ns.median;
}

double bench_scale_p50(const bench_scale_cell *cell)
{
    return cell->pair_p50.median;
}

size_t bench_scaling_axis_points(const bench_scaling *scaling, size_t first)
{
    size_t end = first;
    while (end < scaling->count && scaling->points[end].axis == scaling->points[first].axis)
        end++;
    return end - first;
}

double bench_scaling_growth(const bench_scaling *scaling, size_t point, size_t contender,
                            bench_scale_figure get)
{
    size_t first = point;
    while (first > 0 && scaling->points[first - 1].axis == scaling->points[point].axis)
        first--;
    const bench_scale_cell *from = &scaling->points[first].cells[contender];
    const bench_scale_cell *to = &scaling->points[point].cells[contender];
    if (from->failed || to->failed || get(from) <= 0.0)
        return 0.0;
    return get(to) / get(from);
}

/* ---- for people ---- */

static void print_axis(const bench_scaling *scaling, size_t first, const char *what,
                       bench_scale_figure get, FILE *out)
{
    size_t count = bench_scaling_axis_points(scaling, first);
    (void)fprintf(out, "\nns a pair by %s, %s\n  %-14s",
                  bench_axis_name(scaling->points[first].axis), what, "policy");
    for (size_t i = first; i < first + count; i++)
        (void)fprintf(out, " %8zu", scaling->points[i].value);
    (void)fprintf(out, " %10s\n", "last/first");
    for (size_t j = 0; j < scaling->lineup->count; j++) {
        (void)fprintf(out, "  %-14s", scaling->lineup->contenders[j]->name);
        for (size_t i = first; i < first + count; i++) {
            const bench_scale_cell *cell = &scaling->points[i].cells[j];
            if (cell->failed)
                (void)fprintf(out, " %8s", "failed");
            else
                (void)fprintf(out, " %8.0f", get(cell));
        }
        (void)fprintf(out, " %10.2f\n", bench_scaling_growth(scaling, first + count - 1, j, get));
    }
}

void bench_report_scale_table(const bench_scaling *scaling, FILE *out)
{
    (void)fprintf(out, "device: %s (%s); %s; rounds by turns: %zu\n", scaling->device_name,
                  scaling->device, scaling->mode, scaling->rounds);
    if (scaling->simulated)
        (void)fprintf(out, "Times are host time of this machine; a native call costs only its "
                           "simulation.\n");
    for (size_t i = 0; i < scaling->lineup->absent_count; i++)
        (void)fprintf(out, "not measured: %s (%s)\n", scaling->lineup->absent[i].name,
                      scaling->lineup->absent[i].reason);
    for (size_t i = 0; i < scaling->count; i += bench_scaling_axis_points(scaling, i)) {
        print_axis(scaling, i, "mean", bench_scale_mean, out);
        print_axis(scaling, i, "median", bench_scale_p50, out);
    }
}

/* ---- for programs ---- */

static json_t *cell_to_json(const bench_scaling *scaling, size_t point, size_t contender)
{
    const bench_scale_point *at = &scaling->points[point];
    const bench_scale_cell *cell = &at->cells[contender];
    const bench_contender_ops *ops = scaling->lineup->contenders[contender];
    bench_load_size size = bench_axis_size(at->axis, at->value);
    json_t *object = json_object();
    json_t *spreads = json_object();
    bench_json_put_text(object, "command", "scale");
    bench_json_put_text(object, "axis", bench_axis_name(at->axis));
    bench_json_put_text(object, "policy", ops->name);
    bench_json_put_text(object, "mode", ops->has_modes ? scaling->mode : NULL);
    bench_json_put_text(object, "device", scaling->device);
    bench_json_put_text(object, "device_name", scaling->device_name);
    bench_json_put_count(object, "thread_count", size.threads);
    bench_json_put_count(object, "stream_count", size.streams);
    bench_json_put_count(object, "live_blocks", size.live);
    bench_json_put_count(object, "rounds", scaling->rounds);
    bench_json_put(object, "pair_ns", json_real(cell->pair_ns.median));
    bench_json_put(object, "pair_ns_p50", json_real(cell->pair_p50.median));
    bench_json_put(object, "alloc_ns_p99", json_real(cell->alloc_p99.median));
    bench_json_put(object, "free_ns_p99", json_real(cell->free_p99.median));
    double growth = bench_scaling_growth(scaling, point, contender, bench_scale_mean);
    bench_json_put(object, "pair_over_first", growth > 0.0 ? json_real(growth) : json_null());
    bench_json_put_text(object, "baseline", scaling->lineup->contenders[scaling->baseline]->name);
    bench_json_put(object, "pair_over_baseline",
                   cell->has_ratio ? json_real(cell->over_baseline.median) : json_null());
    bench_json_put_spread(spreads, "pair_ns", &cell->pair_ns);
    bench_json_put_spread(spreads, "pair_ns_p50", &cell->pair_p50);
    bench_json_put_spread(spreads, "alloc_ns_p99", &cell->alloc_p99);
    bench_json_put_spread(spreads, "free_ns_p99", &cell->free_p99);
    if (cell->has_ratio)
        bench_json_put_spread(spreads, "pair_over_baseline", &cell->over_baseline);
    bench_json_put(object, "spread", spreads);
    return object;
}

bool bench_report_scale_json(const bench_scaling *scaling, const char *path)
{
    json_t *array = json_array();
    for (size_t i = 0; i < scaling->count; i++) {
        for (size_t j = 0; j < scaling->lineup->count; j++) {
            if (!scaling->points[i].cells[j].failed)
                (void)json_array_append_new(array, cell_to_json(scaling, i, j));
        }
    }
    bool sound = bench_json_write(array, path);
    json_decref(array);
    return sound;
}

bool bench_report_scale_csv(const bench_scaling *scaling, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    (void)fputs("axis,value,policy,device,rounds,pair_ns,pair_ns_min,pair_ns_max,pair_ns_p50,"
                "alloc_ns_p99,free_ns_p99\n",
                out);
    for (size_t i = 0; i < scaling->count; i++) {
        const bench_scale_point *point = &scaling->points[i];
        for (size_t j = 0; j < scaling->lineup->count; j++) {
            const bench_scale_cell *cell = &point->cells[j];
            if (cell->failed)
                continue;
            (void)fprintf(out, "%s,%zu,%s,%s,%zu,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f\n",
                          bench_axis_name(point->axis), point->value,
                          scaling->lineup->contenders[j]->name, scaling->device, scaling->rounds,
                          cell->pair_ns.median, cell->pair_ns.low, cell->pair_ns.high,
                          cell->pair_p50.median, cell->alloc_p99.median, cell->free_p99.median);
        }
    }
    bool sound = ferror(out) == 0;
    return fclose(out) == 0 && sound;
}
