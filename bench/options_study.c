/* The command lines of compare, scale and fragment. */
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
    KEY_AXIS = 'a',
    KEY_STREAMS = 's',
    KEY_LIVE = 'L',
    KEY_OPERATIONS = 'o',
};

static const struct argp_child children[] = {{&bench_common_argp, 0, NULL, 0}, {0}};

/* ---- values ---- */

/* Some of a few words: "one,per-stream". */
static void parse_words(struct argp_state *state, char *words, const char *option,
                        const char *const *names, size_t count, bool *chosen)
{
    char *rest = words;
    for (size_t i = 0; i < count; i++)
        chosen[i] = false;
    for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        size_t found = 0;
        while (found < count && strcmp(word, names[found]) != 0)
            found++;
        if (found == count) {
            argp_error(state, "%s does not know \"%s\": see --help", option, word);
            return;
        }
        chosen[found] = true;
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
        parse_words(state, argument, "--threads", threads, 2, options->thread_modes);
        return 0;
    case KEY_LOAD:
        parse_words(state, argument, "--load", loads, 2, options->loads);
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

/* ---- scale ---- */

static const struct argp_option scale_options[] = {
    {"axis", KEY_AXIS, "threads,streams,live", 0, "What grows (default: one after the other)", 0},
    {"threads", KEY_THREADS, "N", 0, "Most threads (default: 64)", 0},
    {"streams", KEY_STREAMS, "N", 0, "Most streams (default: 1024)", 0},
    {"live", KEY_LIVE, "N", 0, "Most live blocks (default: 1000000)", 0},
    {"rounds", KEY_ROUNDS, "N", 0, "Turns that the contenders take (default: 5)", 0},
    OPTION_BASELINE,
    OPTION_HTML,
    OPTION_CSV,
    {0},
};

static error_t parse_scale(int key, char *argument, struct argp_state *state)
{
    static const char *const axes[BENCH_AXIS_COUNT] = {"threads", "streams", "live"};
    bench_options *options = state->input;
    switch (key) {
    case KEY_AXIS:
        parse_words(state, argument, "--axis", axes, BENCH_AXIS_COUNT, options->axes);
        return 0;
    case KEY_THREADS:
        options->most[BENCH_AXIS_THREADS] =
            bench_parse_count(state, "--threads", argument, BENCH_MAX_THREADS);
        return 0;
    case KEY_STREAMS:
        options->most[BENCH_AXIS_STREAMS] = bench_parse_count(state, "--streams", argument, 65536);
        return 0;
    case KEY_LIVE:
        options->most[BENCH_AXIS_LIVE] = bench_parse_count(state, "--live", argument, 100000000);
        return 0;
    default:
        return parse_study(key, argument, state);
    }
}

void bench_options_parse_scale(bench_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = scale_options,
        .parser = parse_scale,
        .doc = "Measure what a pair of calls costs as threads, streams and live blocks grow.",
        .children = children,
    };
    bench_options_parse_study(&argp, options, argc, argv);
}

/* ---- fragment ---- */

static const struct argp_option fragment_options[] = {
    {"operations", KEY_OPERATIONS, "N", 0, "How many calls to make (default: 10000000)", 0},
    {"live", KEY_LIVE, "MIB", 0, "Most MiB live at once (default: 512)", 0},
    OPTION_HTML,
    OPTION_CSV,
    {0},
};

static error_t parse_fragment(int key, char *argument, struct argp_state *state)
{
    bench_options *options = state->input;
    switch (key) {
    case KEY_OPERATIONS:
        options->operations = bench_parse_count(state, "--operations", argument, 1000000000);
        return 0;
    case KEY_LIVE:
        options->live_bytes = bench_parse_count(state, "--live", argument, 1 << 20) << 20;
        return 0;
    default:
        return parse_study(key, argument, state);
    }
}

void bench_options_parse_fragment(bench_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = fragment_options,
        .parser = parse_fragment,
        .doc = "Make a long run of requests that break memory up, and watch what is held.",
        .children = children,
    };
    bench_options_parse_study(&argp, options, argc, argv);
}
