#include "commands.h"

#include "report.h"

#include "gp/sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int bench_command_fail(int exit_code, const char *reason)
{
    (void)fprintf(stderr, "gp-bench: %s\n", reason);
    return exit_code;
}

bool bench_command_can_write(const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return true;
    FILE *file = fopen(path, "a");
    if (file == NULL) {
        (void)fprintf(stderr, "gp-bench: %s: %s\n", path, strerror(errno));
        return false;
    }
    return fclose(file) == 0;
}

const device_ops *bench_command_open_study(bench_options *options)
{
    if (!bench_command_can_write(options->json) || !bench_command_can_write(options->html) ||
        !bench_command_can_write(options->csv))
        return NULL;
    const device_ops *device = device_open(options->device, 0);
    if (device == NULL) {
        (void)bench_command_fail(BENCH_EXIT_FAILED, device_error());
        return NULL;
    }
    if (device->kind == GP_BACKEND_SIM)
        bench_lineup_leave_gpu_out(&options->lineup);
    if (options->lineup.count > 0)
        return device;
    for (size_t i = 0; i < options->lineup.absent_count; i++)
        (void)fprintf(stderr, "gp-bench: %s: %s\n", options->lineup.absent[i].name,
                      options->lineup.absent[i].reason);
    device->close(0);
    return NULL;
}

static size_t find_contender(const bench_lineup *lineup, const char *name)
{
    for (size_t i = 0; i < lineup->count; i++) {
        if (strcmp(lineup->contenders[i]->name, name) == 0)
            return i;
    }
    return SIZE_MAX;
}

size_t bench_command_find_baseline(const bench_options *options)
{
    const char *name = options->baseline != NULL ? options->baseline : "native";
    size_t found = find_contender(&options->lineup, name);
    if (found == SIZE_MAX && options->baseline == NULL)
        return 0;
    if (found == SIZE_MAX)
        (void)fprintf(stderr, "gp-bench: --baseline \"%s\" is not among what is measured\n", name);
    return found;
}

bool bench_command_silence_checker(const device_ops *device)
{
    gp_sim_config config;
    if (device->kind != GP_BACKEND_SIM)
        return true;
    gp_sim_config_init(&config);
    config.check_hazards = false;
    device->close(0);
    if (gp_sim_reset(&config) != GP_OK) {
        (void)bench_command_fail(BENCH_EXIT_FAILED, gp_last_error());
        return false;
    }
    if (device->open(0) != DEVICE_OK) {
        (void)bench_command_fail(BENCH_EXIT_FAILED, device_error());
        return false;
    }
    return true;
}

int bench_command_written(bool sound, const char *path)
{
    if (sound)
        return BENCH_EXIT_OK;
    (void)fprintf(stderr, "gp-bench: %s: %s\n", path, strerror(errno));
    return BENCH_EXIT_FAILED;
}

int bench_command_write_json(const bench_options *options, const bench_result *results,
                             size_t count)
{
    return bench_command_written(bench_report_json(results, count, options->json), options->json);
}
