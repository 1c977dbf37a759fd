/* gp-bench fragment */
#include "commands.h"
#include "fragment.h"
#include "report_fragment.h"

#include <stdio.h>
#include <stdlib.h>

static int run_all(const bench_options *options, const device_ops *device,
                   bench_fragmentation *found)
{
    int code = BENCH_EXIT_OK;
    bench_ticks ticks;
    bench_progress progress;
    bench_ticks_calibrate(&ticks);
    const bench_fragment fragment = {
        .device = device,
        .ticks = &ticks,
        .mode = options->mode,
        .operations = options->operations,
        .live_bytes = options->live_bytes,
        .progress = &progress,
    };
    bench_progress_begin(&progress, options->operations * options->lineup.count);
    for (size_t i = 0; i < options->lineup.count; i++) {
        const bench_contender_ops *ops = options->lineup.contenders[i];
        bench_fragment_run(&fragment, ops, &found->results[i]);
        if (!found->results[i].failed)
            continue;
        bench_progress_end(&progress);
        (void)fprintf(stderr, "gp-bench: %s: %s\n", ops->name, found->results[i].error);
        code = BENCH_EXIT_FAILED;
    }
    bench_progress_end(&progress);
    return code;
}

static int report(const bench_options *options, const bench_fragmentation *found)
{
    int code = BENCH_EXIT_OK;
    if (options->json != NULL)
        code |=
            bench_command_written(bench_report_fragment_json(found, options->json), options->json);
    else
        bench_report_fragment_table(found, stdout);
    if (options->csv != NULL)
        code |= bench_command_written(bench_report_fragment_csv(found, options->csv), options->csv);
    if (options->html != NULL)
        code |=
            bench_command_written(bench_report_fragment_html(found, options->html), options->html);
    return code;
}

static int fragment_and_report(const bench_options *options, const device_ops *device)
{
    bench_fragmentation found = {
        .lineup = &options->lineup,
        .device = device->name,
        .simulated = device->kind == GP_BACKEND_SIM,
        .mode = bench_mode_name(options->mode),
        .operations = options->operations,
        .live_bytes = options->live_bytes,
        .results = calloc(options->lineup.count, sizeof(*found.results)),
    };
    if (found.results == NULL)
        return bench_command_fail(BENCH_EXIT_FAILED, "out of memory");
    if (device->get_name(0, found.device_name, sizeof(found.device_name)) != DEVICE_OK)
        (void)snprintf(found.device_name, sizeof(found.device_name), "unknown");
    int code = run_all(options, device, &found);
    code |= report(options, &found);
    free(found.results);
    return code;
}

int bench_command_fragment(int argc, char **argv)
{
    bench_options options;
    bench_options_parse_fragment(&options, argc, argv);
    int code = BENCH_EXIT_FAILED;
    const device_ops *device = bench_command_open_study(&options);
    if (device != NULL) {
        if (bench_command_silence_checker(device))
            code = fragment_and_report(&options, device);
        device->close(0);
    }
    bench_options_destroy(&options);
    return code;
}
