/* gp-bench: measure allocators of device memory. */
#include "commands.h"
#include "subcommands.h"

static char replay_name[] = "gp-bench replay";
static char tail_name[] = "gp-bench tail";
static char hit_name[] = "gp-bench hit";
static char compare_name[] = "gp-bench compare";
static char scale_name[] = "gp-bench scale";
static char fragment_name[] = "gp-bench fragment";

static const bench_subcommand commands[] = {
    {"replay", replay_name, bench_command_replay},
    {"tail", tail_name, bench_command_tail},
    {"hit", hit_name, bench_command_hit},
    {"compare", compare_name, bench_command_compare},
    {"scale", scale_name, bench_command_scale},
    {"fragment", fragment_name, bench_command_fragment},
};

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

int main(int argc, char **argv)
{
    const bench_program program = {
        .name = "gp-bench",
        .doc = doc,
        .choices = "replay, tail, hit, compare, scale or fragment",
        .commands = commands,
        .count = sizeof(commands) / sizeof(commands[0]),
        .usage_exit = BENCH_EXIT_USAGE,
    };
    return bench_program_run(&program, argc, argv);
}
