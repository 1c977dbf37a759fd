#include "commands.h"

#include "report.h"

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

int bench_command_write_json(const bench_options *options, const bench_result *results,
                             size_t count)
{
    if (bench_report_json(results, count, options->json))
        return BENCH_EXIT_OK;
    (void)fprintf(stderr, "gp-bench: %s: %s\n", options->json, strerror(errno));
    return BENCH_EXIT_FAILED;
}
