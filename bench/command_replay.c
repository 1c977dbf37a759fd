/* gp-bench replay and gp-bench tail, which play the same passes and ask different things of them.
 */
#include "commands.h"
#include "replay.h"
#include "report.h"
#include "report_tail.h"
#include "trace_set.h"

#include <stdio.h>
#include <stdlib.h>

/* What makes the one command and the other. */
typedef struct replay_command {
    bool
        finds_longest; /* With the hazard checker off, which would be the longest part of a call. */
    bool (*write_json)(const bench_result *results, size_t count, const char *path);
    void (*print_table)(const bench_result *results, size_t count, FILE *out);
} replay_command;

static const replay_command replay_kind = {.write_json = bench_report_json,
                                           .print_table = bench_report_replay_table};
static const replay_command tail_kind = {.finds_longest = true,
                                         .write_json = bench_report_tail_json,
                                         .print_table = bench_report_tail_table};

/* Every trace with every policy; the policies of a trace come one after the other. */
static bool replay_all(const bench_options *options, bench_replay *replay,
                       const bench_trace *traces, bench_result *results)
{
    char error[BENCH_ERROR_CHARS];
    for (size_t t = 0; t < options->trace_count; t++) {
        replay->session.warm_from = options->warm_from_trace ? options->traces[t] : NULL;
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

static int replay_and_report(const replay_command *command, const bench_options *options,
                             const device_ops *device, const bench_trace *traces)
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
                .finds_longest = command->finds_longest,
                .limit_percent = options->limit_percent,
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
            code = bench_command_written(command->write_json(results, count, options->json),
                                         options->json);
        else
            command->print_table(results, count, stdout);
    }
    free(results);
    return code;
}

static int run_with_traces(const replay_command *command, const bench_options *options,
                           const bench_trace *traces)
{
    if (!bench_command_can_write(options->json))
        return BENCH_EXIT_FAILED;
    const device_ops *device = device_open(options->device, 0);
    if (device == NULL)
        return bench_command_fail(BENCH_EXIT_FAILED, device_error());
    int code = BENCH_EXIT_FAILED;
    if (!command->finds_longest || bench_command_silence_checker(device))
        code = replay_and_report(command, options, device, traces);
    device->close(0);
    return code;
}

static int run(const replay_command *command, bench_options *options)
{
    bench_trace *traces = bench_traces_read(options->traces, options->trace_count);
    int code = traces != NULL ? run_with_traces(command, options, traces) : BENCH_EXIT_USAGE;
    bench_traces_destroy(traces, options->trace_count);
    bench_options_destroy(options);
    return code;
}

int bench_command_replay(int argc, char **argv)
{
    bench_options options;
    bench_options_parse_replay(&options, argc, argv);
    return run(&replay_kind, &options);
}

int bench_command_tail(int argc, char **argv)
{
    bench_options options;
    bench_options_parse_tail(&options, argc, argv);
    return run(&tail_kind, &options);
}
