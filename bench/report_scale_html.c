/* The page of `scale`. */
#include "report_scale.h"

#include "html.h"

#include <math.h>

#define MAX_POINTS 64

static const char *const headings[BENCH_AXIS_COUNT] = {
    "Threads, each on a stream of its own",
    "Streams that one thread uses",
    "Live blocks of one thread on one stream",
};

static double least_of(const bench_scaling *scaling, const bench_scale_point *point,
                       bench_scale_figure get)
{
    double least = INFINITY;
    for (size_t i = 0; i < scaling->lineup->count; i++) {
        const bench_scale_cell *cell = &point->cells[i];
        if (!cell->failed && get(cell) < least)
            least = get(cell);
    }
    return least;
}

static void write_table(const bench_scaling *scaling, size_t first, const char *heading,
                        bench_scale_figure get, FILE *out)
{
    size_t count = bench_scaling_axis_points(scaling, first);
    (void)fprintf(out, "<div class=\"wide\"><table><tr><th>%s</th>", heading);
    for (size_t i = first; i < first + count; i++)
        (void)fprintf(out, "<th>%zu</th>", scaling->points[i].value);
    (void)fputs("<th>last/first</th></tr>\n", out);
    for (size_t j = 0; j < scaling->lineup->count; j++) {
        (void)fputs("<tr>", out);
        bench_html_element(out, "td", scaling->lineup->contenders[j]->name);
        for (size_t i = first; i < first + count; i++) {
            const bench_scale_cell *cell = &scaling->points[i].cells[j];
            if (cell->failed)
                (void)fputs("<td>failed</td>", out);
            else
                bench_html_number(out, get(cell), 0,
                                  get(cell) <= least_of(scaling, &scaling->points[i], get));
        }
        bench_html_number(out, bench_scaling_growth(scaling, first + count - 1, j, get), 2, false);
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table></div>\n", out);
}

/* Coordinates of every contender's curve. */
typedef struct curve_places {
    double x[BENCH_MAX_POLICIES][MAX_POINTS];
    double y[BENCH_MAX_POLICIES][MAX_POINTS];
} curve_places;

static void write_chart(const bench_scaling *scaling, size_t first, size_t count, FILE *out)
{
    static curve_places places;
    bench_curve curves[BENCH_MAX_POLICIES];
    for (size_t j = 0; j < scaling->lineup->count; j++) {
        size_t placed = 0;
        for (size_t i = first; i < first + count && placed < MAX_POINTS; i++) {
            if (scaling->points[i].cells[j].failed)
                continue;
            places.x[j][placed] = (double)scaling->points[i].value;
            places.y[j][placed] = scaling->points[i].cells[j].pair_ns.median;
            placed++;
        }
        curves[j] = (bench_curve){.name = scaling->lineup->contenders[j]->name,
                                  .x = places.x[j],
                                  .y = places.y[j],
                                  .count = placed,
                                  .has_points = true};
    }
    const bench_chart chart = {
        .title = headings[scaling->points[first].axis],
        .x_label = bench_axis_name(scaling->points[first].axis),
        .y_label = "ns a pair",
        .log_x = true,
        .log_y = true,
        .curves = curves,
        .curve_count = scaling->lineup->count,
    };
    bench_html_chart(out, &chart);
}

static void write_page(const bench_scaling *scaling, FILE *out)
{
    bench_html_begin(out, "What a pair costs as things grow");
    (void)fputs("<p>Device: ", out);
    bench_html_text(out, scaling->device_name);
    (void)fprintf(out,
                  ". Live blocks are replaced at random, every call timed on its own; the "
                  "figures are medians over %zu rounds, by turns.</p>\n",
                  scaling->rounds);
    if (scaling->simulated)
        (void)fputs("<p>The device is simulated: times are host time of this machine, and a "
                    "native call costs only its simulation.</p>\n",
                    out);
    bench_html_absent(out, scaling->lineup);
    for (size_t i = 0; i < scaling->count; i += bench_scaling_axis_points(scaling, i)) {
        bench_html_element(out, "h2", headings[scaling->points[i].axis]);
        write_table(scaling, i, "ns a pair, mean", bench_scale_mean, out);
        write_table(scaling, i, "ns a pair, median", bench_scale_p50, out);
        write_chart(scaling, i, bench_scaling_axis_points(scaling, i), out);
    }
    bench_html_end(out);
}

bool bench_report_scale_html(const bench_scaling *scaling, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    write_page(scaling, out);
    bool sound = ferror(out) == 0;
    return fclose(out) == 0 && sound;
}
