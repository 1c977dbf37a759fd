/* gp-trace info */
#include "gp_trace.h"
#include "trace_summary.h"

#include <argp.h>

static int print_info(const char *path)
{
    bench_trace trace;
    char error[BENCH_TRACE_ERROR_CHARS];
    if (!bench_trace_read(&trace, path, error)) {
        (void)fprintf(stderr, "gp-trace: %s\n", error);
        return GP_TRACE_USAGE;
    }
    bench_trace_print(&trace, path, stdout);
    bench_trace_destroy(&trace);
    return GP_TRACE_OK;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    int *code = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*code == GP_TRACE_OK)
            *code = print_info(argument);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a file is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int gp_trace_command_info(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse,
        .args_doc = "FILE...",
        .doc = "Say what is in each trace: events, streams, threads, the peak of live bytes.",
    };
    int code = GP_TRACE_OK;
    argp_err_exit_status = GP_TRACE_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &code) != 0)
        return GP_TRACE_USAGE;
    return code;
}
