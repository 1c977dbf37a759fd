/*
 * Two policies, chosen by the size of the request.
 *
 *   segments   | small's   | large's          | large's, free |
 *                   ^           ^                    |
 *   requests     short        long                   `--> to small, when it has no room
 *
 * Each segment is with one of the two. Which one, and how much of it is taken, is known here, so
 * that a block finds back by its address, and a wholly free segment can change over without a
 * word to the pool.
 */
#include "range_map.h"
#include "span_heap.h"
#include "tree.h"

#include <bsd/sys/queue.h>
#include <stdlib.h>
#include <string.h>

/* As long as most segments of a pool are. */
static const size_t window_bytes = (size_t)32 << 20;

typedef struct part part;

typedef struct segment {
    gp_span span; /* First: found by address as that. */
    part *owner;
    size_t taken_bytes;
    RB_ENTRY(segment) by_length; /* While nothing is taken. */
    LIST_ENTRY(segment) all;
} segment;

RB_HEAD(whole_segments, segment);

/* One of the two policies. */
struct part {
    gp_policy_ops ops; /* Completed: an older table may be shorter. */
    void *state;
    struct whole_segments whole; /* Its segments of which nothing is taken. */
};

typedef struct by_size {
    part small;
    part large;
    size_t up_to_bytes;
    gp_range_map by_address; /* segment by any address in it. */
    LIST_HEAD(, segment) all;
    size_t segment_count;
} by_size;

static int compare(const segment *a, const segment *b)
{
    if (a->span.bytes != b->span.bytes) {
        return a->span.bytes < b->span.bytes ? -1 : 1;
    }
    return (a->span.base > b->span.base) - (a->span.base < b->span.base);
}

GP_TREE_GENERATE(whole_segments, segment, by_length, compare)

/* ---- the two policies ---- */

static bool always_valid(const void *state)
{
    (void)state;
    return true;
}

/* As gp_pool_create() does for the table that it is given. */
static bool complete(gp_policy_ops *ops, const gp_policy_ops *given)
{
    if (given == NULL || given->struct_bytes < offsetof(gp_policy_ops, is_valid) ||
        given->struct_bytes > sizeof(*ops)) {
        return false;
    }
    memset(ops, 0, sizeof(*ops));
    memcpy(ops, given, given->struct_bytes);
    if (ops->is_valid == NULL) {
        ops->is_valid = always_valid;
    }
    return ops->create != NULL && ops->destroy != NULL && ops->add_segment != NULL &&
           ops->remove_segment != NULL && ops->segment_is_free != NULL && ops->take != NULL &&
           ops->give != NULL && ops->usage != NULL;
}

static gp_status part_init(part *self, const gp_policy_ops *given, const gp_policy_params *params)
{
    gp_policy_params own = *params;

    if (!complete(&self->ops, given)) {
        return GP_ERR_INVALID_CONFIG;
    }
    own.policy = &self->ops;
    return self->ops.create(&self->state, &own);
}

static void part_fini(part *self)
{
    self->ops.destroy(self->state);
}

static gp_status init(by_size *self, const gp_policy_params *params)
{
    const gp_policy_split *split = &params->policy->split;
    gp_status status = part_init(&self->small, split->small, params);

    if (status != GP_OK) {
        return status;
    }
    status = part_init(&self->large, split->large, params);
    if (status != GP_OK) {
        goto fini_small;
    }
    if (!gp_range_map_init(&self->by_address, window_bytes)) {
        status = GP_ERR_OUT_OF_HOST_MEMORY;
        goto fini_large;
    }
    self->up_to_bytes = split->up_to_bytes;
    return GP_OK;

fini_large:
    part_fini(&self->large);
fini_small:
    part_fini(&self->small);
    return status;
}

static gp_status by_size_create(void **state, const gp_policy_params *params)
{
    if (params->struct_bytes < sizeof(*params) || params->policy == NULL) {
        return GP_ERR_INVALID_CONFIG;
    }
    by_size *self = calloc(1, sizeof(*self));

    if (self == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    gp_status status = init(self, params);

    if (status != GP_OK) {
        free(self);
        return status;
    }
    *state = self;
    return GP_OK;
}

static void by_size_destroy(void *state)
{
    by_size *self = state;

    while (!LIST_EMPTY(&self->all)) {
        segment *first = LIST_FIRST(&self->all);

        LIST_REMOVE(first, all);
        free(first);
    }
    gp_range_map_fini(&self->by_address);
    part_fini(&self->large);
    part_fini(&self->small);
    free(self);
}

/* ---- segments ---- */

static segment *segment_at(const by_size *self, uintptr_t address)
{
    return (segment *)gp_range_map_find(&self->by_address, address);
}

/* NULL: none starts here. */
static segment *find_segment(const by_size *self, uintptr_t base)
{
    segment *found = segment_at(self, base);

    return found != NULL && found->span.base == base ? found : NULL;
}

static gp_status by_size_add_segment(void *state, gp_span span)
{
    by_size *self = state;
    segment *added = malloc(sizeof(*added));
    gp_status status = GP_ERR_OUT_OF_HOST_MEMORY;

    if (added != NULL && gp_range_map_reserve(&self->by_address, span.bytes)) {
        /* Whoever needs it first will have it; until then it is with the one of long spans. */
        status = self->large.ops.add_segment(self->large.state, span);
    }
    if (status != GP_OK) {
        free(added);
        return status;
    }
    *added = (segment){.span = span, .owner = &self->large};
    gp_range_map_insert(&self->by_address, &added->span);
    LIST_INSERT_HEAD(&self->all, added, all);
    RB_INSERT(whole_segments, &self->large.whole, added);
    self->segment_count++;
    return GP_OK;
}

static bool by_size_segment_is_free(const void *state, uintptr_t base)
{
    const segment *found = find_segment(state, base);

    return found != NULL && found->taken_bytes == 0;
}

static bool by_size_remove_segment(void *state, uintptr_t base)
{
    by_size *self = state;
    segment *found = find_segment(self, base);

    if (found == NULL || found->taken_bytes != 0 ||
        !found->owner->ops.remove_segment(found->owner->state, base)) {
        return false;
    }
    RB_REMOVE(whole_segments, &found->owner->whole, found);
    gp_range_map_remove(&self->by_address, &found->span);
    LIST_REMOVE(found, all);
    self->segment_count--;
    free(found);
    return true;
}

/* A wholly free segment changes over. First there, then away: what can fail comes first. */
static bool move_segment(segment *moved, part *to)
{
    part *from = moved->owner;

    if (to->ops.add_segment(to->state, moved->span) != GP_OK) {
        return false;
    }
    if (!from->ops.remove_segment(from->state, moved->span.base)) {
        (void)to->ops.remove_segment(to->state, moved->span.base);
        return false;
    }
    RB_REMOVE(whole_segments, &from->whole, moved);
    RB_INSERT(whole_segments, &to->whole, moved);
    moved->owner = to;
    return true;
}

/* The shortest of the whole segments that has room. */
static segment *find_whole(part *from, size_t bytes, size_t alignment)
{
    segment wanted = {.span = {.base = 0, .bytes = bytes}};
    segment *found = RB_NFIND(whole_segments, &from->whole, &wanted);
    uintptr_t base;

    while (found != NULL && !gp_span_fits(found->span, bytes, alignment, &base)) {
        found = RB_NEXT(whole_segments, &from->whole, found);
    }
    return found;
}

static bool fetch_segment(part *to, part *from, size_t bytes, size_t alignment)
{
    segment *found = find_whole(from, bytes, alignment);

    return found != NULL && move_segment(found, to);
}

/* ---- blocks ---- */

static bool take_from(by_size *self, part *from, gp_span *block, size_t alignment)
{
    if (!from->ops.take(from->state, block->bytes, alignment, &block->base)) {
        return false;
    }
    segment *cut = segment_at(self, block->base);

    if (cut->taken_bytes == 0) {
        RB_REMOVE(whole_segments, &from->whole, cut);
    }
    cut->taken_bytes += block->bytes;
    return true;
}

static bool by_size_take(void *state, size_t bytes, size_t alignment, uintptr_t *base)
{
    by_size *self = state;
    bool is_small = bytes <= self->up_to_bytes;
    part *own = is_small ? &self->small : &self->large;
    part *other = is_small ? &self->large : &self->small;
    gp_span block = {0, bytes};

    if (!take_from(self, own, &block, alignment) &&
        !(fetch_segment(own, other, bytes, alignment) && take_from(self, own, &block, alignment)) &&
        !take_from(self, other, &block, alignment)) {
        return false;
    }
    *base = block.base;
    return true;
}

static void by_size_give(void *state, gp_span span)
{
    segment *cut = segment_at(state, span.base);
    part *owner = cut->owner;

    owner->ops.give(owner->state, span);
    cut->taken_bytes -= span.bytes;
    if (cut->taken_bytes == 0) {
        RB_INSERT(whole_segments, &owner->whole, cut);
    }
}

/* ---- questions ---- */

static void by_size_usage(const void *state, gp_policy_usage *usage)
{
    const by_size *self = state;
    gp_policy_usage small;
    gp_policy_usage large;

    self->small.ops.usage(self->small.state, &small);
    self->large.ops.usage(self->large.state, &large);
    *usage = (gp_policy_usage){
        .free_bytes = small.free_bytes + large.free_bytes,
        .largest_free_bytes = small.largest_free_bytes > large.largest_free_bytes
                                  ? small.largest_free_bytes
                                  : large.largest_free_bytes,
        .metadata_bytes = sizeof(*self) + self->segment_count * sizeof(segment) +
                          gp_range_map_metadata_bytes(&self->by_address) + small.metadata_bytes +
                          large.metadata_bytes,
    };
}

static bool segment_is_valid(const by_size *self, segment *checked)
{
    bool is_whole = checked->taken_bytes == 0;
    part *owner = checked->owner;

    return find_segment(self, checked->span.base) == checked &&
           checked->taken_bytes <= checked->span.bytes &&
           owner->ops.segment_is_free(owner->state, checked->span.base) == is_whole &&
           (RB_FIND(whole_segments, &owner->whole, checked) == checked) == is_whole;
}

static bool by_size_is_valid(const void *state)
{
    const by_size *self = state;
    gp_policy_usage usage;
    size_t free_bytes = 0;
    size_t count = 0;
    segment *checked;

    LIST_FOREACH (checked, &self->all, all) {
        if (!segment_is_valid(self, checked)) {
            return false;
        }
        free_bytes += checked->span.bytes - checked->taken_bytes;
        count++;
    }
    by_size_usage(self, &usage);
    return count == self->segment_count && free_bytes == usage.free_bytes &&
           self->small.ops.is_valid(self->small.state) &&
           self->large.ops.is_valid(self->large.state);
}

gp_policy_ops gp_policy_by_size(const gp_policy_ops *small, size_t up_to_bytes,
                                const gp_policy_ops *large)
{
    return (gp_policy_ops){
        .struct_bytes = sizeof(gp_policy_ops),
        .name = "by_size",
        .create = by_size_create,
        .destroy = by_size_destroy,
        .add_segment = by_size_add_segment,
        .remove_segment = by_size_remove_segment,
        .segment_is_free = by_size_segment_is_free,
        .take = by_size_take,
        .give = by_size_give,
        .usage = by_size_usage,
        .is_valid = by_size_is_valid,
        .split = {small, up_to_bytes, large},
    };
}
