/* The default policy, through its table only. */
#include "policy_contract.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { OPERATIONS = 6000 };

Test(policy_cache_first, keeps_the_contract)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        policy_contract_holds(gp_policy_cache_first(), seed, OPERATIONS);
    }
}

Test(policy_cache_first, keeps_the_contract_when_host_memory_runs_out)
{
    for (uint64_t seed = 11; seed <= 14; seed++) {
        policy_contract_holds_without_host_memory(gp_policy_cache_first(), seed, OPERATIONS);
    }
}

Test(policy_cache_first, gives_the_same_addresses_for_the_same_sequence)
{
    policy_contract_is_deterministic(gp_policy_cache_first(), 21, OPERATIONS);
}
