/* What `scale` found on paper: a table, JSON, CSV and a page. */
#ifndef GP_BENCH_REPORT_SCALE_H
#define GP_BENCH_REPORT_SCALE_H

#include "scale.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One point of an axis, with what each contender of the line-up did there. */
typedef struct bench_scale_point {
    bench_axis axis;
    size_t value;
    bench_scale_cell *cells;
} bench_scale_point;

/* Everything that one run of `scale` found. Points of an axis stand together. */
typedef struct bench_scaling {
    const bench_lineup *lineup;
    size_t baseline; /* index into the line-up */
    const char *device;
    char device_name[BENCH_DEVICE_NAME_CHARS];
    bool simulated;
    const char *mode;
    size_t rounds;
    bench_scale_point *points;
    size_t count;
} bench_scaling;

void bench_report_scale_table(const bench_scaling *scaling, FILE *out);

/* False, and errno is set, if the file cannot be written. */
bool bench_report_scale_json(const bench_scaling *scaling, const char *path);
bool bench_report_scale_csv(const bench_scaling *scaling, const char *path);
bool bench_report_scale_html(const bench_scaling *scaling, const char *path);

/* How many points from `first` on are of the same axis. */
size_t bench_scaling_axis_points(const bench_scaling *scaling, size_t first);

/* A figure of a cell: the mean of a pair, or the sum of the medians of its two calls. */
typedef double (*bench_scale_figure)(const bench_scale_cell *cell);
double bench_scale_mean(const bench_scale_cell *cell);
double bench_scale_p50(const bench_scale_cell *cell);

/* A figure at a point by that at the first point of its axis; 0 if one of them failed. */
double bench_scaling_growth(const bench_scaling *scaling, size_t point, size_t contender,
                            bench_scale_figure get);

#endif
