/*
 * A program is tried in a forked process, so that a crash or a hang is a finding like any other.
 * The parent never calls gp, whose calls a child could not make after that.
 */
#ifndef GP_TESTS_PROOF_TRIAL_H
#define GP_TESTS_PROOF_TRIAL_H

#include "player.h"

typedef struct proof_options {
    bool on_standin; /* else on the simulated device of libgp */
    bool in_crowd;   /* threads run freely */
    proof_limits limits;
    uint64_t seed;
    uint64_t operations;  /* to be done, at least */
    unsigned seconds;     /* at most; 0: no limit */
    bool expects_failure; /* a fault is planted */
} proof_options;

/* A program that takes so long hangs: most take a tenth of a second, with sanitizers one. */
enum { PROOF_MOST_SECONDS = 20 };

/* One program, alone in a process of its own, for at most so many seconds. False if the process
 * could not be made. */
bool proof_try(const proof_options *options, const proof_plan *plan, unsigned seconds,
               proof_result *result, bool *acted);

/* Programs number `first` to `first + count - 1` of the run, one after another in one process,
 * until one fails: *failed is its number, or first + count. */
bool proof_try_many(const proof_options *options, uint64_t first, uint64_t count,
                    proof_result *result, uint64_t *failed);

#endif
