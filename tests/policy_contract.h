/*
 * What every placement policy promises (include/gp/policy.h), checked against a
 * model that knows of each granule whether it is taken.
 *
 * The checks are Criterion asserts; the same seed gives the same sequence, and
 * each sequence prints its seed. Link with malloc_fault.c.
 */
#ifndef GP_TESTS_POLICY_CONTRACT_H
#define GP_TESTS_POLICY_CONTRACT_H

#include "gp/policy.h"

/*
 * Takes, gives (also in pieces, and several at once), segments that come and go, and
 * large_bytes, at random. After each operation: no overlap, exact size, alignment, the sum of
 * free bytes, no allocation in give(). From time to time and at the end: is_valid(),
 * segment_is_free() of each segment, and that take() meets largest_free_bytes. Then everything
 * is given back in random order, and every segment must be whole again.
 */
void policy_contract_holds(const gp_policy_ops *ops, uint64_t seed, size_t operations);

/* The same, while malloc fails now and then: what fails has changed nothing. */
void policy_contract_holds_without_host_memory(const gp_policy_ops *ops, uint64_t seed,
                                               size_t operations);

/* The same sequence twice: the same addresses, wherever malloc puts the records. */
void policy_contract_is_deterministic(const gp_policy_ops *ops, uint64_t seed, size_t operations);

#endif
