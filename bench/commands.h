/*
 * The commands of gp-bench. Each returns the exit code of the process; argv[0]
 * is the command's name as it is to be shown.
 */
#ifndef GP_BENCH_COMMANDS_H
#define GP_BENCH_COMMANDS_H

#include "options.h"
#include "result.h"

int bench_command_replay(int argc, char **argv);
int bench_command_tail(int argc, char **argv);
int bench_command_hit(int argc, char **argv);
int bench_command_compare(int argc, char **argv);
int bench_command_scale(int argc, char **argv);
int bench_command_fragment(int argc, char **argv);

/* Say on standard error what went wrong; returns `exit_code`, to be passed on. */
int bench_command_fail(int exit_code, const char *reason);

/* Can a file be written? To be asked before a long run, not after. */
bool bench_command_can_write(const char *path);

/* Can all files of a study be written, and is its device there? Leaves out of the
 * line-up what needs another device. NULL, and said why, if not. */
const device_ops *bench_command_open_study(bench_options *options);

/*
 * On the simulated device the hazard checker hears of every allocation, which costs
 * more than a hit. replay and compare check for hazards; where the hot path is to be
 * the one that a user's program has, it is switched off. False, and said why, if that
 * fails. Nothing on a GPU.
 */
bool bench_command_silence_checker(const device_ops *device);

/* The baseline's index in the line-up; SIZE_MAX, and said so, if it is not there. */
size_t bench_command_find_baseline(const bench_options *options);

/* Say that a file could not be written, if it was not; returns the exit code. */
int bench_command_written(bool sound, const char *path);

/* Write results as JSON; returns the exit code. */
int bench_command_write_json(const bench_options *options, const bench_result *results,
                             size_t count);

#endif
