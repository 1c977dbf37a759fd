/* gp-bench replay */
#include "commands.h"
#include "replay.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

static void destroy_traces(bench_trace *traces, size_t count)
{
    for (size_t i = 0; traces != NULL && i < count; i++)
        bench_trace_destroy(&traces[i]);
    free(traces);
}

/* All of them, before anything runs. NULL, and said why, if one is wrong. */
static bench_trace *read_traces(const bench_options *options)
{
    bench_trace *traces = calloc(options->trace_count, sizeof(*traces));
    bool sound = traces != NULL;
    for (size_t i = 0; i < options->trace_count && sound; i++) {
        char error[BENCH_TRACE_ERROR_CHARS];
        sound = bench_trace_read(&traces[i], options->traces[i], error);
        if (!sound)
            (void)fprintf(stderr, "gp-bench: %s\n", error);
    }
    if (sound)
        return traces;
    destroy_traces(traces, options->trace_count);
    return NULL;
}

/* Every trace with every policy; the policies of a trace come one after the other. */
static bool replay_all(const bench_options *options, bench_replay *replay,
                       const bench_trace *traces, bench_result *results)
{
    char error[BENCH_ERROR_CHARS];
    for (size_t t = 0; t < options->trace_count; t++) {
        for (size_t p = 0; p < options->policy_count; p++) {
            replay->contender = options->policies[p];
            if (!bench_replay_run(replay, &traces[t], results, error)) {
                bench_progress_end(replay->progress);
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
    return events * options->policy_count * options->passes;
}

static int replay_and_report(const bench_options *options, const device_ops *device,
                             const bench_trace *traces)
{
    size_t count = options->trace_count * options->policy_count * options->passes;
    bench_result *results = calloc(count, sizeof(*results));
    if (results == NULL)
        return bench_command_fail(BENCH_EXIT_FAILED, "out of memory");

    bench_ticks ticks;
    bench_progress progress;
    bench_ticks_calibrate(&ticks);
    bench_replay replay = {
        .device = device,
        .ticks = &ticks,
        .mode = options->mode,
        .per_stream = options->per_stream,
        .kernels = options->kernels,
        .passes = (int)options->passes,
        .progress = &progress,
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
    bench_trace *traces = read_traces(&options);
    int code = traces != NULL ? run_with_traces(&options, traces) : BENCH_EXIT_USAGE;
    destroy_traces(traces, options.trace_count);
    bench_options_destroy(&options);
    return code;
}
