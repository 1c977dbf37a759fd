#include "planted_fault.h"

#include <stdlib.h>

enum {
    FAULT_EVERY = 100, /* The chances that come up before one is used. */
    MOST_RECORDS = 1024,
};

/* Longer ones may come back in pieces. */
static const size_t longest_bytes = (size_t)64 << 10;

/* A block that went out wrong. */
typedef struct altered_block {
    gp_span block;
    gp_span inner; /* What the policy behind takes it for. */
} altered_block;

typedef struct wrapper {
    void *inner;
    size_t free_bytes;
    size_t chances;
    altered_block altered[MOST_RECORDS];
    size_t altered_count;
    gp_span kept[MOST_RECORDS]; /* Free, but not joined. */
    size_t kept_count;
    gp_span last; /* The last block handed out; of no bytes: it came back. */
} wrapper;

static const gp_policy_ops *inner_ops;
static planted_fault planted;

const char *planted_fault_name(planted_fault fault)
{
    static const char *const names[PLANTED_FAULTS] = {
        "nothing", "skipped join", "wrong split", "off-by-one fit", "lost span", "overlap",
    };

    return names[fault];
}

static gp_status wrapper_create(void **state, const gp_policy_params *params)
{
    wrapper *self = calloc(1, sizeof(*self));

    if (self == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    gp_status status = inner_ops->create(&self->inner, params);

    if (status != GP_OK) {
        free(self);
        return status;
    }
    *state = self;
    return GP_OK;
}

static void wrapper_destroy(void *state)
{
    wrapper *self = state;

    inner_ops->destroy(self->inner);
    free(self);
}

static gp_status wrapper_add_segment(void *state, gp_span segment)
{
    wrapper *self = state;
    gp_status status = inner_ops->add_segment(self->inner, segment);

    self->free_bytes += status == GP_OK ? segment.bytes : 0;
    return status;
}

static size_t inner_free_bytes(const wrapper *self)
{
    gp_policy_usage usage;

    inner_ops->usage(self->inner, &usage);
    return usage.free_bytes;
}

static bool wrapper_remove_segment(void *state, uintptr_t base)
{
    wrapper *self = state;
    size_t before = inner_free_bytes(self);

    if (!inner_ops->remove_segment(self->inner, base)) {
        return false;
    }
    self->free_bytes -= before - inner_free_bytes(self);
    return true;
}

static bool wrapper_segment_is_free(const void *state, uintptr_t base)
{
    const wrapper *self = state;

    return inner_ops->segment_is_free(self->inner, base);
}

/* Is this the place for the fault? */
static bool is_due(wrapper *self, planted_fault fault, size_t bytes)
{
    return planted == fault && bytes <= longest_bytes && self->altered_count < MOST_RECORDS &&
           self->kept_count < MOST_RECORDS && ++self->chances % FAULT_EVERY == 0;
}

/* Takes less or more than is handed out. */
static bool take_altered(wrapper *self, size_t bytes, size_t taken_bytes, size_t alignment,
                         uintptr_t *base)
{
    if (!inner_ops->take(self->inner, taken_bytes, alignment, base)) {
        return false;
    }
    self->altered[self->altered_count++] = (altered_block){{*base, bytes}, {*base, taken_bytes}};
    return true;
}

/* A kept span of just this length is used again. */
static bool take_kept(wrapper *self, size_t bytes, size_t alignment, uintptr_t *base)
{
    for (size_t i = 0; i < self->kept_count; i++) {
        if (self->kept[i].bytes == bytes && self->kept[i].base % alignment == 0) {
            *base = self->kept[i].base;
            self->kept[i] = self->kept[--self->kept_count];
            return true;
        }
    }
    return false;
}

static bool place(wrapper *self, size_t bytes, size_t alignment, uintptr_t *base)
{
    if (is_due(self, PLANTED_WRONG_SPLIT, bytes)) {
        return take_altered(self, bytes, bytes + GP_GRANULE_BYTES, alignment, base);
    }
    if (bytes > GP_GRANULE_BYTES && is_due(self, PLANTED_OFF_BY_ONE_FIT, bytes)) {
        return take_altered(self, bytes, bytes - GP_GRANULE_BYTES, alignment, base);
    }
    if (bytes <= self->last.bytes && is_due(self, PLANTED_OVERLAP, bytes)) {
        *base = self->last.base;
        return true;
    }
    return take_kept(self, bytes, alignment, base) ||
           inner_ops->take(self->inner, bytes, alignment, base);
}

static bool wrapper_take(void *state, size_t bytes, size_t alignment, uintptr_t *base)
{
    wrapper *self = state;

    if (!place(self, bytes, alignment, base)) {
        return false;
    }
    self->free_bytes -= bytes;
    self->last = (gp_span){*base, bytes};
    return true;
}

/* What the policy behind knows of the block. A granule that was cut off wrongly stays so. */
static gp_span inner_of(wrapper *self, gp_span span)
{
    for (size_t i = 0; i < self->altered_count; i++) {
        altered_block found = self->altered[i];

        if (found.block.base == span.base) {
            self->altered[i] = self->altered[--self->altered_count];
            return planted == PLANTED_WRONG_SPLIT ? span : found.inner;
        }
    }
    return span;
}

static void wrapper_give(void *state, gp_span span)
{
    wrapper *self = state;

    self->free_bytes += span.bytes;
    if (span.base == self->last.base) {
        self->last.bytes = 0;
    }
    if (is_due(self, PLANTED_LOST_SPAN, span.bytes)) {
        return;
    }
    if (is_due(self, PLANTED_SKIPPED_JOIN, span.bytes)) {
        self->kept[self->kept_count++] = span;
        return;
    }
    inner_ops->give(self->inner, inner_of(self, span));
}

static void wrapper_usage(const void *state, gp_policy_usage *usage)
{
    const wrapper *self = state;

    inner_ops->usage(self->inner, usage);
    usage->free_bytes = self->free_bytes;
    for (size_t i = 0; i < self->kept_count; i++) {
        if (self->kept[i].bytes > usage->largest_free_bytes) {
            usage->largest_free_bytes = self->kept[i].bytes;
        }
    }
}

const gp_policy_ops *planted_fault_wrap(const gp_policy_ops *inner, planted_fault fault)
{
    static const gp_policy_ops ops = {
        .struct_bytes = sizeof(ops),
        .name = "planted",
        .create = wrapper_create,
        .destroy = wrapper_destroy,
        .add_segment = wrapper_add_segment,
        .remove_segment = wrapper_remove_segment,
        .segment_is_free = wrapper_segment_is_free,
        .take = wrapper_take,
        .give = wrapper_give,
        .usage = wrapper_usage,
    };

    inner_ops = inner;
    planted = fault;
    return &ops;
}
