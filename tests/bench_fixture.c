#include "bench_fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Three streams; blocks of each kind; one freed on another stream; one left live. */
static const char small_trace[] = "t_us,op,id,size,stream\n"
                                  "0,a,1,4194304,0\n"
                                  "1,a,2,64,1\n"
                                  "2,a,3,70000,2\n"
                                  "3,f,1,4194304,0\n"
                                  "4,a,4,3000000,1\n"
                                  "5,f,3,70000,1\n"
                                  "6,a,5,8,2\n"
                                  "7,f,4,3000000,1\n"
                                  "8,f,2,64,1\n";

static char directory[] = "/tmp/gp_test_bench_XXXXXX";
static json_t *results;

char bench_trace_path[64];
char bench_json_path[64];
char bench_html_path[64];
char bench_csv_path[64];
program_run bench_run;

void bench_fixture_init(void)
{
    cr_assert(ne(ptr, mkdtemp(directory), NULL));
    (void)snprintf(bench_trace_path, sizeof(bench_trace_path), "%s/small.csv", directory);
    (void)snprintf(bench_json_path, sizeof(bench_json_path), "%s/out.json", directory);
    (void)snprintf(bench_html_path, sizeof(bench_html_path), "%s/out.html", directory);
    (void)snprintf(bench_csv_path, sizeof(bench_csv_path), "%s/out.csv", directory);

    FILE *file = fopen(bench_trace_path, "w");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(ge(int, fputs(small_trace, file), 0));
    cr_assert(eq(int, fclose(file), 0));
}

void bench_fixture_fini(void)
{
    json_decref(results);
    (void)unlink(bench_trace_path);
    (void)unlink(bench_json_path);
    (void)unlink(bench_html_path);
    (void)unlink(bench_csv_path);
    (void)rmdir(directory);
}

void bench_load_results(size_t count)
{
    json_error_t error;
    results = json_load_file(bench_json_path, 0, &error);
    cr_assert(ne(ptr, results, NULL), "%s", error.text);
    cr_assert(eq(int, json_typeof(results), JSON_ARRAY));
    cr_assert(eq(sz, json_array_size(results), count));
}

json_t *bench_member(size_t index, const char *key)
{
    json_t *value = json_object_get(json_array_get(results, index), key);
    cr_assert(ne(ptr, value, NULL), "\"%s\" is missing", key);
    return value;
}

long long bench_integer(size_t index, const char *key)
{
    cr_assert(eq(int, json_typeof(bench_member(index, key)), JSON_INTEGER), "\"%s\"", key);
    return json_integer_value(bench_member(index, key));
}

double bench_number(size_t index, const char *key)
{
    const json_t *value = bench_member(index, key);
    bool is_number = json_is_number(value);
    cr_assert(is_number, "\"%s\" is no number", key);
    return json_number_value(value);
}

char *bench_string(size_t index, const char *key)
{
    cr_assert(eq(int, json_typeof(bench_member(index, key)), JSON_STRING), "\"%s\"", key);
    return (char *)json_string_value(bench_member(index, key));
}

char *bench_read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert(ne(ptr, file, NULL), "%s is missing", path);
    cr_assert(eq(int, fseek(file, 0, SEEK_END), 0));
    size_t bytes = (size_t)ftell(file);
    char *text = calloc(1, bytes + 1);
    cr_assert(ne(ptr, text, NULL));
    rewind(file);
    cr_assert(eq(sz, fread(text, 1, bytes, file), bytes));
    cr_assert(eq(int, fclose(file), 0));
    return text;
}
