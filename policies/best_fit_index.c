/*
 * Best fit: a tree ordered by (length, address), cut into bins by length.
 *
 * Bins are an eighth of a doubling wide, so with a few hundred spans of mixed
 * lengths most hold one or two nodes and a search hardly descends; where
 * all spans are alike, one bin is the whole tree and a search is O(log n). A
 * bitmap says which bins are not empty.
 */
#include "span_index.h"

#include <stdlib.h>

enum {
    STEP_BITS = 3, /* Eight bins a doubling. */
    BIN_WORDS = 7, /* Bits for every length that a size_t can hold. */
    BIN_COUNT = BIN_WORDS * 64,
};

RB_HEAD(bin, gp_span_node);

typedef struct best_fit {
    uint64_t filled[BIN_WORDS]; /* Bit i: bins[i] is not empty. */
    struct bin bins[BIN_COUNT];
} best_fit;

static int compare(const gp_span_node *a, const gp_span_node *b)
{
    if (a->span.bytes != b->span.bytes) {
        return a->span.bytes < b->span.bytes ? -1 : 1;
    }
    return (a->span.base > b->span.base) - (a->span.base < b->span.base);
}

GP_TREE_GENERATE(bin, gp_span_node, by_index, compare)

static size_t bin_of(size_t bytes)
{
    size_t granules = bytes / GP_GRANULE_BYTES;

    if (granules < (1u << STEP_BITS)) {
        return granules;
    }
    size_t doubling = 63u - (size_t)__builtin_clzll(granules) - STEP_BITS;

    return (doubling << STEP_BITS) + (granules >> doubling);
}

_Static_assert(((64 - 9 - STEP_BITS + 1) << STEP_BITS) <= BIN_COUNT,
               "the longest length, in granules of 512 bytes, has a bin");

static void *best_fit_create(void)
{
    return calloc(1, sizeof(best_fit));
}

static void best_fit_destroy(void *index)
{
    free(index);
}

static void best_fit_insert(void *index, gp_span_node *node)
{
    best_fit *self = index;
    size_t bin = bin_of(node->span.bytes);

    RB_INSERT(bin, &self->bins[bin], node);
    self->filled[bin / 64] |= UINT64_C(1) << (bin % 64);
}

static void best_fit_remove(void *index, gp_span_node *node)
{
    best_fit *self = index;
    size_t bin = bin_of(node->span.bytes);

    RB_REMOVE(bin, &self->bins[bin], node);
    if (RB_EMPTY(&self->bins[bin])) {
        self->filled[bin / 64] &= ~(UINT64_C(1) << (bin % 64));
    }
}

static void best_fit_reshape(void *index, gp_span_node *node, gp_span span)
{
    best_fit_remove(index, node);
    node->span = span;
    best_fit_insert(index, node);
}

/* The shortest span of all bins from this one on. */
static gp_span_node *first_from_bin(const best_fit *self, size_t bin)
{
    uint64_t mask = ~UINT64_C(0) << (bin % 64);

    for (size_t word = bin / 64; word < BIN_WORDS; word++) {
        uint64_t filled = self->filled[word] & mask;

        if (filled != 0) {
            size_t found = word * 64 + (size_t)__builtin_ctzll(filled);
            struct bin root = self->bins[found];

            return RB_MIN(bin, &root);
        }
        mask = ~UINT64_C(0);
    }
    return NULL;
}

static gp_span_node *best_fit_first(const void *index, size_t bytes)
{
    const best_fit *self = index;
    size_t bin = bin_of(bytes);
    gp_span_node *node = RB_ROOT(&self->bins[bin]);
    gp_span_node *best = NULL;

    while (node != NULL) {
        if (node->span.bytes >= bytes) {
            best = node;
            node = RB_LEFT(node, by_index);
        } else {
            node = RB_RIGHT(node, by_index);
        }
    }
    return best != NULL ? best : first_from_bin(self, bin + 1);
}

static gp_span_node *best_fit_next(const void *index, const gp_span_node *node, size_t bytes)
{
    gp_span_node *next = RB_NEXT(bin, NULL, (gp_span_node *)(uintptr_t)node);

    (void)bytes; /* What comes later in the order is no shorter. */
    return next != NULL ? next : first_from_bin(index, bin_of(node->span.bytes) + 1);
}

static size_t best_fit_largest_bytes(const void *index)
{
    const best_fit *self = index;

    for (size_t word = BIN_WORDS; word-- > 0;) {
        if (self->filled[word] != 0) {
            size_t last = word * 64 + 63u - (size_t)__builtin_clzll(self->filled[word]);
            struct bin root = self->bins[last];

            return RB_MAX(bin, &root)->span.bytes;
        }
    }
    return 0;
}

static size_t best_fit_metadata_bytes(const void *index)
{
    (void)index;
    return sizeof(best_fit);
}

static bool bin_is_valid(const best_fit *self, size_t bin, size_t *count)
{
    struct bin root = self->bins[bin];
    bool is_filled = (self->filled[bin / 64] >> (bin % 64) & 1) != 0;
    const gp_span_node *last = NULL;
    gp_span_node *node;

    RB_FOREACH (node, bin, &root) {
        if (bin_of(node->span.bytes) != bin) {
            return false;
        }
        if (last != NULL && compare(last, node) >= 0) {
            return false;
        }
        last = node;
        (*count)++;
    }
    return is_filled == !RB_EMPTY(&root);
}

static bool best_fit_is_valid(const void *index, size_t count)
{
    size_t found = 0;

    for (size_t bin = 0; bin < BIN_COUNT; bin++) {
        if (!bin_is_valid(index, bin, &found)) {
            return false;
        }
    }
    return found == count;
}

const gp_span_index_ops gp_best_fit_index = {
    .create = best_fit_create,
    .destroy = best_fit_destroy,
    .insert = best_fit_insert,
    .remove = best_fit_remove,
    .reshape = best_fit_reshape,
    .first = best_fit_first,
    .next = best_fit_next,
    .largest_bytes = best_fit_largest_bytes,
    .metadata_bytes = best_fit_metadata_bytes,
    .is_valid = best_fit_is_valid,
};
