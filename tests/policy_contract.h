/*
 * What every placement policy promises (include/gp/policy.h), checked against a model that knows
 * what is free (span_model.h).
 *
 * A run is a sequence of takes, gives (also in pieces, and parts of several blocks at once) and
 * segments that come and go. After each operation: no overlap, exact size, alignment, the sum of
 * free bytes, no allocation in give(); if the policy claims one, its rule of fit. From time to time
 * and at the end: is_valid(), segment_is_free() of each segment, and that take() meets
 * largest_free_bytes. Then everything is given back in random order, and every segment must be
 * whole again.
 *
 * Needs no test framework: a run ends with a verdict. Link with malloc_fault.c and span_model.c.
 */
#ifndef GP_TESTS_POLICY_CONTRACT_H
#define GP_TESTS_POLICY_CONTRACT_H

#include "gp/policy.h"

typedef enum policy_rule {
    POLICY_RULE_ANY, /* Wherever there is room. */
    POLICY_RULE_FIRST_FIT,
    POLICY_RULE_BEST_FIT
} policy_rule;

typedef struct policy_contract_run {
    const gp_policy_ops *ops;
    policy_rule rule;
    uint64_t seed;        /* The same seed gives the same sequence. */
    size_t operations;    /* At most. */
    bool with_faults;     /* malloc fails now and then: what fails has changed nothing. */
    const uint8_t *bytes; /* Choices of a fuzzer, in place of the seed; NULL: none. */
    size_t byte_count;
} policy_contract_run;

typedef struct policy_verdict {
    bool holds;
    char text[256]; /* If it does not: the promise, when, and the seed. */
    uint64_t trail; /* A hash of every address handed out: equal runs have equal trails. */
} policy_verdict;

policy_verdict policy_contract_check(const policy_contract_run *run);

#endif
