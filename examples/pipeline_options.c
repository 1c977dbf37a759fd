#include "pipeline_options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_DEVICE = 'd',
    KEY_KERNEL = 'k',
    KEY_THREADS = 'T',
    KEY_ROUNDS = 'r',
    KEY_ROUND_MS = 'm',
    KEY_JSON = 'j'
};

static const struct argp_option option_list[] = {
    {"device", KEY_DEVICE, "auto|cuda|sim", 0,
     "Where to run: auto (the default) takes the GPU if there is one", 0},
    {"kernel", KEY_KERNEL, "auto|gemm|plain", 0,
     "A layer's work: a cuBLAS matrix product, or a plain kernel", 0},
    {"threads", KEY_THREADS, "N[,N...]", 0,
     "Thread counts to run (default: 1,4,8,16 on a GPU, else 1,4)", 0},
    {"rounds", KEY_ROUNDS, "N", 0, "Turns that each memory source gets (default: 5)", 0},
    {"round-ms", KEY_ROUND_MS, "N", 0, "Length of a turn in milliseconds (default: 200)", 0},
    {"json", KEY_JSON, "FILE", 0, "Write JSON to FILE, or to standard output for -", 0},
    {0},
};

/* argp_error() does not return. */
static size_t parse_count(struct argp_state *state, const char *text, size_t most)
{
    errno = 0;
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < 1 || value > most)
        argp_error(state, "\"%s\" is not a number from 1 to %zu", text, most);
    return (size_t)value;
}

static void parse_thread_counts(struct argp_state *state, pipeline_options *options, char *list)
{
    options->thread_count_count = 0;
    char *rest = list;
    for (char *count = strsep(&rest, ","); count != NULL; count = strsep(&rest, ",")) {
        if (options->thread_count_count == PIPELINE_MAX_COUNTS)
            argp_error(state, "--threads takes at most %d counts", PIPELINE_MAX_COUNTS);
        options->thread_counts[options->thread_count_count++] =
            parse_count(state, count, PIPELINE_MAX_THREADS);
    }
}

static pipeline_kernel parse_kernel(struct argp_state *state, const char *name)
{
    if (strcmp(name, "gemm") == 0)
        return PIPELINE_KERNEL_GEMM;
    if (strcmp(name, "plain") == 0)
        return PIPELINE_KERNEL_PLAIN;
    if (strcmp(name, "auto") != 0)
        argp_error(state, "--kernel must be auto, gemm or plain, not \"%s\"", name);
    return PIPELINE_KERNEL_AUTO;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    pipeline_options *options = state->input;
    switch (key) {
    case KEY_DEVICE:
        options->device = argument;
        return 0;
    case KEY_KERNEL:
        options->kernel = parse_kernel(state, argument);
        return 0;
    case KEY_THREADS:
        parse_thread_counts(state, options, argument);
        return 0;
    case KEY_ROUNDS:
        options->rounds = parse_count(state, argument, 1000);
        return 0;
    case KEY_ROUND_MS:
        options->round_ms = parse_count(state, argument, 60000);
        return 0;
    case KEY_JSON:
        options->json = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void pipeline_options_parse(pipeline_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse_option,
        .doc = "Serve requests of varying size from several threads and streams, with device "
               "memory from gp, from the driver's own pool, and from buffers allocated once.",
    };
    *options = (pipeline_options){.device = "auto", .rounds = 5, .round_ms = 200};
    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, options) != 0)
        exit(2);
}
