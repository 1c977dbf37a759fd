/*
 * The line-up: which contenders a run measures. They are chosen by name, or by the
 * path of a shared object that has a policy of gp (gp/policy.h, GP_POLICY_ENTRY) or
 * peers (bench/peers/peer.h). What could not be had is kept with the reason, so that
 * a report can say so.
 */
#ifndef GP_BENCH_LINEUP_H
#define GP_BENCH_LINEUP_H

#include "contender.h"

#include <stdbool.h>
#include <stddef.h>

#define BENCH_MAX_POLICIES 16
#define BENCH_NAME_CHARS 64
#define BENCH_REASON_CHARS 256

/* A known contender that cannot be measured here. */
typedef struct bench_absent {
    char name[BENCH_NAME_CHARS];
    char reason[BENCH_REASON_CHARS];
} bench_absent;

typedef struct bench_lineup {
    const bench_contender_ops *contenders[BENCH_MAX_POLICIES];
    size_t count;
    bench_absent absent[BENCH_MAX_POLICIES];
    size_t absent_count;
} bench_lineup;

typedef enum bench_lineup_result {
    BENCH_LINEUP_ADDED,
    BENCH_LINEUP_ABSENT,  /* Known, but not to be had: see the last of absent[]. */
    BENCH_LINEUP_UNKNOWN, /* No such name. */
    BENCH_LINEUP_FULL
} bench_lineup_result;

/* Add a contender by its name or path. A second time changes nothing. */
bench_lineup_result bench_lineup_add(bench_lineup *lineup, const char *name);

/* Add everything that is known. */
void bench_lineup_add_all(bench_lineup *lineup);

/* Those that need a GPU become absent. */
void bench_lineup_leave_gpu_out(bench_lineup *lineup);

/* All names, for help and messages: "cache-first, native". */
const char *bench_lineup_names(void);

#endif
