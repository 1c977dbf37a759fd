/* Runs of gp-bench that write JSON: a small trace, a folder for files, and what was written. */
#ifndef GP_TESTS_BENCH_FIXTURE_H
#define GP_TESTS_BENCH_FIXTURE_H

#include "program.h"

#include <jansson.h>
#include <stddef.h>

extern char bench_trace_path[64];
extern char bench_json_path[64];
extern char bench_html_path[64];
extern char bench_csv_path[64];
extern program_run bench_run;

/* For .init and .fini of a suite. */
void bench_fixture_init(void);
void bench_fixture_fini(void);

/* Read what the run wrote to bench_json_path: an array of so many objects. */
void bench_load_results(size_t count);

/* Members of the n-th object, which must be there and of that type. */
json_t *bench_member(size_t index, const char *key);
long long bench_integer(size_t index, const char *key);
double bench_number(size_t index, const char *key);
char *bench_string(size_t index, const char *key);

/* The text of a file, to be freed. */
char *bench_read_file(const char *path);

#endif
