/* Best fit: the smallest free span that is long enough, of several the one at the lowest
 * address (best_fit_index.c). */
#include "span_policy.h"

static gp_status best_fit_create(void **state, const gp_policy_params *params)
{
    (void)params; /* Small or large, a request is placed by one rule. */
    return gp_span_policy_create(state, &gp_best_fit_index);
}

const gp_policy_ops *gp_policy_best_fit(void)
{
    static const gp_policy_ops ops = {
        .struct_bytes = sizeof(ops),
        .name = "best_fit",
        .create = best_fit_create,
        GP_SPAN_POLICY_SLOTS,
    };

    return &ops;
}
