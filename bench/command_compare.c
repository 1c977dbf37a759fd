/* gp-bench compare */
#include "commands.h"
#include "compare.h"
#include "report_compare.h"
#include "trace_set.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the combinations ---- */

static size_t mode_count(const bool chosen[2])
{
    return (chosen[0] ? 1u : 0u) + (chosen[1] ? 1u : 0u);
}

static void destroy_comparison(bench_comparison *comparison)
{
    for (size_t i = 0; comparison->combinations != NULL && i < comparison->count; i++)
        free(comparison->combinations[i].cells);
    free(comparison->combinations);
}

static bool make_comparison(bench_comparison *comparison, const bench_options *options)
{
    comparison->count =
        options->trace_count * mode_count(options->thread_modes) * mode_count(options->loads);
    if (comparison->count == 0)
        return false;
    comparison->combinations = calloc(comparison->count, sizeof(*comparison->combinations));
    bool enough = comparison->combinations != NULL;
    for (size_t i = 0; i < comparison->count && enough; i++) {
        bench_cell *cells = calloc(options->lineup.count, sizeof(*cells));
        comparison->combinations[i].cells = cells;
        enough = cells != NULL;
    }
    return enough;
}

/* The events of all passes, by which progress is told. */
static size_t step_count(const bench_options *options, const bench_trace *trace,
                         const bench_compare *compare)
{
    size_t passes = 0;
    for (size_t i = 0; i < options->lineup.count; i++)
        passes += bench_compare_passes(compare, options->lineup.contenders[i]);
    return passes * trace->event_count * mode_count(options->thread_modes) *
           mode_count(options->loads);
}

/* All ways of playing one trace. */
static bool run_trace(const bench_options *options, bench_compare *compare,
                      const bench_trace *trace, bench_combination **next)
{
    bool sound = true;
    for (size_t mode = 0; mode < 4 && sound; mode++) {
        if (!options->thread_modes[mode / 2] || !options->loads[mode % 2])
            continue;
        bench_combination *combination = (*next)++;
        combination->trace = trace->name;
        combination->per_stream = compare->per_stream = mode / 2 == 1;
        combination->kernels = compare->kernels = mode % 2 == 1;
        compare->with_memory = mode == 0;
        sound = bench_compare_run(compare, trace, combination->cells);
    }
    return sound;
}

static bool run_all(const bench_options *options, const device_ops *device,
                    const bench_trace *traces, bench_comparison *comparison)
{
    bench_ticks ticks;
    bench_progress progress;
    bench_ticks_calibrate(&ticks);
    bench_compare compare = {
        .device = device,
        .ticks = &ticks,
        .lineup = &options->lineup,
        .baseline = comparison->baseline,
        .mode = options->mode,
        .with_memory = true,
        .rounds = options->rounds,
        .progress = &progress,
    };
    size_t steps = 0;
    for (size_t i = 0; i < options->trace_count; i++)
        steps += step_count(options, &traces[i], &compare);

    bool sound = true;
    bench_combination *next = comparison->combinations;
    bench_progress_begin(&progress, steps);
    for (size_t i = 0; i < options->trace_count && sound; i++)
        sound = run_trace(options, &compare, &traces[i], &next);
    bench_progress_end(&progress);
    return sound;
}

/* ---- the reports ---- */

/* A contender that failed is named, and the others are reported all the same. */
static int say_failures(const bench_comparison *comparison)
{
    int code = BENCH_EXIT_OK;
    for (size_t i = 0; i < comparison->count; i++) {
        for (size_t j = 0; j < comparison->lineup->count; j++) {
            const bench_cell *cell = &comparison->combinations[i].cells[j];
            if (cell->failed)
                code = bench_command_fail(BENCH_EXIT_FAILED, cell->error);
        }
    }
    return code;
}

static int report(const bench_options *options, const bench_comparison *comparison)
{
    int code = say_failures(comparison);
    if (options->json != NULL)
        code |= bench_command_written(bench_report_compare_json(comparison, options->json),
                                      options->json);
    else
        bench_report_compare_table(comparison, stdout);
    if (options->csv != NULL)
        code |=
            bench_command_written(bench_report_compare_csv(comparison, options->csv), options->csv);
    if (options->html != NULL)
        code |= bench_command_written(bench_report_compare_html(comparison, options->html),
                                      options->html);
    return code;
}

static int compare_and_report(const bench_options *options, const device_ops *device,
                              const bench_trace *traces)
{
    bench_comparison comparison = {
        .lineup = &options->lineup,
        .baseline = bench_command_find_baseline(options),
        .device = device->name,
        .simulated = device->kind == GP_BACKEND_SIM,
        .rounds = options->rounds,
    };
    if (comparison.baseline == SIZE_MAX)
        return BENCH_EXIT_USAGE;
    if (device->get_name(0, comparison.device_name, sizeof(comparison.device_name)) != DEVICE_OK)
        (void)snprintf(comparison.device_name, sizeof(comparison.device_name), "unknown");

    int code = BENCH_EXIT_FAILED;
    if (make_comparison(&comparison, options) && run_all(options, device, traces, &comparison))
        code = report(options, &comparison);
    else
        code = bench_command_fail(BENCH_EXIT_FAILED, "out of memory");
    destroy_comparison(&comparison);
    return code;
}

static int run_with_traces(bench_options *options, const bench_trace *traces)
{
    const device_ops *device = bench_command_open_study(options);
    if (device == NULL)
        return BENCH_EXIT_FAILED;
    int code = compare_and_report(options, device, traces);
    device->close(0);
    return code;
}

int bench_command_compare(int argc, char **argv)
{
    bench_options options;
    bench_options_parse_compare(&options, argc, argv);
    bench_trace *traces = bench_traces_read(options.traces, options.trace_count);
    int code = traces != NULL ? run_with_traces(&options, traces) : BENCH_EXIT_USAGE;
    bench_traces_destroy(traces, options.trace_count);
    bench_options_destroy(&options);
    return code;
}
