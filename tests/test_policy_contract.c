/* Every policy that comes with gp, the example too, through the one contract. */
#include "policy_contract.h"
#include "policy_instances.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

enum {
    RUNS = 4, /* Each with a seed of its own, side by side. */
    OPERATIONS = POLICY_OPERATIONS / RUNS,
    SHORT = 20000,
};

/* Of examples/policy_next_fit. */
GP_API const gp_policy_ops *gp_policy_entry(void);

typedef struct policy_under_test {
    const gp_policy_ops *(*ops)(void);
    policy_rule rule;
    size_t slowness; /* Of its searches: so many times fewer operations. */
} policy_under_test;

static const gp_policy_ops *first_fit_below_best_fit(void)
{
    static gp_policy_ops ops;

    ops = gp_policy_by_size(gp_policy_first_fit(), 32 << 10, gp_policy_best_fit());
    return &ops;
}

static const gp_policy_ops *cache_first_between_others(void)
{
    static gp_policy_ops upper;
    static gp_policy_ops ops;

    upper = gp_policy_by_size(gp_policy_cache_first(), 256 << 10, gp_policy_best_fit());
    ops = gp_policy_by_size(gp_policy_first_fit(), 4 << 10, &upper);
    return &ops;
}

static const policy_under_test policies[] = {
    {gp_policy_cache_first, POLICY_RULE_ANY, 1},
    {gp_policy_first_fit, POLICY_RULE_FIRST_FIT, 1},
    {gp_policy_best_fit, POLICY_RULE_BEST_FIT, 1},
    {first_fit_below_best_fit, POLICY_RULE_ANY, 1},
    {cache_first_between_others, POLICY_RULE_ANY, 1},
    {gp_policy_entry, POLICY_RULE_ANY, 10},
};

enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

static policy_contract_run run_of(size_t policy, uint64_t seed, size_t operations)
{
    return (policy_contract_run){
        .ops = policies[policy].ops(),
        .rule = policies[policy].rule,
        .seed = seed,
        .operations = operations / policies[policy].slowness,
    };
}

static void require_contract(const policy_contract_run *run)
{
    cr_log_info("policy %s, seed %llu", run->ops->name, (unsigned long long)run->seed);
    policy_verdict verdict = policy_contract_check(run);

    cr_assert(verdict.holds, "%s", verdict.text);
}

ParameterizedTestParameters(policy_contract, holds_over_many_operations)
{
    static size_t indexes[POLICIES * RUNS];

    for (size_t i = 0; i < POLICIES * RUNS; i++) {
        indexes[i] = i;
    }
    return cr_make_param_array(size_t, indexes, POLICIES * RUNS);
}

ParameterizedTest(size_t *index, policy_contract, holds_over_many_operations)
{
    policy_contract_run run = run_of(*index / RUNS, 1 + *index % RUNS, OPERATIONS);

    require_contract(&run);
}

ParameterizedTestParameters(policy_contract, holds_when_host_memory_runs_out)
{
    static size_t indexes[POLICIES];

    for (size_t i = 0; i < POLICIES; i++) {
        indexes[i] = i;
    }
    return cr_make_param_array(size_t, indexes, POLICIES);
}

ParameterizedTest(size_t *index, policy_contract, holds_when_host_memory_runs_out)
{
    policy_verdict creation = policy_instances_check_create(policies[*index].ops());
    policy_contract_run run = run_of(*index, 11, SHORT);
    run.with_faults = true;

    cr_assert(creation.holds, "%s", creation.text);
    require_contract(&run);
}

Test(policy_contract, finds_the_same_addresses_for_the_same_sequence)
{
    for (size_t policy = 0; policy < POLICIES; policy++) {
        policy_contract_run run = run_of(policy, 21, SHORT);

        policy_verdict verdict = policy_instances_check_determinism(&run);

        cr_assert(verdict.holds, "%s", verdict.text);
    }
}

Test(policy_contract, is_kept_by_tables_that_are_complete)
{
    for (size_t policy = 0; policy < POLICIES; policy++) {
        const gp_policy_ops *ops = policies[policy].ops();

        cr_assert(eq(u32, ops->struct_bytes, sizeof(gp_policy_ops)));
        cr_assert(ops->is_valid != NULL);
        cr_assert(eq(ptr, (void *)ops, (void *)policies[policy].ops()), "an accessor is constant");
    }
}
