/* The page of `compare`. */
#include "report_compare.h"

#include "html.h"

#include <math.h>
#include <string.h>

#define MIB 1048576.0

typedef double (*figure)(const bench_cell *cell);

static double mean_per_call(const bench_cell *cell)
{
    return cell->pair_ns.median / 2.0;
}

static double held_over_live(const bench_cell *cell)
{
    return bench_result_reserved_over_live(&cell->result);
}

/* ---- tables ---- */

/* The least of a combination, which stands out; of those that are pools. */
static double least_of(const bench_comparison *comparison, const bench_combination *combination,
                       figure get)
{
    double least = INFINITY;
    for (size_t i = 0; i < comparison->lineup->count; i++) {
        const bench_cell *cell = &combination->cells[i];
        if (!cell->failed && !comparison->lineup->contenders[i]->keeps_nothing && get(cell) < least)
            least = get(cell);
    }
    return least;
}

static bool is_best(const bench_comparison *comparison, const bench_combination *combination,
                    size_t index, figure get)
{
    return !comparison->lineup->contenders[index]->keeps_nothing &&
           get(&combination->cells[index]) <= least_of(comparison, combination, get);
}

static void write_summary_row(const bench_comparison *comparison,
                              const bench_combination *combination, figure get, int decimals,
                              FILE *out)
{
    (void)fputs("<tr>", out);
    bench_html_element(out, "td", combination->trace);
    bench_html_element(out, "td", combination->per_stream ? "a thread a stream" : "one thread");
    for (size_t i = 0; i < comparison->lineup->count; i++) {
        if (combination->cells[i].failed)
            (void)fputs("<td>failed</td>", out);
        else
            bench_html_number(out, get(&combination->cells[i]), decimals,
                              is_best(comparison, combination, i, get));
    }
    (void)fputs("</tr>\n", out);
}

/* Traces down, contenders across; idle streams only. */
static void write_summary(const bench_comparison *comparison, figure get, int decimals, FILE *out)
{
    (void)fputs("<div class=\"wide\"><table><tr><th>trace</th><th></th>", out);
    for (size_t i = 0; i < comparison->lineup->count; i++)
        bench_html_element(out, "th", comparison->lineup->contenders[i]->name);
    (void)fputs("</tr>\n", out);
    for (size_t i = 0; i < comparison->count; i++) {
        if (!comparison->combinations[i].kernels)
            write_summary_row(comparison, &comparison->combinations[i], get, decimals, out);
    }
    (void)fputs("</table></div>\n", out);
}

static void write_row(const bench_cell *cell, const char *name, bool best, FILE *out)
{
    const bench_result *result = &cell->result;
    (void)fputs("<tr>", out);
    bench_html_element(out, "td", name);
    if (cell->failed) {
        (void)fputs("<td colspan=\"10\">failed: ", out);
        bench_html_text(out, cell->error);
        (void)fputs("</td></tr>\n", out);
        return;
    }
    bench_html_number(out, cell->pair_ns.median, 0, best);
    (void)fprintf(out, "<td>%.0f–%.0f</td>", cell->pair_ns.low, cell->pair_ns.high);
    if (cell->has_ratio)
        bench_html_number(out, cell->over_baseline.median, 2, false);
    else
        (void)fputs("<td>–</td>", out);
    bench_html_number(out, result->alloc.p50, 0, false);
    bench_html_number(out, result->alloc.p99, 0, false);
    bench_html_number(out, result->free.p50, 0, false);
    bench_html_number(out, result->free.p99, 0, false);
    bench_html_number(out, (double)result->usage.reserved_bytes_high / MIB, 0, false);
    bench_html_number(out, held_over_live(cell), 2, false);
    if (result->hazards >= 0)
        (void)fprintf(out, "<td>%lld</td></tr>\n", (long long)result->hazards);
    else
        (void)fputs("<td>–</td></tr>\n", out);
}

static double pair_of(const bench_cell *cell)
{
    return cell->pair_ns.median;
}

static void write_combination(const bench_comparison *comparison,
                              const bench_combination *combination, FILE *out)
{
    bench_html_element(out, "h3", bench_combination_label(combination));
    (void)fputs("<div class=\"wide\"><table><tr><th>policy</th><th>pair ns</th>"
                "<th>least–most</th><th>ratio</th><th>alloc p50</th><th>p99</th><th>free p50</th>"
                "<th>p99</th><th>held MiB</th><th>held/live</th><th>hazards</th></tr>\n",
                out);
    for (size_t i = 0; i < comparison->lineup->count; i++) {
        const bench_cell *cell = &combination->cells[i];
        write_row(cell, comparison->lineup->contenders[i]->name,
                  is_best(comparison, combination, i, pair_of), out);
    }
    (void)fputs("</table></div>\n", out);
}

/* ---- charts ---- */

/* Percentiles stand as far apart as their nines: 90 %, 99 % and 99.9 % at 1, 2 and 3. */
static void place_quantiles(double places[BENCH_QUANTILES])
{
    for (size_t i = 0; i < BENCH_QUANTILES; i++)
        places[i] = -log10(1.0 - bench_latency_shares[i]);
}

static void write_latencies(const bench_comparison *comparison,
                            const bench_combination *combination, bool frees, FILE *out)
{
    bench_curve curves[BENCH_MAX_POLICIES];
    double places[BENCH_QUANTILES];
    size_t count = 0;
    char title[160];
    place_quantiles(places);
    for (size_t i = 0; i < comparison->lineup->count; i++) {
        const bench_cell *cell = &combination->cells[i];
        if (cell->failed)
            continue;
        curves[count++] = (bench_curve){
            .name = comparison->lineup->contenders[i]->name,
            .x = places,
            .y = frees ? cell->result.free.quantiles : cell->result.alloc.quantiles,
            .count = BENCH_QUANTILES,
            .has_points = true,
        };
    }
    (void)snprintf(title, sizeof(title), "One %s: %s", frees ? "free" : "allocation",
                   bench_combination_label(combination));
    const bench_chart chart = {
        .title = title,
        .x_label = "share of the calls that take no longer",
        .y_label = "ns",
        .log_y = true,
        /* gnuplot takes a tic's label for a format. */
        .x_tics = "(\"50 %%\" 0.30103, \"90 %%\" 1, \"99 %%\" 2, \"99.9 %%\" 3, \"99.99 %%\" 4)",
        .curves = curves,
        .curve_count = count,
    };
    bench_html_chart(out, &chart);
}

/* Coordinates of every contender's samples, and of the live bytes. */
typedef struct memory_curves {
    double events[BENCH_MAX_POLICIES][BENCH_MEMORY_SAMPLES];
    double held[BENCH_MAX_POLICIES][BENCH_MEMORY_SAMPLES];
    double live[BENCH_MEMORY_SAMPLES];
} memory_curves;

static bench_curve place_memory(memory_curves *places, size_t index, const bench_memory *memory,
                                const char *name)
{
    for (size_t i = 0; i < memory->count; i++) {
        places->events[index][i] = (double)memory->samples[i].event;
        places->held[index][i] = (double)memory->samples[i].reserved_bytes / MIB;
        places->live[i] = (double)memory->samples[i].live_bytes / MIB;
    }
    return (bench_curve){
        .name = name, .x = places->events[index], .y = places->held[index], .count = memory->count};
}

static void write_memory(const bench_comparison *comparison, const bench_combination *combination,
                         FILE *out)
{
    static memory_curves places;
    bench_curve curves[BENCH_MAX_POLICIES + 1];
    size_t count = 0;
    for (size_t i = 0; i < comparison->lineup->count; i++) {
        const bench_memory *memory = &combination->cells[i].memory;
        if (memory->count > 0) {
            curves[count] =
                place_memory(&places, count, memory, comparison->lineup->contenders[i]->name);
            count++;
        }
    }
    if (count == 0)
        return;
    curves[count] = (bench_curve){.name = "live",
                                  .x = curves[0].x,
                                  .y = places.live,
                                  .count = curves[0].count,
                                  .is_reference = true};
    const bench_chart chart = {
        .title = "Held from the device, and live",
        .x_label = "calls",
        .y_label = "MiB",
        .curves = curves,
        .curve_count = count + 1,
    };
    bench_html_chart(out, &chart);
}

/* ---- the page ---- */

static bool begins_trace(const bench_comparison *comparison, size_t index)
{
    return index == 0 || strcmp(comparison->combinations[index].trace,
                                comparison->combinations[index - 1].trace) != 0;
}

static void write_traces(const bench_comparison *comparison, FILE *out)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const bench_combination *combination = &comparison->combinations[i];
        if (begins_trace(comparison, i))
            bench_html_element(out, "h2", combination->trace);
        (void)fputs("<section>\n", out);
        write_combination(comparison, combination, out);
        if (!combination->kernels) {
            write_latencies(comparison, combination, false, out);
            write_latencies(comparison, combination, true, out);
        }
        write_memory(comparison, combination, out);
        (void)fputs("</section>\n", out);
    }
}

static void write_head(const bench_comparison *comparison, FILE *out)
{
    (void)fputs("<p>Device: ", out);
    bench_html_text(out, comparison->device_name);
    (void)fprintf(out,
                  ". Every contender played each trace once cold and %zu times warm, by "
                  "turns; the figures are medians of the warm passes. Ratios to ",
                  comparison->rounds);
    bench_html_text(out, comparison->lineup->contenders[comparison->baseline]->name);
    (void)fputs(" are taken within a round.</p>\n", out);
    if (comparison->simulated)
        (void)fputs("<p>The device is simulated: times are host time of this machine, and a "
                    "native call costs only its simulation. Compare gp's policies with each "
                    "other, not with the native pool.</p>\n",
                    out);
    bench_html_absent(out, comparison->lineup);
}

bool bench_report_compare_html(const bench_comparison *comparison, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    bench_html_begin(out, "Allocators of device memory, compared");
    write_head(comparison, out);
    (void)fputs("<h2>Mean time of a call, ns</h2><p>Idle streams; half of a pair of one "
                "allocation and one free.</p>\n",
                out);
    write_summary(comparison, mean_per_call, 0, out);
    (void)fputs("<h2>Held over live</h2><p>Most bytes held from the device by most bytes asked "
                "for and live.</p>\n",
                out);
    write_summary(comparison, held_over_live, 2, out);
    write_traces(comparison, out);
    bench_html_end(out);
    bool sound = ferror(out) == 0;
    return fclose(out) == 0 && sound;
}
