/* gp-trace: make allocation traces out of what other programs write, and look at them. */
#include "gp_trace.h"
#include "subcommands.h"

static char import_name[] = "gp-trace import";
static char info_name[] = "gp-trace info";

static const bench_subcommand commands[] = {
    {"import", import_name, gp_trace_command_import},
    {"info", info_name, gp_trace_command_info},
};

static const char doc[] = "Make allocation traces for gp-bench, and look at them."
                          "\vCommands:\n"
                          "  import   turn a PyTorch memory snapshot or an RMM log into a trace\n"
                          "  info     say what is in a trace\n\n"
                          "gp-trace COMMAND --help lists the options of a command.";

int main(int argc, char **argv)
{
    const bench_program program = {
        .name = "gp-trace",
        .doc = doc,
        .choices = "import or info",
        .commands = commands,
        .count = sizeof(commands) / sizeof(commands[0]),
        .usage_exit = GP_TRACE_USAGE,
    };
    return bench_program_run(&program, argc, argv);
}
