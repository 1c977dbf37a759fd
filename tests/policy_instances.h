/*
 * What a policy promises of one instance beside another: that one is made or is not, and that equal
 * instances do the same. Ends with a verdict, as policy_contract.h does.
 */
#ifndef GP_TESTS_POLICY_INSTANCES_H
#define GP_TESTS_POLICY_INSTANCES_H

#include "policy_contract.h"

/* create() while malloc fails, in each place once: a status, and no output. */
policy_verdict policy_instances_check_create(const gp_policy_ops *ops);

/* The run twice: the same addresses, wherever malloc puts the records. */
policy_verdict policy_instances_check_determinism(const policy_contract_run *run);

#endif
