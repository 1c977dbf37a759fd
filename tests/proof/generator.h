/*
 * Random programs: a seed gives a machine, the pools' configuration and a list of steps.
 *
 * Each program has a mood of its own: kinds of steps it prefers and others it leaves out, sizes,
 * how often threads take turns. Programs that do everything equally often find less.
 */
#ifndef GP_TESTS_PROOF_GENERATOR_H
#define GP_TESTS_PROOF_GENERATOR_H

#include "step.h"

#include "gp/gp.h"
#include "gp/sim.h"

#include <stdbool.h>

typedef struct proof_plan {
    uint64_t seed;
    gp_sim_config machine;
    gp_pool_config pool;
    bool is_tight; /* the device or the pool may run full */
    size_t count;
    proof_step *steps;
} proof_plan;

/* What programs may not do. */
typedef struct proof_limits {
    size_t most_steps;    /* of a program */
    bool without_hazards; /* the checker stays off, for speed */
    bool without_faults;  /* no native call fails */
    bool without_captures;
    bool passes_through; /* the pools do */
    bool with_aids;      /* the same, and they look for faults of the program, which has none */
    bool in_crowd;       /* only what a thread may do while others are at it */
} proof_limits;

/* The plan's steps are the caller's; free them with proof_plan_clear(). False without memory. */
bool proof_generate(uint64_t seed, const proof_limits *limits, proof_plan *plan);
void proof_plan_clear(proof_plan *plan);

/* Seed of the program number `index` of a run. */
uint64_t proof_program_seed(uint64_t run_seed, uint64_t index);

#endif
