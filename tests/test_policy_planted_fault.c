/* The contract itself: what it has to find in policies that are wrong. */
#include "planted_fault.h"
#include "policy_contract.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { OPERATIONS = 20000 };

static const gp_policy_ops *(*const policies[])(void) = {
    gp_policy_cache_first,
    gp_policy_first_fit,
    gp_policy_best_fit,
};

enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

static policy_verdict judge(size_t policy, planted_fault fault)
{
    policy_contract_run run = {
        .ops = planted_fault_wrap(policies[policy](), fault),
        .seed = 31,
        .operations = OPERATIONS,
    };
    policy_verdict verdict = policy_contract_check(&run);

    cr_log_info("%s in %s: %s", planted_fault_name(fault), policies[policy]()->name, verdict.text);
    return verdict;
}

static void require_found(planted_fault fault)
{
    for (size_t policy = 0; policy < POLICIES; policy++) {
        policy_verdict verdict = judge(policy, fault);

        cr_assert(not(verdict.holds), "%s was not found", planted_fault_name(fault));
        cr_assert(ne(chr, verdict.text[0], '\0'), "a verdict says what was broken");
    }
}

Test(policy_planted_fault, is_not_found_where_there_is_none)
{
    for (size_t policy = 0; policy < POLICIES; policy++) {
        policy_verdict verdict = judge(policy, PLANTED_NOTHING);

        cr_assert(verdict.holds, "%s", verdict.text);
    }
}

Test(policy_planted_fault, is_found_where_a_join_is_skipped)
{
    require_found(PLANTED_SKIPPED_JOIN);
}

Test(policy_planted_fault, is_found_where_a_split_is_wrong)
{
    require_found(PLANTED_WRONG_SPLIT);
}

Test(policy_planted_fault, is_found_where_a_fit_is_off_by_one)
{
    require_found(PLANTED_OFF_BY_ONE_FIT);
}

Test(policy_planted_fault, is_found_where_a_span_is_lost)
{
    require_found(PLANTED_LOST_SPAN);
}

Test(policy_planted_fault, is_found_where_blocks_overlap)
{
    require_found(PLANTED_OVERLAP);
}

Test(policy_planted_fault, is_found_where_the_wrong_rule_of_fit_is_claimed)
{
    policy_contract_run run = {
        .ops = gp_policy_first_fit(),
        .rule = POLICY_RULE_BEST_FIT,
        .seed = 31,
        .operations = OPERATIONS,
    };

    policy_verdict claimed_best = policy_contract_check(&run);
    run.ops = gp_policy_best_fit();
    run.rule = POLICY_RULE_FIRST_FIT;
    policy_verdict claimed_first = policy_contract_check(&run);

    cr_assert(not(claimed_best.holds));
    cr_assert(not(claimed_first.holds));
}
