/* The page of `fragment`. */
#include "report_fragment.h"

#include "html.h"

#include <math.h>

#define MIB 1048576.0

typedef double (*figure)(const bench_memory_sample *sample);

static double held_over_live(const bench_memory_sample *sample)
{
    return sample->live_bytes > 0 ? (double)sample->reserved_bytes / (double)sample->live_bytes
                                  : 0.0;
}

/* ---- the table ---- */

static double least_mean(const bench_fragmentation *found)
{
    double least = INFINITY;
    for (size_t i = 0; i < found->lineup->count; i++) {
        const bench_fragment_result *result = &found->results[i];
        if (!result->failed && !found->lineup->contenders[i]->keeps_nothing &&
            result->reserved_over_live_mean < least)
            least = result->reserved_over_live_mean;
    }
    return least;
}

static void write_row(const bench_fragment_result *result, const char *name, bool best, FILE *out)
{
    (void)fputs("<tr>", out);
    bench_html_element(out, "td", name);
    if (result->failed) {
        (void)fputs("<td colspan=\"9\">failed: ", out);
        bench_html_text(out, result->error);
        (void)fputs("</td></tr>\n", out);
        return;
    }
    bench_html_number(out, (double)result->peak_reserved_bytes / MIB, 0, false);
    bench_html_number(out, result->reserved_over_live, 3, false);
    bench_html_number(out, result->reserved_over_live_mean, 3, best);
    if (result->has_holes) {
        bench_html_number(out, result->fragmentation_mean, 3, false);
        bench_html_number(out, result->fragmentation_max, 3, false);
    } else {
        (void)fputs("<td>–</td><td>–</td>", out);
    }
    bench_html_number(out, result->alloc.mean, 0, false);
    bench_html_number(out, result->alloc.p99, 0, false);
    bench_html_number(out, result->free.mean, 0, false);
    bench_html_number(out, result->free.p99, 0, false);
    (void)fputs("</tr>\n", out);
}

static void write_table(const bench_fragmentation *found, FILE *out)
{
    double least = least_mean(found);
    (void)fputs("<div class=\"wide\"><table><tr><th>policy</th><th>held MiB</th>"
                "<th>held/live, peaks</th><th>mean</th><th>fragmentation</th><th>worst</th>"
                "<th>alloc ns</th><th>p99</th><th>free ns</th><th>p99</th></tr>\n",
                out);
    for (size_t i = 0; i < found->lineup->count; i++) {
        const bench_fragment_result *result = &found->results[i];
        const bench_contender_ops *ops = found->lineup->contenders[i];
        write_row(result, ops->name,
                  !ops->keeps_nothing && result->reserved_over_live_mean <= least, out);
    }
    (void)fputs("</table></div>\n", out);
}

/* ---- charts ---- */

/* Coordinates of every contender's curve. */
typedef struct curve_places {
    double x[BENCH_MAX_POLICIES][BENCH_MEMORY_SAMPLES];
    double y[BENCH_MAX_POLICIES][BENCH_MEMORY_SAMPLES];
} curve_places;

static void write_chart(const bench_fragmentation *found, const char *title, const char *label,
                        figure get, bool needs_holes, FILE *out)
{
    static curve_places places;
    bench_curve curves[BENCH_MAX_POLICIES];
    size_t count = 0;
    for (size_t i = 0; i < found->lineup->count; i++) {
        const bench_fragment_result *result = &found->results[i];
        if (result->failed || (needs_holes && !result->has_holes))
            continue;
        for (size_t j = 0; j < result->memory.count; j++) {
            places.x[count][j] = (double)result->memory.samples[j].event;
            places.y[count][j] = get(&result->memory.samples[j]);
        }
        curves[count] = (bench_curve){.name = found->lineup->contenders[i]->name,
                                      .x = places.x[count],
                                      .y = places.y[count],
                                      .count = result->memory.count};
        count++;
    }
    const bench_chart chart = {.title = title,
                               .x_label = "operations",
                               .y_label = label,
                               .curves = curves,
                               .curve_count = count};
    if (count > 0)
        bench_html_chart(out, &chart);
}

static void write_page(const bench_fragmentation *found, FILE *out)
{
    bench_html_begin(out, "What a long hostile run makes of the memory");
    (void)fputs("<p>Device: ", out);
    bench_html_text(out, found->device_name);
    (void)fprintf(out,
                  ". %zu operations of one thread on four idle streams, at most %.0f MiB "
                  "live. Sizes grow by a third from phase to phase, and half of what is live "
                  "is freed at random in between.</p>\n",
                  found->operations, (double)found->live_bytes / MIB);
    bench_html_absent(out, found->lineup);
    write_table(found, out);
    write_chart(found, "Held from the device over live", "held / live", held_over_live, false, out);
    write_chart(found, "Fragmentation: 1 less the longest free piece over all that is free",
                "fragmentation", bench_memory_fragmentation, true, out);
    bench_html_end(out);
}

bool bench_report_fragment_html(const bench_fragmentation *found, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    write_page(found, out);
    bool sound = ferror(out) == 0;
    return fclose(out) == 0 && sound;
}
