/*
 * A policy through its contract, every choice made by the fuzzer: which sizes, which blocks come
 * back, when malloc fails. Compiled once for each policy.
 *
 *   FUZZED_POLICY   a const gp_policy_ops *
 *   FUZZED_RULE     its policy_rule
 */
#include "policy_contract.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0) {
        return 0;
    }
    policy_contract_run run = {
        .ops = FUZZED_POLICY,
        .rule = FUZZED_RULE,
        .operations = SIZE_MAX, /* Up to the last byte. */
        .with_faults = data[0] % 2 != 0,
        .bytes = data + 1,
        .byte_count = bytes - 1,
    };
    policy_verdict verdict = policy_contract_check(&run);

    if (!verdict.holds) {
        (void)fprintf(stderr, "%s\n", verdict.text);
        abort();
    }
    return 0;
}
