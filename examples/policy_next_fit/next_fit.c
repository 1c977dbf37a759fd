/*
 * Next fit, a placement policy for gp in a shared library of its own: each search begins where the
 * last one ended, so that blocks spread evenly over the segments.
 *
 * A segment has a map with one byte for each granule: taken or free. So there is nothing to join
 * when a block comes back, in whatever pieces, and nothing to allocate. The price is that a search
 * reads the map: it takes time with the length of a segment, not with its logarithm.
 *
 * docs/writing-a-policy.md walks through this file.
 */
#include "gp/policy.h"

#include <stdlib.h>
#include <string.h>

enum { FREE = 0, TAKEN = 1 };

typedef struct segment {
    struct segment *next; /* In order of address. */
    gp_span span;
    size_t granules;
    size_t free_granules;
    size_t longest; /* Granules of the longest free run. */
    unsigned char map[];
} segment;

typedef struct next_fit {
    segment *first;
    segment *current; /* Where the next search begins; NULL: in the first. */
    size_t cursor;    /* At which granule of it. */
} next_fit;

static gp_status next_fit_create(void **state, const gp_policy_params *params)
{
    next_fit *self = calloc(1, sizeof(*self));

    (void)params; /* Small or large, a request is placed by one rule. */
    if (self == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    *state = self;
    return GP_OK;
}

static void next_fit_destroy(void *state)
{
    next_fit *self = state;

    while (self->first != NULL) {
        segment *next = self->first->next;

        free(self->first);
        self->first = next;
    }
    free(self);
}

/* ---- segments ---- */

/* The link that leads to the first segment at this address or above. */
static segment **find_link(next_fit *self, uintptr_t base)
{
    segment **link = &self->first;

    while (*link != NULL && (*link)->span.base < base) {
        link = &(*link)->next;
    }
    return link;
}

static gp_status next_fit_add_segment(void *state, gp_span span)
{
    size_t granules = span.bytes / GP_GRANULE_BYTES;
    segment *added = calloc(1, sizeof(*added) + granules); /* All of the map is FREE. */
    segment **link = find_link(state, span.base);

    if (added == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    added->span = span;
    added->granules = granules;
    added->free_granules = granules;
    added->longest = granules;
    added->next = *link;
    *link = added;
    return GP_OK;
}

static bool is_wholly_free(const segment *found, uintptr_t base)
{
    return found != NULL && found->span.base == base && found->free_granules == found->granules;
}

static bool next_fit_segment_is_free(const void *state, uintptr_t base)
{
    const next_fit *self = state;
    const segment *found = self->first;

    while (found != NULL && found->span.base != base) {
        found = found->next;
    }
    return is_wholly_free(found, base);
}

static bool next_fit_remove_segment(void *state, uintptr_t base)
{
    next_fit *self = state;
    segment **link = find_link(self, base);
    segment *found = *link;

    if (!is_wholly_free(found, base)) {
        return false;
    }
    *link = found->next;
    if (self->current == found) {
        self->current = found->next;
        self->cursor = 0;
    }
    free(found);
    return true;
}

/* ---- take ---- */

/* From one granule of a map on, the first that is in this state, else the map's end. */
static size_t find(const segment *in, size_t from, int state)
{
    const unsigned char *found = memchr(in->map + from, state, in->granules - from);

    return found == NULL ? in->granules : (size_t)(found - in->map);
}

/* Never wraps: what lies beyond the end of the segment is as good as far beyond. */
static size_t align_up(const segment *in, size_t granule, size_t alignment)
{
    uintptr_t address = in->span.base + granule * GP_GRANULE_BYTES;

    return granule + (size_t)(-address & (alignment - 1)) / GP_GRANULE_BYTES;
}

/* @param start [out] The first granule of the run. */
static bool find_run(const segment *in, size_t from, size_t granules, size_t alignment,
                     size_t *start)
{
    if (granules > in->longest) {
        return false;
    }
    for (size_t at = find(in, from, FREE); at < in->granules; at = find(in, at, FREE)) {
        at = align_up(in, at, alignment);
        if (at > in->granules || in->granules - at < granules) {
            return false;
        }
        size_t end = find(in, at, TAKEN);

        if (end - at >= granules) {
            *start = at;
            return true;
        }
        at = end;
    }
    return false;
}

/* Free runs may have become longer or shorter anywhere in it. */
static void measure(segment *changed)
{
    size_t end;

    changed->longest = 0;
    for (size_t at = find(changed, 0, FREE); at < changed->granules;
         at = find(changed, end, FREE)) {
        end = find(changed, at, TAKEN);
        if (end - at > changed->longest) {
            changed->longest = end - at;
        }
    }
}

static void mark(segment *changed, size_t start, size_t granules, int state)
{
    memset(changed->map + start, state, granules);
    if (state == TAKEN) {
        changed->free_granules -= granules;
    } else {
        changed->free_granules += granules;
    }
    measure(changed);
}

/* The segment to try after this one, round and round. */
static segment *after(const next_fit *self, const segment *tried)
{
    return tried->next != NULL ? tried->next : self->first;
}

/* The rest of the current segment, then all others, then the current one from its start. */
static bool search(const next_fit *self, size_t granules, size_t alignment, segment **in,
                   size_t *start)
{
    segment *begin = self->current != NULL ? self->current : self->first;
    segment *tried = begin;

    if (begin == NULL) {
        return false;
    }
    if (find_run(begin, self->cursor, granules, alignment, start)) {
        *in = begin;
        return true;
    }
    do {
        tried = after(self, tried);
        if (find_run(tried, 0, granules, alignment, start)) {
            *in = tried;
            return true;
        }
    } while (tried != begin);
    return false;
}

static bool next_fit_take(void *state, size_t bytes, size_t alignment, uintptr_t *base)
{
    next_fit *self = state;
    size_t granules = bytes / GP_GRANULE_BYTES;
    segment *cut;
    size_t start;

    if (!search(self, granules, alignment, &cut, &start)) {
        return false;
    }
    mark(cut, start, granules, TAKEN);
    self->current = cut;
    self->cursor = start + granules;
    *base = cut->span.base + start * GP_GRANULE_BYTES;
    return true;
}

/* ---- give ---- */

static void next_fit_give(void *state, gp_span span)
{
    next_fit *self = state;
    segment *owner = self->first;

    while (span.base - owner->span.base >= owner->span.bytes) {
        owner = owner->next;
    }
    mark(owner, (span.base - owner->span.base) / GP_GRANULE_BYTES, span.bytes / GP_GRANULE_BYTES,
         FREE);
}

/* ---- questions ---- */

static void next_fit_usage(const void *state, gp_policy_usage *usage)
{
    const next_fit *self = state;

    *usage = (gp_policy_usage){.metadata_bytes = sizeof(*self)};
    for (const segment *each = self->first; each != NULL; each = each->next) {
        usage->free_bytes += each->free_granules * GP_GRANULE_BYTES;
        usage->metadata_bytes += sizeof(*each) + each->granules;
        if (each->longest * GP_GRANULE_BYTES > usage->largest_free_bytes) {
            usage->largest_free_bytes = each->longest * GP_GRANULE_BYTES;
        }
    }
}

static bool next_fit_is_valid(const void *state)
{
    const next_fit *self = state;

    for (const segment *each = self->first; each != NULL; each = each->next) {
        size_t count = 0;

        for (size_t i = 0; i < each->granules; i++) {
            count += each->map[i] == FREE;
        }
        if (count != each->free_granules || each->longest > count ||
            (each->next != NULL && each->next->span.base <= each->span.base)) {
            return false;
        }
    }
    return true;
}

/* ---- what a program that loads this library looks for ---- */

GP_API const gp_policy_ops *gp_policy_entry(void);

const gp_policy_ops *gp_policy_entry(void)
{
    static const gp_policy_ops ops = {
        .struct_bytes = sizeof(ops),
        .name = "next_fit",
        .create = next_fit_create,
        .destroy = next_fit_destroy,
        .add_segment = next_fit_add_segment,
        .remove_segment = next_fit_remove_segment,
        .segment_is_free = next_fit_segment_is_free,
        .take = next_fit_take,
        .give = next_fit_give,
        .usage = next_fit_usage,
        .is_valid = next_fit_is_valid,
    };

    return &ops;
}
