/* A program of the project, run as a user runs it. */
#ifndef GP_TESTS_PROGRAM_H
#define GP_TESTS_PROGRAM_H

/* What a run wrote, and how it ended. */
typedef struct program_run {
    int exit_code; /* 128 and more, as a shell says it: ended by a signal. -1: did not start. */
    char output[1 << 16];
    char errors[1 << 12];
} program_run;

/* Run a program with arguments for the shell, and wait for its end. */
__attribute__((format(printf, 3, 4))) void program_execute(program_run *run, const char *program,
                                                           const char *arguments, ...);

#endif
