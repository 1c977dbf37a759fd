/* gp-trace import */
#include "gp_trace.h"
#include "import.h"
#include "trace_summary.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 1024

typedef enum import_format { FORMAT_AUTO, FORMAT_TORCH, FORMAT_RMM } import_format;

typedef struct import_options {
    import_format format;
    int device; /* -1: the only one. */
    const char *input;
    const char *output;
} import_options;

/* ---- command line ---- */

static const struct argp_option import_argp_options[] = {
    {"from", 'f', "auto|torch|rmm", 0, "What wrote INPUT (default: auto, by how it begins)", 0},
    {"device", 'd', "N", 0, "Of a snapshot, whose events (default: the only device that has some)",
     0},
    {0},
};

static import_format parse_format(struct argp_state *state, const char *name)
{
    if (strcmp(name, "torch") == 0)
        return FORMAT_TORCH;
    if (strcmp(name, "rmm") == 0)
        return FORMAT_RMM;
    if (strcmp(name, "auto") != 0)
        argp_error(state, "--from must be auto, torch or rmm, not \"%s\"", name);
    return FORMAT_AUTO;
}

static int parse_device(struct argp_state *state, const char *text)
{
    char *end = NULL;
    unsigned long device = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || device >= MAX_DEVICES)
        argp_error(state, "--device must be a number below %d, not \"%s\"", MAX_DEVICES, text);
    return (int)device;
}

static void take_path(struct argp_state *state, import_options *options, const char *path)
{
    if (options->input == NULL)
        options->input = path;
    else if (options->output == NULL)
        options->output = path;
    else
        argp_error(state, "one argument too many: \"%s\"", path);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    import_options *options = state->input;
    switch (key) {
    case 'f':
        options->format = parse_format(state, argument);
        return 0;
    case 'd':
        options->device = parse_device(state, argument);
        return 0;
    case ARGP_KEY_ARG:
        take_path(state, options, argument);
        return 0;
    case ARGP_KEY_END:
        if (options->output == NULL)
            argp_error(state, "INPUT and OUTPUT are needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- import ---- */

static bool read_input(const import_options *options, bench_trace *trace, bench_import_skips *skips)
{
    char error[BENCH_TRACE_ERROR_CHARS];
    bool is_rmm = options->format == FORMAT_RMM ||
                  (options->format == FORMAT_AUTO && bench_import_is_rmm(options->input));
    bool sound = is_rmm
                     ? bench_import_rmm(trace, skips, options->input, error)
                     : bench_import_snapshot(trace, skips, options->input, options->device, error);
    if (!sound)
        (void)fprintf(stderr, "gp-trace: %s\n", error);
    return sound;
}

static int write_output(const import_options *options, const bench_trace *trace)
{
    errno = 0;
    if (bench_trace_write(trace, options->output))
        return GP_TRACE_OK;
    (void)fprintf(stderr, "gp-trace: %s: %s\n", options->output,
                  errno != 0 ? strerror(errno) : "cannot be written");
    return GP_TRACE_FAILED;
}

static void report(const import_options *options, const bench_trace *trace,
                   const bench_import_skips *skips)
{
    bench_trace_print(trace, options->output, stdout);
    if (skips->failed_allocs > 0)
        (void)printf("  left out     %zu allocations that failed\n", skips->failed_allocs);
    if (skips->empty_blocks > 0)
        (void)printf("  left out     %zu calls for no bytes\n", skips->empty_blocks);
}

int gp_trace_command_import(int argc, char **argv)
{
    static const struct argp argp = {
        .options = import_argp_options,
        .parser = parse,
        .args_doc = "INPUT OUTPUT",
        .doc = "Turn a PyTorch memory snapshot (a pickle, or JSON) or an RMM log into a trace. "
               "OUTPUT is gzipped if it ends in .gz.",
    };
    import_options options = {.device = -1};
    bench_trace trace;
    bench_import_skips skips;
    argp_err_exit_status = GP_TRACE_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0 ||
        !read_input(&options, &trace, &skips))
        return GP_TRACE_USAGE;
    int code = write_output(&options, &trace);
    if (code == GP_TRACE_OK)
        report(&options, &trace, &skips);
    bench_trace_destroy(&trace);
    return code;
}
