/* gp-bench replay */
#include "commands.h"
#include "replay.h"
#include "report.h"
#include "trace_set.h"

#include <stdio.h>
#include <stdlib.h>

/* Every trace with every policy; the policies of a trace come one after the other. */
static bool replay_all(const bench_options *options, bench_replay *replay,
                       const bench_trace *traces, bench_result *results)
{
    char error[BENCH_ERROR_CHARS];
    for (size_t t = 0; t < options->trace_count; t++) {
        for (size_t p = 0; p < options->lineup.count; p++) {
            replay->session.contender = options->lineup.contenders[p];
            if (!bench_replay_run(replay, &traces[t], results, error)) {
                bench_progress_end(replay->session.progress);
                (void)bench_command_fail(BENCH_EXIT_FAILED, error);
                return false;
            }
            results += options->passes;
        }
    }
    return true;
}

static size_t step_count(const bench_options *options, const bench_trace *traces)
{
    size_t events = 0;
    for (size_t i = 0; i < options->trace_count; i++)
        events += traces[i].event_count;
    return events * options->lineup.count * options->passes;
}

static int replay_and_report(const bench_options *options, const device_ops *device,
                             const bench_trace *traces)
{
    size_t count = options->trace_count * options->lineup.count * options->passes;
    bench_result *results = calloc(count, sizeof(*results));
    if (results == NULL)
        return bench_command_fail(BENCH_EXIT_FAILED, "out of memory");

    bench_ticks ticks;
    bench_progress progress;
    bench_ticks_calibrate(&ticks);
    bench_replay replay = {
        .session =
            {
                .device = device,
                .ticks = &ticks,
                .mode = options->mode,
                .threads = options->replay_threads,
                .kernels = options->kernels,
                .progress = &progress,
            },
        .passes = (int)options->passes,
    };
    int code = BENCH_EXIT_FAILED;
    bench_progress_begin(&progress, step_count(options, traces));
    bool sound = replay_all(options, &replay, traces, results);
    bench_progress_end(&progress);
    if (sound) {
        code = BENCH_EXIT_OK;
        if (options->json != NULL)
            code = bench_command_write_json(options, results, count);
        else
            bench_report_replay_table(results, count, stdout);
    }
    free(results);
    return code;
}

static int run_with_traces(const bench_options *options, const bench_trace *traces)
{
    if (!bench_command_can_write(options->json))
        return BENCH_EXIT_FAILED;
    const device_ops *device = device_open(options->device, 0);
    if (device == NULL)
        return bench_command_fail(BENCH_EXIT_FAILED, device_error());
    int code = replay_and_report(options, device, traces);
    device->close(0);
    return code;
}

int bench_command_replay(int argc, char **argv)
{
    bench_options options;
    bench_options_parse_replay(&options, argc, argv);
    bench_trace *traces = bench_traces_read(options.traces, options.trace_count);
    int code = traces != NULL ? run_with_traces(&options, traces) : BENCH_EXIT_USAGE;
    bench_traces_destroy(traces, options.trace_count);
    bench_options_destroy(&options);
    return code;
}
