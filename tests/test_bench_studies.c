/* gp-bench scale and fragment as a user runs them, on the simulated device. */
#include "bench_fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

TestSuite(bench_studies, .init = bench_fixture_init, .fini = bench_fixture_fini);

#define RUN(...) program_execute(&bench_run, GP_BENCH_PROGRAM, __VA_ARGS__)

Test(bench_studies, scale_lets_one_thing_grow_at_a_time)
{
    static const char *const axes[] = {"threads", "threads", "streams", "streams", "live", "live"};
    static const long long threads[] = {1, 2, 1, 1, 1, 1};
    static const long long streams[] = {1, 2, 1, 4, 1, 1};
    static const long long live[] = {64, 128, 4096, 4096, 1000, 2000};

    RUN("scale --device sim --policy best-fit --rounds 1 --threads 2 --streams 4 --live 2000 "
        "--json '%s'",
        bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(6);
    for (size_t i = 0; i < 6; i++) {
        cr_assert(eq(str, bench_string(i, "axis"), (char *)axes[i]));
        cr_assert(eq(llong, bench_integer(i, "thread_count"), threads[i]));
        cr_assert(eq(llong, bench_integer(i, "stream_count"), streams[i]));
        cr_assert(eq(llong, bench_integer(i, "live_blocks"), live[i]));
        cr_assert(lt(dbl, 0.0, bench_number(i, "pair_ns")));
        cr_assert(lt(dbl, 0.0, bench_number(i, "alloc_ns_p99")));
    }
    cr_assert(eq(dbl, bench_number(4, "pair_over_first"), 1.0));
    cr_assert(epsilon_eq(dbl, bench_number(5, "pair_over_first"),
                         bench_number(5, "pair_ns") / bench_number(4, "pair_ns"), 1e-6));
}

Test(bench_studies, scale_measures_one_axis_alone)
{
    RUN("scale --device sim --policy cache-first,native --rounds 1 --axis live --live 1000 "
        "--json '%s' --html '%s' --csv '%s'",
        bench_json_path, bench_html_path, bench_csv_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(2);
    char *page = bench_read_file(bench_html_path);
    cr_assert(ne(ptr, strstr(page, "<svg"), NULL));
    free(page);
    char *lines = bench_read_file(bench_csv_path);
    cr_assert(ne(ptr, strstr(lines, "\nlive,1000,native,sim,1,"), NULL));
    free(lines);
}

Test(bench_studies, fragment_samples_what_is_held_and_what_of_it_is_free)
{
    RUN("fragment --device sim --policy best-fit --operations 20000 --live 32 --json '%s'",
        bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(1);
    const json_t *samples = bench_member(0, "samples");
    cr_assert(eq(sz, json_array_size(samples), 240));
    for (size_t i = 0; i < 240; i++) {
        const json_t *sample = json_array_get(samples, i);
        json_int_t reserved = json_integer_value(json_object_get(sample, "reserved_bytes"));
        json_int_t live = json_integer_value(json_object_get(sample, "live_bytes"));
        json_int_t free_bytes = json_integer_value(json_object_get(sample, "free_bytes"));
        cr_assert(le(llong, live + free_bytes, reserved), "sample %zu", i);
        cr_assert(le(dbl, json_number_value(json_object_get(sample, "fragmentation")), 1.0));
    }
    cr_assert(le(llong, bench_integer(0, "peak_live_bytes"), 32LL << 20));
    cr_assert(le(dbl, 1.0, bench_number(0, "reserved_over_live")));
}

Test(bench_studies, fragment_says_nothing_of_holes_that_nobody_knows)
{
    RUN("fragment --device sim --policy native --operations 5000 --live 16 --json '%s'",
        bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(1);
    cr_assert(eq(int, json_typeof(bench_member(0, "fragmentation_mean")), JSON_NULL));
}

Test(bench_studies, fragment_writes_a_page_and_a_table)
{
    RUN("fragment --device sim --policy best-fit,native --operations 5000 --live 16 --html '%s'",
        bench_html_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    cr_assert(ne(ptr, strstr(bench_run.output, "best-fit"), NULL));
    char *page = bench_read_file(bench_html_path);
    cr_assert(ne(ptr, strstr(page, "<svg"), NULL));
    free(page);
}

Test(bench_studies, refuse_wrong_arguments)
{
    static const char *const wrong[] = {
        "scale --axis width",    "scale --threads 0",        "scale --live none",
        "fragment --live 0",     "fragment --operations -1", "fragment --trace x",
        "scale --policy nobody",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        RUN("%s --device sim", wrong[i]);
        cr_assert(eq(int, bench_run.exit_code, 2), "gp-bench %s", wrong[i]);
        cr_assert(eq(str, bench_run.output, ""), "gp-bench %s", wrong[i]);
    }
}
