/* gp-bench scale */
#include "commands.h"
#include "report_scale.h"
#include "scale.h"

#include <stdio.h>
#include <stdlib.h>

static void destroy_scaling(bench_scaling *scaling)
{
    for (size_t i = 0; scaling->points != NULL && i < scaling->count; i++)
        free(scaling->points[i].cells);
    free(scaling->points);
}

static size_t count_points(const bench_options *options)
{
    size_t count = 0;
    for (bench_axis axis = 0; axis < BENCH_AXIS_COUNT; axis++) {
        for (size_t i = 0; options->axes[axis]; i++) {
            if (bench_axis_value(axis, i, options->most[axis]) == 0)
                break;
            count++;
        }
    }
    return count;
}

static bool make_points(bench_scaling *scaling, const bench_options *options)
{
    size_t capacity = count_points(options);
    if (capacity == 0)
        return false;
    scaling->points = calloc(capacity, sizeof(*scaling->points));
    bool enough = scaling->points != NULL;
    for (bench_axis axis = 0; axis < BENCH_AXIS_COUNT; axis++) {
        for (size_t i = 0; options->axes[axis] && enough; i++) {
            size_t value = bench_axis_value(axis, i, options->most[axis]);
            if (value == 0)
                break;
            bench_scale_cell *cells = calloc(options->lineup.count, sizeof(*cells));
            scaling->points[scaling->count++] = (bench_scale_point){axis, value, cells};
            enough = cells != NULL;
        }
    }
    return enough;
}

static bool run_points(const bench_options *options, const device_ops *device,
                       bench_scaling *scaling)
{
    bench_ticks ticks;
    bench_progress progress;
    bench_ticks_calibrate(&ticks);
    const bench_scale scale = {
        .device = device,
        .ticks = &ticks,
        .lineup = &options->lineup,
        .baseline = scaling->baseline,
        .mode = options->mode,
        .rounds = options->rounds,
        .progress = &progress,
    };
    bool sound = true;
    bench_progress_begin(&progress, scaling->count * options->lineup.count * options->rounds);
    for (size_t i = 0; i < scaling->count && sound; i++) {
        const bench_scale_point *point = &scaling->points[i];
        sound = bench_scale_run(&scale, bench_axis_size(point->axis, point->value), point->cells);
    }
    bench_progress_end(&progress);
    return sound;
}

/* A contender that failed is named, and the others are reported all the same. */
static int say_failures(const bench_scaling *scaling)
{
    int code = BENCH_EXIT_OK;
    for (size_t i = 0; i < scaling->count; i++) {
        for (size_t j = 0; j < scaling->lineup->count; j++) {
            if (scaling->points[i].cells[j].failed)
                code = bench_command_fail(BENCH_EXIT_FAILED, scaling->points[i].cells[j].error);
        }
    }
    return code;
}

static int report(const bench_options *options, const bench_scaling *scaling)
{
    int code = say_failures(scaling);
    if (options->json != NULL)
        code |=
            bench_command_written(bench_report_scale_json(scaling, options->json), options->json);
    else
        bench_report_scale_table(scaling, stdout);
    if (options->csv != NULL)
        code |= bench_command_written(bench_report_scale_csv(scaling, options->csv), options->csv);
    if (options->html != NULL)
        code |=
            bench_command_written(bench_report_scale_html(scaling, options->html), options->html);
    return code;
}

static int scale_and_report(const bench_options *options, const device_ops *device)
{
    bench_scaling scaling = {
        .lineup = &options->lineup,
        .baseline = bench_command_find_baseline(options),
        .device = device->name,
        .simulated = device->kind == GP_BACKEND_SIM,
        .mode = bench_mode_name(options->mode),
        .rounds = options->rounds,
    };
    if (scaling.baseline == SIZE_MAX)
        return BENCH_EXIT_USAGE;
    if (device->get_name(0, scaling.device_name, sizeof(scaling.device_name)) != DEVICE_OK)
        (void)snprintf(scaling.device_name, sizeof(scaling.device_name), "unknown");

    int code = BENCH_EXIT_FAILED;
    if (make_points(&scaling, options) && run_points(options, device, &scaling))
        code = report(options, &scaling);
    else
        code = bench_command_fail(BENCH_EXIT_FAILED, "out of memory");
    destroy_scaling(&scaling);
    return code;
}

int bench_command_scale(int argc, char **argv)
{
    bench_options options;
    bench_options_parse_scale(&options, argc, argv);
    int code = BENCH_EXIT_FAILED;
    const device_ops *device = bench_command_open_study(&options);
    if (device != NULL) {
        if (bench_command_silence_checker(device))
            code = scale_and_report(&options, device);
        device->close(0);
    }
    bench_options_destroy(&options);
    return code;
}
