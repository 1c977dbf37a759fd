/*
 * A program whose first argument says which of its commands to run: what follows is the
 * command's own.
 */
#ifndef GP_BENCH_SUBCOMMANDS_H
#define GP_BENCH_SUBCOMMANDS_H

#include <stddef.h>

typedef struct bench_subcommand {
    const char *name;
    char *shown_name; /* argv[0] of its own messages */
    int (*run)(int argc, char **argv);
} bench_subcommand;

typedef struct bench_program {
    const char *name;
    const char *doc;     /* For --help, as argp takes it. */
    const char *choices; /* The commands' names, for messages. */
    const bench_subcommand *commands;
    size_t count;
    int usage_exit; /* Exit code for wrong arguments. */
} bench_program;

/* Run the command that is named; returns the exit code of the process. */
int bench_program_run(const bench_program *program, int argc, char **argv);

#endif
