/* The command lines of compare. */
#include "options.h"

#include "options_values.h"

#include <string.h>

#define MAX_ROUNDS 1000

enum {
    KEY_TRACE = 't',
    KEY_THREADS = 'T',
    KEY_LOAD = 'l',
    KEY_ROUNDS = 'r',
    KEY_BASELINE = 'B',
    KEY_HTML = 'H',
    KEY_CSV = 'c',
};

static const struct argp_child children[] = {{&bench_common_argp, 0, NULL, 0}, {0}};

/* ---- values ---- */

/* One of two words, or both: "one,per-stream". */
static void parse_either(struct argp_state *state, char *words, const char *option,
                         const char *const names[2], bool chosen[2])
{
    char *rest = words;
    chosen[0] = false;
    chosen[1] = false;
    for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        bool is_first = strcmp(word, names[0]) == 0;
        if (!is_first && strcmp(word, names[1]) != 0)
            argp_error(state, "%s must be %s, %s or both, not \"%s\"", option, names[0], names[1],
                       word);
        chosen[is_first ? 0 : 1] = true;
    }
}

/* The options that all studies share; the common ones come on top. */
static error_t parse_study(int key, char *argument, struct argp_state *state)
{
    bench_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = options;
        return 0;
    case KEY_ROUNDS:
        options->rounds = bench_parse_count(state, "--rounds", argument, MAX_ROUNDS);
        return 0;
    case KEY_BASELINE:
        options->baseline = argument;
        return 0;
    case KEY_HTML:
        options->html = argument;
        return 0;
    case KEY_CSV:
        options->csv = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- compare ---- */

#define OPTION_HTML                                                                                \
    {                                                                                              \
        "html", KEY_HTML, "FILE", 0, "Write a page with tables and charts to FILE", 0              \
    }
#define OPTION_CSV                                                                                 \
    {                                                                                              \
        "csv", KEY_CSV, "FILE", 0, "Write the figures as CSV to FILE", 0                           \
    }
#define OPTION_BASELINE                                                                            \
    {                                                                                              \
        "baseline", KEY_BASELINE, "NAME", 0,                                                       \
            "What ratios are taken to (default: native if it is measured, else the first)", 0      \
    }

static const struct argp_option compare_options[] = {
    {"trace", KEY_TRACE, "FILE...", 0, "Traces to play, gzipped or plain", 0},
    {"threads", KEY_THREADS, "one,per-stream", 0, "How to play them (default: both)", 0},
    {"load", KEY_LOAD, "idle,kernels", 0,
     "Whether work is queued that touches every block (default: both)", 0},
    {"rounds", KEY_ROUNDS, "N", 0, "Warm passes that count (default: 5)", 0},
    OPTION_BASELINE,
    OPTION_HTML,
    OPTION_CSV,
    {0},
};

static error_t parse_compare(int key, char *argument, struct argp_state *state)
{
    static const char *const threads[] = {"one", "per-stream"};
    static const char *const loads[] = {"idle", "kernels"};
    bench_options *options = state->input;
    switch (key) {
    case KEY_TRACE:
    case ARGP_KEY_ARG: /* --trace A B C: the shell may have made many of one pattern */
        bench_add_trace(state, options, argument);
        return 0;
    case KEY_THREADS:
        parse_either(state, argument, "--threads", threads, options->thread_modes);
        return 0;
    case KEY_LOAD:
        parse_either(state, argument, "--load", loads, options->loads);
        return 0;
    case ARGP_KEY_END:
        if (options->trace_count == 0)
            argp_error(state, "--trace is missing");
        return 0;
    default:
        return parse_study(key, argument, state);
    }
}

void bench_options_parse_compare(bench_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = compare_options,
        .parser = parse_compare,
        .args_doc = "--trace FILE...",
        .doc = "Play traces with several policies and peers by turns, and compare them.",
        .children = children,
    };
    bench_options_parse_study(&argp, options, argc, argv);
}
