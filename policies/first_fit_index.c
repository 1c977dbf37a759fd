/*
 * First fit: trees in order of address, in which each node also knows the longest span of its
 * subtree. A search goes to the left wherever something long enough lies there.
 *
 *                      40 k, longest 96 k
 *                     /                  \
 *       8 k, longest 16 k            96 k, longest 96 k
 *              \
 *         16 k, longest 16 k
 *
 *   first(12 k): the 16 k; first(20 k): the 40 k; first(50 k): the 96 k
 *
 * There is one such tree for the spans of each segment and one above them for the segments, in
 * which each stands as its longest span. A span that comes or goes touches its own segment, and
 * the tree above only if the longest span is another one then: with many spans, most of what one
 * large tree would touch is in no cache.
 */
#include "span_heap.h"

#include <stdlib.h>

RB_HEAD(by_address, gp_span_node);

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

/* ---- a tree ---- */

/* The tree calls this wherever it changes what lies below a node. */
#undef RB_AUGMENT
#define RB_AUGMENT(node) ((node)->longest_bytes = find_longest(node))

static int compare(const gp_span_node *a, const gp_span_node *b)
{
    return (a->span.base > b->span.base) - (a->span.base < b->span.base);
}

GP_TREE_GENERATE(by_address, gp_span_node, by_index, compare)

/* First the way down that RB_INSERT() will take: its own updates go no further than one parent. */
static void tree_insert(gp_span_node **root, gp_span_node *node)
{
    struct by_address tree = {*root};
    gp_span_node *above = *root;

    while (above != NULL) {
        if (above->longest_bytes < node->span.bytes) {
            above->longest_bytes = node->span.bytes;
        }
        above = compare(node, above) < 0 ? RB_LEFT(above, by_index) : RB_RIGHT(above, by_index);
    }
    node->longest_bytes = node->span.bytes;
    RB_INSERT(by_address, &tree, node);
    *root = RB_ROOT(&tree);
}

static void tree_resize(gp_span_node *node, size_t bytes)
{
    node->span.bytes = bytes;
    while (node != NULL && node->longest_bytes != find_longest(node)) {
        node->longest_bytes = find_longest(node);
        node = RB_PARENT(node, by_index);
    }
}

/* A span of no bytes goes without a trace, so that nothing above has to be updated. */
static void tree_remove(gp_span_node **root, gp_span_node *node)
{
    struct by_address tree = {*root};
    size_t bytes = node->span.bytes;

    tree_resize(node, 0);
    RB_REMOVE(by_address, &tree, node);
    node->span.bytes = bytes;
    *root = RB_ROOT(&tree);
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

/* The next one after a node: in its right subtree, or else above, where each parent that it lies
 * to the left of comes first and then that one's right subtree. */
static gp_span_node *next_after(const gp_span_node *node, size_t bytes)
{
    gp_span_node *found = first_below(RB_RIGHT(node, by_index), bytes);

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

/* ---- the index ---- */

typedef struct first_fit {
    gp_span_node *segments; /* Root of the summaries of all segments with something free. */
} first_fit;

static void *first_fit_create(void)
{
    return calloc(1, sizeof(first_fit));
}

static void first_fit_destroy(void *index)
{
    free(index);
}

/* After a change among the spans of a segment. */
static void update_summary(first_fit *self, gp_heap_segment *segment)
{
    gp_span_node *summary = &segment->index.summary;
    size_t longest = longest_of(segment->index.root);

    if (longest == summary->span.bytes) {
        return;
    }
    if (longest == 0) {
        tree_remove(&self->segments, summary);
        summary->span.bytes = 0;
    } else if (summary->span.bytes == 0) {
        *summary = (gp_span_node){.span = {segment->span.base, longest}, .segment = segment};
        tree_insert(&self->segments, summary);
    } else {
        tree_resize(summary, longest);
    }
}

static void first_fit_insert(void *index, gp_span_node *node)
{
    tree_insert(&node->segment->index.root, node);
    update_summary(index, node->segment);
}

static void first_fit_remove(void *index, gp_span_node *node)
{
    tree_remove(&node->segment->index.root, node);
    update_summary(index, node->segment);
}

/* The order is that of the addresses, so the node stays where it is. */
static void first_fit_reshape(void *index, gp_span_node *node, gp_span span)
{
    node->span.base = span.base;
    tree_resize(node, span.bytes);
    update_summary(index, node->segment);
}

static gp_span_node *first_of_segment(const gp_span_node *summary, size_t bytes)
{
    return summary == NULL ? NULL : first_below(summary->segment->index.root, bytes);
}

static gp_span_node *first_fit_first(const void *index, size_t bytes)
{
    const first_fit *self = index;

    return first_of_segment(first_below(self->segments, bytes), bytes);
}

static gp_span_node *first_fit_next(const void *index, const gp_span_node *node, size_t bytes)
{
    gp_span_node *next = next_after(node, bytes);

    (void)index;
    return next != NULL ? next
                        : first_of_segment(next_after(&node->segment->index.summary, bytes), bytes);
}

static size_t first_fit_largest_bytes(const void *index)
{
    const first_fit *self = index;

    return longest_of(self->segments);
}

static size_t first_fit_metadata_bytes(const void *index)
{
    (void)index;
    return sizeof(first_fit);
}

static bool tree_is_valid(gp_span_node *root, size_t *count)
{
    struct by_address tree = {root};
    const gp_span_node *last = NULL;
    gp_span_node *node;

    RB_FOREACH (node, by_address, &tree) {
        if (node->span.bytes == 0 || node->longest_bytes != find_longest(node) ||
            (last != NULL && compare(last, node) >= 0)) {
            return false;
        }
        last = node;
        (*count)++;
    }
    return true;
}

static bool first_fit_is_valid(const void *index, size_t count)
{
    const first_fit *self = index;
    struct by_address segments = {self->segments};
    gp_span_node *summary;
    size_t segment_count = 0;
    size_t span_count = 0;

    RB_FOREACH (summary, by_address, &segments) {
        gp_span_node *root = summary->segment->index.root;

        if (summary != &summary->segment->index.summary ||
            summary->span.bytes != longest_of(root) || !tree_is_valid(root, &span_count)) {
            return false;
        }
    }
    return tree_is_valid(self->segments, &segment_count) && span_count == count;
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
