/*
 * A policy with a fault planted into it: a wrapper that does most things as the policy behind it
 * does, and every hundredth wrong. It lies about it, too: free_bytes is what it should be, and
 * is_valid() is left out. So only what the policy does can betray it.
 */
#ifndef GP_TESTS_PLANTED_FAULT_H
#define GP_TESTS_PLANTED_FAULT_H

#include "gp/policy.h"

typedef enum planted_fault {
    PLANTED_NOTHING,
    PLANTED_SKIPPED_JOIN,   /* A span comes back and is not joined with its neighbours. */
    PLANTED_WRONG_SPLIT,    /* What is left of a span begins one granule too late. */
    PLANTED_OFF_BY_ONE_FIT, /* A span that is one granule too short is taken for the request. */
    PLANTED_LOST_SPAN,      /* A span comes back and is forgotten. */
    PLANTED_OVERLAP,        /* A block is handed out that is taken already. */
    PLANTED_FAULTS,
} planted_fault;

const char *planted_fault_name(planted_fault fault);

/* The table is the caller's until the next call. */
const gp_policy_ops *planted_fault_wrap(const gp_policy_ops *inner, planted_fault fault);

#endif
