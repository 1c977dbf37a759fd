#include "subcommands.h"

#include "gp/version.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

typedef struct top_level {
    const bench_program *program;
    int first; /* Place of the command's name. */
} top_level;

/* For argp's hook, which is told nothing. */
static const bench_program *running;

/* Only finds the command. */
static error_t parse_top(int key, char *argument, struct argp_state *state)
{
    top_level *self = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        (void)argument;
        self->first = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a command is missing: %s", self->program->choices);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    (void)fprintf(stream, "%s %s\n", running->name, gp_version_string());
}

int bench_program_run(const bench_program *program, int argc, char **argv)
{
    const struct argp argp = {
        .parser = parse_top, .args_doc = "COMMAND [OPTION...]", .doc = program->doc};
    top_level self = {.program = program};
    running = program;
    argp_program_version_hook = print_version;
    argp_err_exit_status = program->usage_exit;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &self) != 0)
        return program->usage_exit;

    for (size_t i = 0; i < program->count; i++) {
        const bench_subcommand *command = &program->commands[i];
        if (strcmp(argv[self.first], command->name) == 0) {
            argv[self.first] = command->shown_name;
            return command->run(argc - self.first, argv + self.first);
        }
    }
    (void)fprintf(stderr, "%s: no command \"%s\": %s\n", program->name, argv[self.first],
                  program->choices);
    return program->usage_exit;
}
