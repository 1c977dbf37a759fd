/*
 * Plays a program: four threads take turns, of which one acts while the others stand still, so
 * that a seed gives the same run each time.
 */
#ifndef GP_TESTS_PROOF_PLAYER_H
#define GP_TESTS_PROOF_PLAYER_H

#include "device.h"
#include "generator.h"

/* What came of it; may lie in memory that a parent process shares. */
typedef struct proof_result {
    uint64_t operations; /* steps that did something */
    size_t steps;        /* that were looked at */
    char failure[2048];  /* empty: none */
} proof_result;

/* How closely it is watched: gp_pool_check() every so many steps. */
enum { PROOF_CHECK_EVERY = 128, PROOF_COUNT_EVERY = 16 };

/* acted: for each step, whether it did something; NULL if nobody asks. */
void proof_play(const proof_device *device, const proof_plan *plan, proof_result *result,
                bool *acted);

#endif
