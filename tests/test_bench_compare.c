/* gp-bench compare as a user runs it, on the simulated device. */
#include "bench_fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(bench_compare, .init = bench_fixture_init, .fini = bench_fixture_fini);

#define RUN(...) program_execute(&bench_run, GP_BENCH_PROGRAM, "compare " __VA_ARGS__)

/* The fields of replay, which a comparison has too. */
static const char *const replay_fields[] = {
    "command",
    "trace",
    "policy",
    "device",
    "device_name",
    "threads",
    "thread_count",
    "mode",
    "pass",
    "kernels",
    "events",
    "alloc_ns_mean",
    "free_ns_mean",
    "alloc_ns_p50",
    "alloc_ns_p99",
    "alloc_ns_p999",
    "alloc_ns_max",
    "free_ns_p50",
    "free_ns_p99",
    "free_ns_p999",
    "free_ns_max",
    "pair_ns",
    "mpairs_per_s",
    "sim_native_ns_mean",
    "peak_live_bytes",
    "peak_reserved_bytes",
    "reserved_over_live",
    "gp_reserved_bytes_high",
    "l1_hits",
    "l2_hits",
    "shared_hits",
    "native_allocs",
    "native_frees",
    "hazards",
};

Test(bench_compare, has_the_fields_of_replay_for_every_combination)
{
    RUN("--device sim --policy first-fit,best-fit,cache-first --rounds 2 --trace '%s' --json '%s'",
        bench_trace_path, bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(3 * 4);
    for (size_t i = 0; i < 3 * 4; i++) {
        for (size_t j = 0; j < sizeof(replay_fields) / sizeof(replay_fields[0]); j++)
            (void)bench_member(i, replay_fields[j]);
        cr_assert(eq(str, bench_string(i, "command"), "compare"));
        cr_assert(eq(llong, bench_integer(i, "events"), 9));
        cr_assert(eq(llong, bench_integer(i, "rounds"), 2));
        cr_assert(eq(llong, bench_integer(i, "hazards"), 0));
    }
}

Test(bench_compare, plays_every_trace_in_every_way_with_every_policy)
{
    static const char *const policies[] = {"cache-first", "native"};

    RUN("--device sim --policy cache-first,native --rounds 1 --trace '%s' --json '%s'",
        bench_trace_path, bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(8);
    for (size_t i = 0; i < 8; i++) {
        cr_assert(eq(str, bench_string(i, "policy"), (char *)policies[i % 2]));
        cr_assert(eq(str, bench_string(i, "threads"), i < 4 ? "one" : "per-stream"));
        cr_assert(eq(int, json_typeof(bench_member(i, "kernels")),
                     i / 2 % 2 == 1 ? JSON_TRUE : JSON_FALSE));
    }
}

Test(bench_compare, takes_ratios_to_the_native_pool_unless_told_otherwise)
{
    RUN("--device sim --policy cache-first,native --rounds 3 --threads one --load idle "
        "--trace '%s' --json '%s'",
        bench_trace_path, bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(2);
    cr_assert(eq(str, bench_string(0, "baseline"), "native"));
    cr_assert(eq(dbl, bench_number(1, "pair_over_baseline"), 1.0));
    cr_assert(lt(dbl, 0.0, bench_number(0, "pair_over_baseline")));
}

Test(bench_compare, reports_the_round_in_the_middle_with_its_spread)
{
    RUN("--device sim --policy cache-first --rounds 3 --threads one --load idle --trace '%s' "
        "--json '%s'",
        bench_trace_path, bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(1);
    const json_t *spread = json_object_get(bench_member(0, "spread"), "pair_ns");
    double median = json_number_value(json_object_get(spread, "median"));
    cr_assert(epsilon_eq(dbl, bench_number(0, "pair_ns"), median, 1e-3));
    cr_assert(le(dbl, json_number_value(json_object_get(spread, "min")), median));
    cr_assert(ge(dbl, json_number_value(json_object_get(spread, "max")), median));
}

Test(bench_compare, samples_what_is_held_over_a_pass)
{
    RUN("--device sim --policy cache-first --rounds 1 --threads one --load idle --trace '%s' "
        "--json '%s'",
        GP_BENCH_TRACE, bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(1);
    const json_t *samples = bench_member(0, "memory");
    cr_assert(le(sz, 200, json_array_size(samples)));
    const json_t *sample = json_array_get(samples, 100);
    json_int_t live = json_integer_value(json_object_get(sample, "live_bytes"));
    json_int_t reserved = json_integer_value(json_object_get(sample, "reserved_bytes"));
    cr_assert(lt(llong, 0, live));
    cr_assert(le(llong, live, reserved));
}

Test(bench_compare, writes_one_page_with_charts_that_needs_nothing_from_outside)
{
    RUN("--device sim --policy cache-first,native --rounds 1 --trace '%s' --html '%s'",
        GP_BENCH_TRACE, bench_html_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    char *page = bench_read_file(bench_html_path);
    cr_assert(ne(ptr, strstr(page, "<svg"), NULL));
    cr_assert(ne(ptr, strstr(page, "bert_train_varlen_1stream"), NULL));
    cr_assert(ne(ptr, strstr(page, "Held over live"), NULL));
    cr_assert(eq(ptr, strstr(page, "<script"), NULL));
    cr_assert(eq(ptr, strstr(page, "<link"), NULL));
    cr_assert(eq(ptr, strstr(page, "src="), NULL));
    free(page);
}

Test(bench_compare, says_on_the_page_where_a_chart_is_missing)
{
    program_execute(&bench_run, "/usr/bin/env",
                    "PATH=/nonexistent '%s' compare --device sim --policy cache-first --rounds 1 "
                    "--trace '%s' --html '%s'",
                    GP_BENCH_PROGRAM, bench_trace_path, bench_html_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    char *page = bench_read_file(bench_html_path);
    cr_assert(eq(ptr, strstr(page, "<svg"), NULL));
    cr_assert(ne(ptr, strstr(page, "gnuplot could not be run"), NULL));
    free(page);
}

Test(bench_compare, writes_a_line_of_csv_for_every_object)
{
    RUN("--device sim --policy cache-first --rounds 1 --trace '%s' --csv '%s'", bench_trace_path,
        bench_csv_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    char *text = bench_read_file(bench_csv_path);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    cr_assert(eq(sz, lines, 5));
    cr_assert(eq(int, strncmp(text, "trace,policy,threads,", 21), 0));
    free(text);
}

Test(bench_compare, measures_a_policy_from_a_shared_library)
{
    RUN("--device sim --policy '%s,cache-first' --rounds 1 --trace '%s' --json '%s'",
        GP_NEXT_FIT_FILE, bench_trace_path, bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    bench_load_results(8);
    cr_assert(eq(str, bench_string(0, "policy"), "next-fit"));
    cr_assert(eq(llong, bench_integer(0, "hazards"), 0));
}

Test(bench_compare, names_the_peers_it_had_to_do_without)
{
    RUN("--device sim --policy cache-first,cub,torch --rounds 1 --trace '%s'", bench_trace_path);

    cr_assert(eq(int, bench_run.exit_code, 0), "%s", bench_run.errors);
    cr_assert(ne(ptr, strstr(bench_run.output, "not measured: cub ("), NULL));
    cr_assert(ne(ptr, strstr(bench_run.output, "not measured: torch ("), NULL));
}

Test(bench_compare, refuses_wrong_arguments)
{
    static const char *const wrong[] = {
        "",
        "--trace x --policy fastest",
        "--trace x --policy ./nonexistent.so",
        "--trace x --threads two",
        "--trace x --load heavy",
        "--trace x --rounds 0",
        "--trace /nonexistent.csv.gz",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        RUN("--device sim %s", wrong[i]);
        cr_assert(eq(int, bench_run.exit_code, 2), "gp-bench compare %s", wrong[i]);
        cr_assert(ne(str, bench_run.errors, ""), "gp-bench compare %s", wrong[i]);
        cr_assert(eq(str, bench_run.output, ""), "gp-bench compare %s", wrong[i]);
    }
}

Test(bench_compare, refuses_a_baseline_that_is_not_measured)
{
    RUN("--device sim --policy cache-first --baseline native --trace '%s' --json '%s'",
        bench_trace_path, bench_json_path);

    cr_assert(eq(int, bench_run.exit_code, 2));
    cr_assert(ne(ptr, strstr(bench_run.errors, "--baseline \"native\""), NULL));
}

Test(bench_compare, finds_out_before_the_run_that_the_page_cannot_be_written)
{
    RUN("--device sim --trace '%s' --html /nonexistent/out.html", bench_trace_path);

    cr_assert(eq(int, bench_run.exit_code, 1));
    cr_assert(
        eq(str, bench_run.errors, "gp-bench: /nonexistent/out.html: No such file or directory\n"));
}
