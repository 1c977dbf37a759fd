#include "span_model.h"

#include <stdlib.h>
#include <string.h>

static uintptr_t end_of(gp_span span)
{
    return span.base + span.bytes;
}

/* The first span that ends behind the address. */
static size_t find(const span_model *model, uintptr_t address)
{
    size_t first = 0;
    size_t last = model->count;

    while (first < last) {
        size_t middle = (first + last) / 2;

        if (end_of(model->spans[middle].span) <= address) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

static void insert(span_model *model, size_t i, gp_span span, size_t segment)
{
    if (model->count == SPAN_MODEL_MOST) {
        abort();
    }
    memmove(&model->spans[i + 1], &model->spans[i], (model->count - i) * sizeof(model->spans[0]));
    model->spans[i].span = span;
    model->spans[i].segment = segment;
    model->count++;
}

static void drop(span_model *model, size_t i)
{
    model->count--;
    memmove(&model->spans[i], &model->spans[i + 1], (model->count - i) * sizeof(model->spans[0]));
}

static void join_with_next(span_model *model, size_t i)
{
    if (i + 1 < model->count && model->spans[i].segment == model->spans[i + 1].segment &&
        end_of(model->spans[i].span) == model->spans[i + 1].span.base) {
        model->spans[i].span.bytes += model->spans[i + 1].span.bytes;
        drop(model, i + 1);
    }
}

bool span_model_give(span_model *model, gp_span span, size_t segment)
{
    size_t i = find(model, span.base);

    if (i < model->count && model->spans[i].span.base < end_of(span)) {
        return false;
    }
    insert(model, i, span, segment);
    join_with_next(model, i);
    if (i > 0) {
        join_with_next(model, i - 1);
    }
    model->free_bytes += span.bytes;
    return true;
}

bool span_model_take(span_model *model, gp_span span)
{
    size_t i = find(model, span.base);

    if (i == model->count || span.base < model->spans[i].span.base ||
        end_of(span) > end_of(model->spans[i].span) || end_of(span) < span.base) {
        return false;
    }
    gp_span head = {model->spans[i].span.base, span.base - model->spans[i].span.base};
    gp_span tail = {end_of(span), end_of(model->spans[i].span) - end_of(span)};
    size_t segment = model->spans[i].segment;

    drop(model, i);
    if (tail.bytes != 0) {
        insert(model, i, tail, segment);
    }
    if (head.bytes != 0) {
        insert(model, i, head, segment);
    }
    model->free_bytes -= span.bytes;
    return true;
}

bool span_model_has(const span_model *model, gp_span span)
{
    size_t i = find(model, span.base);

    return i < model->count && model->spans[i].span.base == span.base &&
           model->spans[i].span.bytes == span.bytes;
}

static bool fits(gp_span span, size_t bytes, size_t alignment, uintptr_t *base)
{
    uintptr_t start = (span.base + alignment - 1) / alignment * alignment;

    if (start < span.base || start > end_of(span) || end_of(span) - start < bytes) {
        return false;
    }
    *base = start;
    return true;
}

bool span_model_first_fit(const span_model *model, size_t bytes, size_t alignment, uintptr_t *base)
{
    for (size_t i = 0; i < model->count; i++) {
        if (fits(model->spans[i].span, bytes, alignment, base)) {
            return true;
        }
    }
    return false;
}

bool span_model_best_fit(const span_model *model, size_t bytes, size_t alignment, uintptr_t *base)
{
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < model->count; i++) {
        gp_span span = model->spans[i].span;

        if (span.bytes < least && fits(span, bytes, alignment, base)) {
            least = span.bytes;
        }
    }
    return least != SIZE_MAX;
}

size_t span_model_longest_bytes(const span_model *model)
{
    size_t longest = 0;

    for (size_t i = 0; i < model->count; i++) {
        if (model->spans[i].span.bytes > longest) {
            longest = model->spans[i].span.bytes;
        }
    }
    return longest;
}
