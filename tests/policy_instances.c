#include "policy_instances.h"

#include "malloc_fault.h"

#include <stdio.h>
#include <stdlib.h>

policy_verdict policy_instances_check_create(const gp_policy_ops *ops)
{
    gp_policy_params params = {
        .struct_bytes = sizeof(params),
        .large_bytes = 1 << 20,
        .policy = ops,
    };
    gp_status status = GP_ERR_OUT_OF_HOST_MEMORY;
    policy_verdict verdict = {.holds = true};
    void *state = NULL;

    for (size_t calls = 0; status != GP_OK; calls++) {
        if (status != GP_ERR_OUT_OF_HOST_MEMORY || state != NULL) {
            verdict.holds = false;
            (void)snprintf(verdict.text, sizeof(verdict.text),
                           "policy %s: create() fails with status %d, output %p", ops->name,
                           (int)status, state);
            return verdict;
        }
        malloc_fault_after(calls);
        status = ops->create(&state, &params);
        malloc_fault_off();
    }
    ops->destroy(state);
    return verdict;
}

policy_verdict policy_instances_check_determinism(const policy_contract_run *run)
{
    policy_verdict first = policy_contract_check(run);
    void *shift = malloc(12345); /* Records of the second run lie elsewhere. */
    policy_verdict second = policy_contract_check(run);

    free(shift);
    if (first.holds && second.holds && first.trail != second.trail) {
        second.holds = false;
        (void)snprintf(second.text, sizeof(second.text),
                       "policy %s, seed %llu: the same sequence, but other addresses",
                       run->ops->name, (unsigned long long)run->seed);
    }
    return first.holds ? second : first;
}
