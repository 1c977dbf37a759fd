/* What the command lines of gp-bench share; argp's own way of failing is to end the
 * process. */
#ifndef GP_BENCH_OPTIONS_VALUES_H
#define GP_BENCH_OPTIONS_VALUES_H

#include "options.h"

#include <argp.h>

/* --policy, --device, --mode and --json; its input is the bench_options. */
extern const struct argp bench_common_argp;

/* A number from 1 to `most`. */
size_t bench_parse_count(struct argp_state *state, const char *option, const char *text,
                         size_t most);

void bench_add_trace(struct argp_state *state, bench_options *options, const char *path);

/* Parse the command line of a study: everything that is known is in its line-up unless
 * --policy says otherwise, and what cannot be had is left out. */
void bench_options_parse_study(const struct argp *argp, bench_options *options, int argc,
                               char **argv);

#endif
