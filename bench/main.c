/* gp-bench: measure allocators of device memory. */
#include "commands.h"

#include "gp/version.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

typedef struct command {
    const char *name;
    char *shown_name; /* argv[0] of its own messages */
    int (*run)(int argc, char **argv);
} command;

static char replay_name[] = "gp-bench replay";
static char tail_name[] = "gp-bench tail";
static char hit_name[] = "gp-bench hit";
static char compare_name[] = "gp-bench compare";
static char scale_name[] = "gp-bench scale";
static char fragment_name[] = "gp-bench fragment";

static const command commands[] = {
    {"replay", replay_name, bench_command_replay},
    {"tail", tail_name, bench_command_tail},
    {"hit", hit_name, bench_command_hit},
    {"compare", compare_name, bench_command_compare},
    {"scale", scale_name, bench_command_scale},
    {"fragment", fragment_name, bench_command_fragment},
};

#define COMMANDS "replay, tail, hit, compare, scale or fragment"

static const char doc[] =
    "Measure how fast device memory is allocated and freed, and how much is held for it."
    "\vCommands:\n"
    "  replay   play recorded allocation traces\n"
    "  tail     play them and find the slowest calls\n"
    "  hit      allocate and free in a loop\n"
    "  compare  play traces with several policies and peers by turns\n"
    "  scale    let threads, streams and live blocks grow\n"
    "  fragment make a long run of requests that break memory up\n\n"
    "gp-bench COMMAND --help lists the options of a command.";

/* Only finds the command: what follows it is the command's own. */
static error_t parse_top(int key, char *argument, struct argp_state *state)
{
    int *first = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        (void)argument;
        *first = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a command is missing: " COMMANDS);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    (void)fprintf(stream, "gp-bench %s\n", gp_version_string());
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_top, .args_doc = "COMMAND [OPTION...]", .doc = doc};
    int first = 0;
    argp_program_version_hook = print_version;
    argp_err_exit_status = BENCH_EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first) != 0)
        return BENCH_EXIT_USAGE;

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[first], commands[i].name) == 0) {
            argv[first] = commands[i].shown_name;
            return commands[i].run(argc - first, argv + first);
        }
    }
    (void)fprintf(stderr, "gp-bench: no command \"%s\": " COMMANDS "\n", argv[first]);
    return BENCH_EXIT_USAGE;
}
