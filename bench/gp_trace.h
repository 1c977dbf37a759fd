/*
 * The commands of gp-trace. Each returns the exit code of the process; argv[0] is the
 * command's name as it is to be shown.
 */
#ifndef GP_BENCH_GP_TRACE_H
#define GP_BENCH_GP_TRACE_H

/* Exit codes. */
enum {
    GP_TRACE_OK = 0,
    GP_TRACE_FAILED = 1, /* The result could not be written. */
    GP_TRACE_USAGE = 2   /* The command line or a file that was read is wrong. */
};

int gp_trace_command_import(int argc, char **argv);
int gp_trace_command_info(int argc, char **argv);

#endif
