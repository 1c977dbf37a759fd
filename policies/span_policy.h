/*
 * A policy that is one heap of spans (span_heap.h) and nothing else: what first fit and best
 * fit share. They differ by the index alone, that is, by the slot create().
 */
#ifndef GP_POLICIES_SPAN_POLICY_H
#define GP_POLICIES_SPAN_POLICY_H

#include "span_heap.h"

/* For create(). @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY. */
gp_status gp_span_policy_create(void **state, const gp_span_index_ops *index_ops);

/* The other slots, as gp/policy.h wants them. */
void gp_span_policy_destroy(void *state);
gp_status gp_span_policy_add_segment(void *state, gp_span segment);
bool gp_span_policy_remove_segment(void *state, uintptr_t base);
bool gp_span_policy_segment_is_free(const void *state, uintptr_t base);
bool gp_span_policy_take(void *state, size_t bytes, size_t alignment, uintptr_t *base);
void gp_span_policy_give(void *state, gp_span span);
void gp_span_policy_usage(const void *state, gp_policy_usage *usage);
bool gp_span_policy_is_valid(const void *state);

/* Those slots in the initialiser of a table. */
#define GP_SPAN_POLICY_SLOTS                                                                       \
    .destroy = gp_span_policy_destroy, .add_segment = gp_span_policy_add_segment,                  \
    .remove_segment = gp_span_policy_remove_segment,                                               \
    .segment_is_free = gp_span_policy_segment_is_free, .take = gp_span_policy_take,                \
    .give = gp_span_policy_give, .usage = gp_span_policy_usage,                                    \
    .is_valid = gp_span_policy_is_valid

#endif
