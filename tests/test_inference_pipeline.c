/* The example as a user runs it, on the simulated device. */
#include "program.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <jansson.h>
#include <string.h>

static program_run run;

/* By itself in each round, and all rounds saw the same machine. */
static void assert_ceiling_is_its_own(json_t *row)
{
    json_t *spread = json_object_get(row, "p99_of_ceiling_spread");
    cr_assert(eq(dbl, json_number_value(json_object_get(spread, "min")), 1.0));
    cr_assert(eq(dbl, json_number_value(json_object_get(spread, "max")), 1.0));
}

static void assert_row(json_t *row, const char *memory, long long threads)
{
    cr_assert(eq(str, (char *)json_string_value(json_object_get(row, "memory")), (char *)memory));
    cr_assert(eq(llong, json_integer_value(json_object_get(row, "threads")), threads));
    cr_assert(lt(dbl, 0.0, json_number_value(json_object_get(row, "requests_per_s"))));
    cr_assert(lt(dbl, 0.0, json_number_value(json_object_get(row, "of_ceiling"))));
    cr_assert(lt(dbl, 0.0, json_number_value(json_object_get(row, "over_native"))));
    cr_assert(le(dbl, json_number_value(json_object_get(row, "p50_us")),
                 json_number_value(json_object_get(row, "p99_us"))));
    cr_assert(lt(dbl, 0.0, json_number_value(json_object_get(row, "p99_of_ceiling"))));
    cr_assert(lt(llong, 0, json_integer_value(json_object_get(row, "peak_reserved_bytes"))));
}

Test(inference_pipeline, compares_four_sources_without_a_hazard)
{
    static const char *const memories[] = {"preallocated", "gp attached", "gp checked", "native"};

    program_execute(&run, INFERENCE_PIPELINE,
                    "--device sim --threads 1,3 --rounds 2 --round-ms 20 --json -");

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    json_t *report = json_loads(run.output, 0, NULL);
    cr_assert(ne(ptr, report, NULL), "%s", run.output);
    cr_assert(eq(llong, json_integer_value(json_object_get(report, "hazards")), 0));
    json_t *rows = json_object_get(report, "rows");
    cr_assert(eq(sz, json_array_size(rows), 8));
    for (size_t i = 0; i < 8; i++)
        assert_row(json_array_get(rows, i), memories[i % 4], i < 4 ? 1 : 3);
    assert_ceiling_is_its_own(json_array_get(rows, 0));
    json_decref(report);
}

Test(inference_pipeline, says_that_a_simulated_device_takes_no_time)
{
    program_execute(&run, INFERENCE_PIPELINE, "--device sim --threads 1 --rounds 1 --round-ms 20");

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    cr_assert(ne(ptr, strstr(run.output, "kernels take no real time"), NULL), "%s", run.output);
    cr_assert(ne(ptr, strstr(run.output, "of the ceiling"), NULL), "%s", run.output);
}

Test(inference_pipeline, refuses_wrong_arguments)
{
    static const char *const wrong[] = {"--threads 0", "--threads 1,,2", "--kernel fast",
                                        "--rounds x", "--unknown"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        program_execute(&run, INFERENCE_PIPELINE, "%s", wrong[i]);
        cr_assert(eq(int, run.exit_code, 2), "%s", wrong[i]);
        cr_assert(ne(str, run.errors, ""), "%s", wrong[i]);
    }
}

Test(inference_pipeline, names_a_device_that_does_not_exist)
{
    program_execute(&run, INFERENCE_PIPELINE, "--device tpu");

    cr_assert(eq(int, run.exit_code, 1));
    cr_assert(ne(ptr, strstr(run.errors, "tpu"), NULL), "%s", run.errors);
}
