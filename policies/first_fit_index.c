/*
 * First fit: one tree in order of address, in which each node also knows the longest span
 * of its subtree. A search goes to the left wherever something long enough lies there.
 *
 *                      40 k, longest 96 k
 *                     /                  \
 *       8 k, longest 16 k            96 k, longest 96 k
 *              \
 *         16 k, longest 16 k
 *
 *   first(12 k): the 16 k; first(20 k): the 40 k; first(50 k): the 96 k
 */
#include "span_index.h"

#include <stdlib.h>

static size_t longest_of(const gp_span_node *subtree)
{
    return subtree == NULL ? 0 : subtree->longest_bytes;
}

static size_t find_longest(const gp_span_node *node)
{
    size_t left = longest_of(RB_LEFT(node, by_index));
    size_t right = longest_of(RB_RIGHT(node, by_index));
    size_t below = left > right ? left : right;

    return node->span.bytes > below ? node->span.bytes : below;
}

/* The tree calls this wherever a rotation changed what lies below a node. */
#undef RB_AUGMENT
#define RB_AUGMENT(node) ((node)->longest_bytes = find_longest(node))

RB_HEAD(by_address, gp_span_node);

static int compare(const gp_span_node *a, const gp_span_node *b)
{
    return (a->span.base > b->span.base) - (a->span.base < b->span.base);
}

GP_TREE_GENERATE(by_address, gp_span_node, by_index, compare)

static void *first_fit_create(void)
{
    return calloc(1, sizeof(struct by_address));
}

static void first_fit_destroy(void *index)
{
    free(index);
}

/* The tree itself looks no further than to the parent of what it changed. */
static void update_from(gp_span_node *node)
{
    for (; node != NULL; node = RB_PARENT(node, by_index)) {
        node->longest_bytes = find_longest(node);
    }
}

static void first_fit_insert(void *index, gp_span_node *node)
{
    node->longest_bytes = node->span.bytes;
    RB_INSERT(by_address, index, node);
    update_from(node);
}

static void first_fit_remove(void *index, gp_span_node *node)
{
    gp_span_node *parent = RB_PARENT(node, by_index);

    RB_REMOVE(by_address, index, node);
    update_from(parent);
}

/* The order is that of the addresses, so the node stays where it is. */
static void first_fit_reshape(void *index, gp_span_node *node, gp_span span)
{
    (void)index;
    node->span = span;
    while (node != NULL && node->longest_bytes != find_longest(node)) {
        node->longest_bytes = find_longest(node);
        node = RB_PARENT(node, by_index);
    }
}

/* The first span of a subtree that is long enough. */
static gp_span_node *first_below(gp_span_node *node, size_t bytes)
{
    if (longest_of(node) < bytes) {
        return NULL;
    }
    for (;;) {
        gp_span_node *left = RB_LEFT(node, by_index);

        if (longest_of(left) >= bytes) {
            node = left;
        } else if (node->span.bytes >= bytes) {
            return node;
        } else {
            node = RB_RIGHT(node, by_index);
        }
    }
}

static gp_span_node *first_fit_first(const void *index, size_t bytes)
{
    const struct by_address *self = index;

    return first_below(RB_ROOT(self), bytes);
}

/* What follows a node in the order: its right subtree, then each parent that it lies to the
 * left of, with that one's right subtree. */
static gp_span_node *first_fit_next(const void *index, const gp_span_node *node, size_t bytes)
{
    gp_span_node *found = first_below(RB_RIGHT(node, by_index), bytes);

    (void)index;
    while (found == NULL) {
        gp_span_node *parent = RB_PARENT(node, by_index);

        if (parent == NULL) {
            return NULL;
        }
        if (RB_LEFT(parent, by_index) == node) {
            found = parent->span.bytes >= bytes ? parent
                                                : first_below(RB_RIGHT(parent, by_index), bytes);
        }
        node = parent;
    }
    return found;
}

static size_t first_fit_largest_bytes(const void *index)
{
    const struct by_address *self = index;

    return longest_of(RB_ROOT(self));
}

static size_t first_fit_metadata_bytes(const void *index)
{
    (void)index;
    return sizeof(struct by_address);
}

static bool first_fit_is_valid(const void *index, size_t count)
{
    struct by_address self = *(const struct by_address *)index;
    const gp_span_node *last = NULL;
    gp_span_node *node;
    size_t found = 0;

    RB_FOREACH (node, by_address, &self) {
        if (node->longest_bytes != find_longest(node) ||
            (last != NULL && compare(last, node) >= 0)) {
            return false;
        }
        last = node;
        found++;
    }
    return found == count;
}

const gp_span_index_ops gp_first_fit_index = {
    .create = first_fit_create,
    .destroy = first_fit_destroy,
    .insert = first_fit_insert,
    .remove = first_fit_remove,
    .reshape = first_fit_reshape,
    .first = first_fit_first,
    .next = first_fit_next,
    .largest_bytes = first_fit_largest_bytes,
    .metadata_bytes = first_fit_metadata_bytes,
    .is_valid = first_fit_is_valid,
};
