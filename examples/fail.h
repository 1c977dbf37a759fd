/* How the example gives up: it has no caller to hand an error to. */
#ifndef GP_EXAMPLES_FAIL_H
#define GP_EXAMPLES_FAIL_H

/* Say what failed and why, and end the process with exit code 1. */
_Noreturn void example_fail(const char *what, const char *why);

#endif
