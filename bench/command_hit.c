/* gp-bench hit */
#include "commands.h"
#include "hit.h"
#include "report.h"

#include <stdio.h>

static int hit_and_report(const bench_options *options, const device_ops *device)
{
    bench_ticks ticks;
    bench_ticks_calibrate(&ticks);
    bench_hit hit = {
        .device = device,
        .ticks = &ticks,
        .mode = options->mode,
        .threads = options->threads,
        .bytes = options->bytes,
        .rounds = options->rounds,
    };
    bench_result results[BENCH_MAX_POLICIES];
    for (size_t i = 0; i < options->lineup.count; i++) {
        char error[BENCH_ERROR_CHARS];
        hit.contender = options->lineup.contenders[i];
        if (!bench_hit_run(&hit, &results[i], error))
            return bench_command_fail(BENCH_EXIT_FAILED, error);
        if (options->json == NULL)
            bench_report_hit_table(&results[i], stdout);
    }
    return options->json != NULL ? bench_command_write_json(options, results, options->lineup.count)
                                 : BENCH_EXIT_OK;
}

static int open_and_run(const bench_options *options)
{
    if (!bench_command_can_write(options->json))
        return BENCH_EXIT_FAILED;
    const device_ops *device = device_open(options->device, 0);
    if (device == NULL)
        return bench_command_fail(BENCH_EXIT_FAILED, device_error());
    if (!bench_command_silence_checker(device))
        return BENCH_EXIT_FAILED;
    int code = hit_and_report(options, device);
    device->close(0);
    return code;
}

int bench_command_hit(int argc, char **argv)
{
    bench_options options;
    bench_options_parse_hit(&options, argc, argv);
    int code = open_and_run(&options);
    bench_options_destroy(&options);
    return code;
}
