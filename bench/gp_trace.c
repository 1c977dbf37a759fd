/* gp-trace: make allocation traces out of what other programs write, and look at them. */
#include "gp_trace.h"

#include "gp/version.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

typedef struct command {
    const char *name;
    char *shown_name; /* argv[0] of its own messages */
    int (*run)(int argc, char **argv);
} command;

static char import_name[] = "gp-trace import";
static char info_name[] = "gp-trace info";

static const command commands[] = {
    {"import", import_name, gp_trace_command_import},
    {"info", info_name, gp_trace_command_info},
};

static const char doc[] = "Make allocation traces for gp-bench, and look at them."
                          "\vCommands:\n"
                          "  import   turn a PyTorch memory snapshot or an RMM log into a trace\n"
                          "  info     say what is in a trace\n\n"
                          "gp-trace COMMAND --help lists the options of a command.";

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
        argp_error(state, "a command is missing: import or info");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    (void)fprintf(stream, "gp-trace %s\n", gp_version_string());
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_top, .args_doc = "COMMAND [OPTION...]", .doc = doc};
    int first = 0;
    argp_program_version_hook = print_version;
    argp_err_exit_status = GP_TRACE_USAGE;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first) != 0)
        return GP_TRACE_USAGE;

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[first], commands[i].name) == 0) {
            argv[first] = commands[i].shown_name;
            return commands[i].run(argc - first, argv + first);
        }
    }
    (void)fprintf(stderr, "gp-trace: no command \"%s\": import or info\n", argv[first]);
    return GP_TRACE_USAGE;
}
