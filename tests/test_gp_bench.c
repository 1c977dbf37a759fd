/* gp-bench as a user runs it, on the simulated device. */
#include "program.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "t_us,op,id,size,stream\n"

/* Three streams; blocks of each kind; one freed on another stream; one left live. */
#define SMALL_TRACE                                                                                \
    HEADER "0,a,1,4194304,0\n"                                                                     \
           "1,a,2,64,1\n"                                                                          \
           "2,a,3,70000,2\n"                                                                       \
           "3,f,1,4194304,0\n"                                                                     \
           "4,a,4,3000000,1\n"                                                                     \
           "5,f,3,70000,1\n"                                                                       \
           "6,a,5,8,2\n"                                                                           \
           "7,f,4,3000000,1\n"                                                                     \
           "8,f,2,64,1\n"

static char directory[] = "/tmp/gp_test_bench_XXXXXX";
static char trace_path[64];
static char json_path[64];
static program_run run;
static json_t *results;

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(ge(int, fputs(text, file), 0));
    cr_assert(eq(int, fclose(file), 0));
}

static void make_directory(void)
{
    cr_assert(ne(ptr, mkdtemp(directory), NULL));
    (void)snprintf(trace_path, sizeof(trace_path), "%s/small.csv", directory);
    (void)snprintf(json_path, sizeof(json_path), "%s/out.json", directory);
    write_text(trace_path, SMALL_TRACE);
}

static void remove_directory(void)
{
    json_decref(results);
    (void)unlink(trace_path);
    (void)unlink(json_path);
    (void)rmdir(directory);
}

TestSuite(gp_bench, .init = make_directory, .fini = remove_directory);

#define RUN(...) program_execute(&run, GP_BENCH_PROGRAM, __VA_ARGS__)

static void parse_results(size_t count)
{
    json_error_t error;
    results = json_loads(run.output, 0, &error);
    cr_assert(ne(ptr, results, NULL), "%s: %s", error.text, run.output);
    cr_assert(eq(int, json_typeof(results), JSON_ARRAY));
    cr_assert(eq(sz, json_array_size(results), count));
}

static json_t *member(size_t index, const char *key)
{
    json_t *value = json_object_get(json_array_get(results, index), key);
    cr_assert(ne(ptr, value, NULL), "\"%s\" is missing", key);
    return value;
}

static long long integer(size_t index, const char *key)
{
    cr_assert(eq(int, json_typeof(member(index, key)), JSON_INTEGER), "\"%s\" is no integer", key);
    return json_integer_value(member(index, key));
}

static double number(size_t index, const char *key)
{
    const json_t *value = member(index, key);
    bool is_number = json_is_number(value);
    cr_assert(is_number, "\"%s\" is no number", key);
    return json_number_value(value);
}

static char *string(size_t index, const char *key)
{
    cr_assert(eq(int, json_typeof(member(index, key)), JSON_STRING), "\"%s\" is no string", key);
    return (char *)json_string_value(member(index, key));
}

static bool is_null(size_t index, const char *key)
{
    return json_typeof(member(index, key)) == JSON_NULL;
}

static void assert_times(size_t index)
{
    static const char *const keys[] = {"alloc_ns_mean", "free_ns_mean",  "alloc_ns_p50",
                                       "alloc_ns_p99",  "alloc_ns_p999", "alloc_ns_max",
                                       "pair_ns",       "mpairs_per_s"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        cr_assert(ge(dbl, number(index, keys[i]), 0.0), "%s", keys[i]);
    cr_assert(le(dbl, number(index, "alloc_ns_p50"), number(index, "alloc_ns_p99")));
    cr_assert(le(dbl, number(index, "alloc_ns_p99"), number(index, "alloc_ns_p999")));
    cr_assert(le(dbl, number(index, "alloc_ns_p999"), number(index, "alloc_ns_max")));
}

static void assert_counts(size_t index)
{
    static const char *const keys[] = {"l1_hits", "l2_hits", "shared_hits", "native_allocs",
                                       "native_frees"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        cr_assert(integer(index, keys[i]) >= 0, "%s", keys[i]);
}

/* ---- replay ---- */

Test(gp_bench, replay_reports_every_field_of_each_pass)
{
    RUN("replay --device sim --trace '%s' --json -", GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(eq(str, string(i, "trace"), "bert_train_varlen_1stream"));
        cr_assert(eq(str, string(i, "policy"), "cache-first"));
        cr_assert(eq(str, string(i, "device"), "sim"));
        cr_assert(eq(str, string(i, "device_name"), "simulated device"));
        cr_assert(eq(str, string(i, "threads"), "one"));
        cr_assert(eq(str, string(i, "mode"), "attached"));
        cr_assert(eq(llong, integer(i, "pass"), (long long)i + 1));
        cr_assert(eq(llong, integer(i, "events"), 42639));
        cr_assert(eq(llong, integer(i, "hazards"), 0));
        assert_times(i);
        assert_counts(i);
        double live = number(i, "peak_live_bytes");
        double reserved = number(i, "peak_reserved_bytes");
        cr_assert(lt(dbl, 2643.0 * 1048576.0, live));
        cr_assert(epsilon_eq(dbl, number(i, "reserved_over_live"), reserved / live, 1e-6));
    }
}

Test(gp_bench, replay_holds_little_more_than_what_is_live)
{
    RUN("replay --device sim --trace '%s' --json -", GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    cr_assert(le(dbl, number(1, "reserved_over_live"), 1.5));
    cr_assert(ge(dbl, number(1, "reserved_over_live"), 1.0));
}

Test(gp_bench, replay_of_a_trace_that_gp_was_warmed_from_makes_no_native_call)
{
    RUN("replay --device sim --warm-from-trace --passes 3 --trace '%s' --json -", GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert(eq(int, json_typeof(member(i, "warmed")), JSON_TRUE));
        cr_assert(eq(llong, integer(i, "native_allocs"), 0));
        cr_assert(eq(llong, integer(i, "native_frees"), 0));
    }
}

Test(gp_bench, replay_warms_nothing_that_cannot_get_ready)
{
    RUN("replay --device sim --warm-from-trace --policy native --trace '%s'", GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 1));
    cr_assert(strstr(run.errors, "native: cannot be warmed from a trace") != NULL, "%s",
              run.errors);
}

Test(gp_bench, replay_within_a_limit_counts_what_it_refuses)
{
    RUN("replay --device sim --limit 50 --trace '%s' --json -", trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(eq(llong, integer(i, "limit_percent"), 50));
        cr_assert(eq(llong, integer(i, "refused"), 2)); /* of 4 MiB and of 3 MB */
        cr_assert(le(llong, integer(i, "gp_reserved_bytes_high"), (4194304 + 64 + 70000) / 2));
    }
}

Test(gp_bench, replay_completes_within_a_tenth_above_what_is_live)
{
    RUN("replay --device sim --limit 110 --trace '%s' --json -", GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(eq(llong, integer(i, "refused"), 0));
        cr_assert(eq(llong, integer(i, "hazards"), 0));
    }
}

Test(gp_bench, replay_bounds_nothing_that_knows_no_limit)
{
    RUN("replay --device sim --limit 110 --policy native --trace '%s'", GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 1));
    cr_assert(strstr(run.errors, "native: knows no limit") != NULL, "%s", run.errors);
}

Test(gp_bench, replay_plays_each_stream_by_a_thread_of_its_own)
{
    RUN("replay --device sim --threads per-stream --kernels --passes 3 --trace '%s' "
        "--json -",
        trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert(eq(str, string(i, "threads"), "per-stream"));
        cr_assert(eq(llong, integer(i, "thread_count"), 3));
        cr_assert(eq(llong, integer(i, "events"), 9));
        cr_assert(eq(llong, integer(i, "hazards"), 0));
        cr_assert(ge(dbl, number(i, "peak_live_bytes"), 4194304.0));
    }
}

Test(gp_bench, replay_plays_each_recorded_thread_by_one_of_its_own)
{
    write_text(trace_path, "gp-trace 2\nt_ns,op,id,size,stream,thread\n"
                           "0,a,1,512,0,7\n0,a,2,4194304,0,8\n0,f,1,0,1,8\n0,f,2,0,1,7\n"
                           "0,a,3,64,0,9\n0,e,0,5,0,0\n");

    RUN("replay --device sim --threads recorded --kernels --trace '%s' --json -", trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(eq(str, string(i, "threads"), "recorded"));
        cr_assert(eq(llong, integer(i, "thread_count"), 3));
        cr_assert(eq(llong, integer(i, "events"), 5));
        cr_assert(eq(llong, integer(i, "hazards"), 0));
    }
}

Test(gp_bench, replay_counts_the_peak_of_live_bytes_in_the_order_of_the_calls)
{
    RUN("replay --device sim --trace '%s' --json -", trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    cr_assert(eq(llong, integer(0, "peak_live_bytes"), 4194304 + 64 + 70000));
    cr_assert(eq(llong, integer(1, "peak_live_bytes"), 4194304 + 64 + 70000));
}

Test(gp_bench, replay_puts_policies_side_by_side)
{
    RUN("replay --device sim --policy cache-first,native --kernels --passes 1 "
        "--mode checked --trace '%s' --json -",
        trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    cr_assert(eq(str, string(0, "policy"), "cache-first"));
    cr_assert(eq(str, string(0, "mode"), "checked"));
    cr_assert(eq(str, string(1, "policy"), "native"));
    cr_assert(is_null(1, "mode"));
    cr_assert(eq(llong, integer(1, "native_allocs"), 5));
    cr_assert(eq(llong, integer(1, "native_frees"), 4));
    cr_assert(eq(llong, integer(1, "hazards"), 0));
}

Test(gp_bench, replay_records_a_pool_as_it_plays)
{
    RUN("replay --device sim --policy recorded --passes 1 --trace '%s' --json -", trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(1);
    cr_assert(eq(str, string(0, "policy"), "recorded"));
    cr_assert(eq(llong, integer(0, "hazards"), 0));
}

Test(gp_bench, warns_of_a_trace_that_lacks_events)
{
    write_text(trace_path, "gp-trace 2\nt_ns,op,id,size,stream,thread\n"
                           "0,a,1,512,0,0\n0,d,0,7,0,0\n0,e,0,2,0,0\n");

    RUN("replay --device sim --trace '%s' --json -", trace_path);

    cr_assert(eq(int, run.exit_code, 0));
    cr_assert(eq(str, run.errors, "gp-bench: small: 7 events were dropped when it was recorded\n"));
}

Test(gp_bench, replay_charges_native_calls_in_simulated_time)
{
    RUN("replay --device sim --policy native --trace '%s' --json -", trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    /* An allocation takes 650 ns there, a free 620, growth more. */
    cr_assert(ge(dbl, number(1, "sim_native_ns_mean"), 600.0));
}

Test(gp_bench, replay_takes_several_traces_after_one_option)
{
    RUN("replay --device sim --passes 1 --trace '%s' '%s' --json -", trace_path, trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(2);
    cr_assert(eq(str, string(1, "trace"), "small"));
}

Test(gp_bench, prints_a_table_for_people)
{
    RUN("replay --device sim --trace '%s'", trace_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    cr_assert(ne(ptr, strstr(run.output, "held/live"), NULL), "%s", run.output);
    cr_assert(ne(ptr, strstr(run.output, "simulated"), NULL), "%s", run.output);
    cr_assert(eq(str, run.errors, ""));
}

Test(gp_bench, writes_json_to_a_file)
{
    RUN("replay --device sim --trace '%s' --json '%s'", trace_path, json_path);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    cr_assert(eq(str, run.output, ""));
    json_t *written = json_load_file(json_path, 0, NULL);
    cr_assert(eq(sz, json_array_size(written), 2));
    json_decref(written);
}

/* ---- wrong input ---- */

Test(gp_bench, names_the_line_of_a_wrong_trace_and_runs_nothing)
{
    char expected[128];
    write_text(trace_path, HEADER "0,a,1,512,0\n1,f,2,512,0\n");
    (void)snprintf(expected, sizeof(expected),
                   "gp-bench: %s:3: id 2 is freed but was never allocated\n", trace_path);

    RUN("replay --device sim --trace '%s' --json '%s'", trace_path, json_path);

    cr_assert(eq(int, run.exit_code, 2));
    cr_assert(eq(str, run.errors, expected));
    cr_assert(eq(str, run.output, ""));
    cr_assert(ne(int, access(json_path, F_OK), 0), "results were written");
}

Test(gp_bench, runs_nothing_if_the_last_of_several_traces_is_wrong)
{
    RUN("replay --device sim --trace '%s' /nonexistent.csv.gz", trace_path);

    cr_assert(eq(int, run.exit_code, 2));
    cr_assert(eq(str, run.errors, "gp-bench: /nonexistent.csv.gz: No such file or directory\n"));
    cr_assert(eq(str, run.output, ""));
}

Test(gp_bench, refuses_wrong_arguments)
{
    static const char *const wrong[] = {
        "",
        "measure",
        "replay",
        "replay --trace x --policy fastest",
        "replay --trace x --device tpu",
        "replay --trace x --mode loose",
        "replay --trace x --threads 3",
        "replay --trace x --passes 0",
        "replay --trace x --passes 2x",
        "replay --trace x --limit 0",
        "replay --trace x --limit 110%",
        "hit --threads 0",
        "hit --threads -1",
        "hit --bytes 0",
        "hit --bytes some",
        "hit --unknown",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        RUN("%s", wrong[i]);
        cr_assert(eq(int, run.exit_code, 2), "gp-bench %s", wrong[i]);
        cr_assert(ne(str, run.errors, ""), "gp-bench %s", wrong[i]);
        cr_assert(eq(str, run.output, ""), "gp-bench %s", wrong[i]);
    }
}

Test(gp_bench, finds_out_before_the_run_that_json_cannot_be_written)
{
    RUN("replay --device sim --trace '%s' --json /nonexistent/out.json", trace_path);

    cr_assert(eq(int, run.exit_code, 1));
    cr_assert(eq(str, run.errors, "gp-bench: /nonexistent/out.json: No such file or directory\n"));
}

Test(gp_bench, explains_its_commands)
{
    RUN("--help");
    cr_assert(eq(int, run.exit_code, 0));
    cr_assert(ne(ptr, strstr(run.output, "replay"), NULL));
    RUN("replay --help");
    cr_assert(eq(int, run.exit_code, 0));
    cr_assert(ne(ptr, strstr(run.output, "--kernels"), NULL));
    RUN("hit --help");
    cr_assert(eq(int, run.exit_code, 0));
    cr_assert(ne(ptr, strstr(run.output, "--bytes"), NULL));
    RUN("--version");
    cr_assert(eq(int, run.exit_code, 0));
}

/* ---- tail ---- */

Test(gp_bench, tail_names_the_longest_call_of_each_pass_and_what_it_did)
{
    RUN("tail --device sim --passes 3 --policy cache-first,native --trace '%s' --json -",
        GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(6);
    for (size_t i = 0; i < 6; i++) {
        const double most = number(i, "alloc_ns_max") > number(i, "free_ns_max")
                                ? number(i, "alloc_ns_max")
                                : number(i, "free_ns_max");
        const json_t *longest = member(i, "longest");
        const char *cause = json_string_value(json_object_get(longest, "cause"));
        cr_assert(le(dbl, number(i, "alloc_ns_p999"), number(i, "alloc_ns_p9999")));
        cr_assert(le(dbl, number(i, "alloc_ns_p9999"), number(i, "alloc_ns_max")));
        cr_assert(eq(dbl, json_number_value(json_object_get(longest, "ns")), most));
        cr_assert(
            lt(llong, json_integer_value(json_object_get(longest, "event")), integer(i, "events")));
        cr_assert(ne(ptr, (void *)(uintptr_t)cause, NULL));
        cr_assert(eq(int, strcmp(cause, "native") == 0, i >= 3));
    }
}

Test(gp_bench, tail_prints_a_table_for_people)
{
    RUN("tail --device sim --threads per-stream --trace '%s'", GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    cr_assert(strstr(run.output, "p99.99") != NULL, "%s", run.output);
    cr_assert(strstr(run.output, " bytes on stream 0, event ") != NULL, "%s", run.output);
}

/* ---- hit ---- */

Test(gp_bench, hit_stands_beside_malloc_and_the_native_pool)
{
    RUN("hit --device sim --bytes 65536 --rounds 1 --json -");

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(1);
    assert_times(0);
    assert_counts(0);
    cr_assert(eq(llong, integer(0, "threads"), 1));
    cr_assert(eq(llong, integer(0, "bytes"), 65536));
    cr_assert(eq(str, string(0, "mode"), "attached"));
    cr_assert(is_null(0, "trace"));
    cr_assert(is_null(0, "pass"));
    cr_assert(is_null(0, "hazards"));
    cr_assert(lt(dbl, 0.0, number(0, "pair_ns")));
    cr_assert(lt(dbl, 0.0, number(0, "malloc_pair_ns")));
    cr_assert(lt(dbl, 0.0, number(0, "native_pair_ns")));
    cr_assert(epsilon_eq(dbl, number(0, "pair_over_malloc"),
                         number(0, "pair_ns") / number(0, "malloc_pair_ns"), 1e-3));
    cr_assert(epsilon_eq(dbl, number(0, "native_over_gp"),
                         number(0, "native_pair_ns") / number(0, "pair_ns"), 1e-2));
}

Test(gp_bench, hit_runs_random_sizes_on_several_threads)
{
    RUN("hit --device sim --mode checked --bytes random --threads 2 --rounds 1 --json -");

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(1);
    cr_assert(eq(llong, integer(0, "threads"), 2));
    cr_assert(eq(str, string(0, "bytes"), "random"));
    cr_assert(eq(str, string(0, "mode"), "checked"));
}

Test(gp_bench, hit_measures_the_native_pool_alone_as_well)
{
    RUN("hit --device sim --policy native --bytes 4096 --rounds 1 --json -");

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    parse_results(1);
    cr_assert(eq(str, string(0, "policy"), "native"));
    cr_assert(is_null(0, "native_pair_ns"));
}

Test(gp_bench, hit_prints_a_table_for_people)
{
    RUN("hit --device sim --bytes 4096 --rounds 1");

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    cr_assert(ne(ptr, strstr(run.output, "malloc(64) + free"), NULL), "%s", run.output);
}
