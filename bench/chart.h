/*
 * Charts for reports: curves, drawn by gnuplot as SVG to stand inside a page. The
 * page's style gives what gnuplot draws in black its own colour, so that a chart
 * is readable on light and on dark.
 */
#ifndef GP_BENCH_CHART_H
#define GP_BENCH_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct bench_curve {
    const char *name;
    const double *x, *y;
    size_t count;
    bool is_reference; /* Drawn dashed and grey. */
    bool has_points;
} bench_curve;

typedef struct bench_chart {
    const char *title, *x_label, *y_label;
    bool log_x, log_y;
    const char *x_tics; /* As gnuplot takes them: ("50 %" 0.3, ...); NULL: its own. */
    const bench_curve *curves;
    size_t curve_count;
} bench_chart;

/* Draw a chart into `out`. False, and nothing is written, if gnuplot is not there or
 * fails. */
bool bench_chart_write(const bench_chart *chart, FILE *out);

#endif
