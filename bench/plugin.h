/* Contenders out of shared objects, which stay loaded until the process ends. */
#ifndef GP_BENCH_PLUGIN_H
#define GP_BENCH_PLUGIN_H

#include "contender.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Load a shared object and find its contenders: one if it is a policy of gp, or as
 * many as its gp_bench_peer() names, `capacity` at most.
 *
 * @return how many; 0, and a reason of one line, if there are none.
 */
size_t bench_plugin_load(const char *path, const bench_contender_ops **contenders, size_t capacity,
                         char *reason, size_t reason_chars);

#endif
