/*
 * What is free of some segments, as simple as can be: an array of spans in order of address, in
 * which everything is searched from the start. Policies are measured against it.
 */
#ifndef GP_TESTS_SPAN_MODEL_H
#define GP_TESTS_SPAN_MODEL_H

#include "gp/policy.h"

enum { SPAN_MODEL_MOST = 16384 };

typedef struct span_model {
    struct {
        gp_span span;
        size_t segment; /* Spans are joined with those of the same number only. */
    } spans[SPAN_MODEL_MOST];
    size_t count;
    size_t free_bytes;
} span_model;

/* A span that was not free is so now. @return false: a part of it was. */
bool span_model_give(span_model *model, gp_span span, size_t segment);

/* A span is no longer free. @return false: a part of it was not. */
bool span_model_take(span_model *model, gp_span span);

/* Is exactly this one free span? */
bool span_model_has(const span_model *model, gp_span span);

/* Where a request belongs by each rule. @return false: nowhere. */
bool span_model_first_fit(const span_model *model, size_t bytes, size_t alignment, uintptr_t *base);
bool span_model_best_fit(const span_model *model, size_t bytes, size_t alignment, uintptr_t *base);

size_t span_model_longest_bytes(const span_model *model);

#endif
