/* First fit: the lowest-addressed free span that is long enough (first_fit_index.c). */
#include "span_policy.h"

static gp_status first_fit_create(void **state, const gp_policy_params *params)
{
    (void)params; /* Small or large, a request is placed by one rule. */
    return gp_span_policy_create(state, &gp_first_fit_index);
}

const gp_policy_ops *gp_policy_first_fit(void)
{
    static const gp_policy_ops ops = {
        .struct_bytes = sizeof(ops),
        .name = "first_fit",
        .create = first_fit_create,
        GP_SPAN_POLICY_SLOTS,
    };

    return &ops;
}
