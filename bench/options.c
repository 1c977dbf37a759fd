#include "options.h"

#include "options_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PASSES 1000
#define MAX_ROUNDS 10000
#define MAX_LIMIT_PERCENT 10000

enum {
    KEY_TRACE = 't',
    KEY_POLICY = 'p',
    KEY_DEVICE = 'd',
    KEY_MODE = 'm',
    KEY_JSON = 'j',
    KEY_THREADS = 'T',
    KEY_PASSES = 'n',
    KEY_KERNELS = 'k',
    KEY_WARM = 'w',
    KEY_LIMIT = 'l',
    KEY_BYTES = 'b',
    KEY_ROUNDS = 'r'
};

/* ---- values ---- */

/* argp_error() does not return: it prints and exits. */
size_t bench_parse_count(struct argp_state *state, const char *option, const char *text,
                         size_t most)
{
    errno = 0;
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < 1 || value > most)
        argp_error(state, "%s must be a number from 1 to %zu, not \"%s\"", option, most, text);
    return (size_t)value;
}

static void add_policy(struct argp_state *state, const bench_options *options, bench_lineup *lineup,
                       const char *name)
{
    switch (bench_lineup_add(lineup, name)) {
    case BENCH_LINEUP_ADDED:
        return;
    case BENCH_LINEUP_ABSENT:
        /* A study says in its report what it had to do without; but a path that leads
         * nowhere is a mistake. */
        if (options->is_study && strchr(name, '/') == NULL)
            return;
        argp_error(state, "--policy %s: %s", name, lineup->absent[lineup->absent_count - 1].reason);
        return;
    case BENCH_LINEUP_UNKNOWN:
        argp_error(state, "--policy \"%s\" is neither a path nor one of: %s", name,
                   bench_lineup_names());
        return;
    case BENCH_LINEUP_FULL:
        argp_error(state, "--policy takes at most %d names", BENCH_MAX_POLICIES);
        return;
    }
}

static void parse_policies(struct argp_state *state, bench_options *options, char *names)
{
    options->lineup = (bench_lineup){0};
    char *rest = names;
    for (char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ","))
        add_policy(state, options, &options->lineup, name);
}

static const char *parse_device(struct argp_state *state, const char *name)
{
    if (strcmp(name, "auto") != 0 && strcmp(name, "cuda") != 0 && strcmp(name, "sim") != 0)
        argp_error(state, "--device must be auto, cuda or sim, not \"%s\"", name);
    return name;
}

static bench_mode parse_mode(struct argp_state *state, const char *name)
{
    if (strcmp(name, "checked") == 0)
        return BENCH_MODE_CHECKED;
    if (strcmp(name, "attached") != 0)
        argp_error(state, "--mode must be attached or checked, not \"%s\"", name);
    return BENCH_MODE_ATTACHED;
}

static bench_threads parse_threads(struct argp_state *state, const char *name)
{
    for (bench_threads i = BENCH_THREADS_ONE; i <= BENCH_THREADS_RECORDED; i++) {
        if (strcmp(name, bench_threads_name(i)) == 0)
            return i;
    }
    argp_error(state, "--threads must be one, per-stream or recorded, not \"%s\"", name);
    return BENCH_THREADS_ONE;
}

void bench_add_trace(struct argp_state *state, bench_options *options, const char *path)
{
    /* There cannot be more traces than arguments. */
    if (options->traces == NULL)
        options->traces = calloc((size_t)state->argc, sizeof(*options->traces));
    if (options->traces == NULL) {
        argp_failure(state, BENCH_EXIT_FAILED, 0, "out of memory");
        return;
    }
    options->traces[options->trace_count++] = path;
}

/* ---- options of all commands ---- */

static const struct argp_option common_options[] = {
    {"policy", KEY_POLICY, "NAME[,NAME...]", 0,
     "What to measure: policies of gp, peers, or paths of plug-ins", 0},
    {"device", KEY_DEVICE, "auto|cuda|sim", 0,
     "Where: auto (the default) takes the GPU if there is one, else the simulated device", 0},
    {"mode", KEY_MODE, "attached|checked", 0, "How gp's streams are used (default: attached)", 0},
    {"json", KEY_JSON, "FILE", 0, "Write JSON to FILE, or to standard output for -", 0},
    {0},
};

static error_t parse_common(int key, char *argument, struct argp_state *state)
{
    bench_options *options = state->input;
    switch (key) {
    case KEY_POLICY:
        parse_policies(state, options, argument);
        return 0;
    case KEY_DEVICE:
        options->device = parse_device(state, argument);
        return 0;
    case KEY_MODE:
        options->mode = parse_mode(state, argument);
        return 0;
    case KEY_JSON:
        options->json = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp bench_common_argp = {.options = common_options, .parser = parse_common};

static const struct argp_child common_children[] = {{&bench_common_argp, 0, NULL, 0}, {0}};

static void set_defaults(bench_options *options)
{
    *options = (bench_options){
        .device = "auto",
        .mode = BENCH_MODE_ATTACHED,
        .passes = 2,
        .threads = 1,
        .rounds = 11,
    };
    (void)bench_lineup_add(&options->lineup, "cache-first");
}

void bench_options_parse_study(const struct argp *argp, bench_options *options, int argc,
                               char **argv)
{
    set_defaults(options);
    options->is_study = true;
    options->rounds = 5;
    options->lineup = (bench_lineup){0};
    for (size_t i = 0; i < 2; i++) {
        options->thread_modes[i] = true;
        options->loads[i] = true;
    }
    for (size_t i = 0; i < BENCH_AXIS_COUNT; i++)
        options->axes[i] = true;
    options->most[BENCH_AXIS_THREADS] = 64;
    options->most[BENCH_AXIS_STREAMS] = 1024;
    options->most[BENCH_AXIS_LIVE] = 1000000;
    options->operations = 10000000;
    options->live_bytes = (size_t)512 << 20;
    argp_err_exit_status = BENCH_EXIT_USAGE;
    if (argp_parse(argp, argc, argv, 0, NULL, options) != 0)
        exit(BENCH_EXIT_USAGE);
    if (options->lineup.count + options->lineup.absent_count == 0)
        bench_lineup_add_all(&options->lineup);
}

static void parse(const struct argp *argp, bench_options *options, int argc, char **argv)
{
    set_defaults(options);
    argp_err_exit_status = BENCH_EXIT_USAGE;
    if (argp_parse(argp, argc, argv, 0, NULL, options) != 0)
        exit(BENCH_EXIT_USAGE);
}

/* ---- replay ---- */

static const struct argp_option replay_options[] = {
    {"trace", KEY_TRACE, "FILE...", 0, "Traces to play, gzipped or plain", 0},
    {"threads", KEY_THREADS, "one|per-stream|recorded", 0,
     "Play with one thread in trace order (the default), one a stream, or the trace's own", 0},
    {"passes", KEY_PASSES, "N", 0, "Play each trace N times (default: 2: a cold and a warm pass)",
     0},
    {"kernels", KEY_KERNELS, NULL, 0, "Queue work that touches every block while it is live", 0},
    {"warm-from-trace", KEY_WARM, NULL, 0,
     "Let gp reserve what the trace needs before it is played (gp_pool_warm_from_trace)", 0},
    {"limit", KEY_LIMIT, "PERCENT", 0,
     "Let gp reserve so much of the trace's peak live bytes at most, and count what it refuses", 0},
    {0},
};

static error_t parse_replay(int key, char *argument, struct argp_state *state)
{
    bench_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = options;
        return 0;
    case KEY_TRACE:
    case ARGP_KEY_ARG: /* --trace A B C: the shell may have made many of one pattern */
        bench_add_trace(state, options, argument);
        return 0;
    case KEY_THREADS:
        options->replay_threads = parse_threads(state, argument);
        return 0;
    case KEY_PASSES:
        options->passes = bench_parse_count(state, "--passes", argument, MAX_PASSES);
        return 0;
    case KEY_KERNELS:
        options->kernels = true;
        return 0;
    case KEY_WARM:
        options->warm_from_trace = true;
        return 0;
    case KEY_LIMIT:
        options->limit_percent = bench_parse_count(state, "--limit", argument, MAX_LIMIT_PERCENT);
        return 0;
    case ARGP_KEY_END:
        if (options->trace_count == 0)
            argp_error(state, "--trace is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void bench_options_parse_replay(bench_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = replay_options,
        .parser = parse_replay,
        .args_doc = "--trace FILE...",
        .doc = "Play recorded allocation traces and measure each pass.",
        .children = common_children,
    };
    parse(&argp, options, argc, argv);
}

/* The same line; another question. */
void bench_options_parse_tail(bench_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = replay_options,
        .parser = parse_replay,
        .args_doc = "--trace FILE...",
        .doc = "Play recorded allocation traces and find the slowest calls of each pass.",
        .children = common_children,
    };
    parse(&argp, options, argc, argv);
}

/* ---- hit ---- */

static const struct argp_option hit_options[] = {
    {"threads", KEY_THREADS, "N", 0, "Threads, each with a stream of its own (default: 1)", 0},
    {"bytes", KEY_BYTES, "N|random", 0,
     "Size of a block, or random: 64 B to 1 MiB with 64 live (the default)", 0},
    {"rounds", KEY_ROUNDS, "N", 0, "Turns that the contenders take (default: 11)", 0},
    {0},
};

static error_t parse_hit(int key, char *argument, struct argp_state *state)
{
    bench_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = options;
        return 0;
    case KEY_THREADS:
        options->threads = bench_parse_count(state, "--threads", argument, BENCH_MAX_THREADS);
        return 0;
    case KEY_BYTES:
        options->bytes = strcmp(argument, "random") == 0
                             ? 0
                             : bench_parse_count(state, "--bytes", argument, (size_t)1 << 40);
        return 0;
    case KEY_ROUNDS:
        options->rounds = bench_parse_count(state, "--rounds", argument, MAX_ROUNDS);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void bench_options_parse_hit(bench_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = hit_options,
        .parser = parse_hit,
        .doc = "Allocate and free in a loop, beside malloc and the driver's own pool.",
        .children = common_children,
    };
    parse(&argp, options, argc, argv);
}

void bench_options_destroy(bench_options *options)
{
    free(options->traces);
    options->traces = NULL;
}
