/* What `fragment` found on paper: a table, JSON, CSV and a page. */
#ifndef GP_BENCH_REPORT_FRAGMENT_H
#define GP_BENCH_REPORT_FRAGMENT_H

#include "fragment.h"
#include "lineup.h"
#include "result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Everything that one run of `fragment` found. */
typedef struct bench_fragmentation {
    const bench_lineup *lineup;
    const char *device;
    char device_name[BENCH_DEVICE_NAME_CHARS];
    bool simulated;
    const char *mode;
    size_t operations;
    size_t live_bytes;              /* as asked for */
    bench_fragment_result *results; /* of each contender, in order */
} bench_fragmentation;

void bench_report_fragment_table(const bench_fragmentation *found, FILE *out);

/* False, and errno is set, if the file cannot be written. */
bool bench_report_fragment_json(const bench_fragmentation *found, const char *path);
bool bench_report_fragment_csv(const bench_fragmentation *found, const char *path);
bool bench_report_fragment_html(const bench_fragmentation *found, const char *path);

#endif
