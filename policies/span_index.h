/*
 * The order in which free spans are searched: what makes a span heap best fit,
 * first fit or anything else. An index is a const table, given to
 * gp_span_heap_init(); the nodes bring the room for their place in it.
 */
#ifndef GP_POLICIES_SPAN_INDEX_H
#define GP_POLICIES_SPAN_INDEX_H

#include "gp/policy.h"
#include "tree.h"

/* One segment, and what is taken of it. */
typedef struct gp_heap_segment gp_heap_segment;

/* A free span of a segment. */
typedef struct gp_span_node {
    gp_span span;
    gp_heap_segment *segment;
    RB_ENTRY(gp_span_node) by_address; /* Among the free spans of the segment. */
    RB_ENTRY(gp_span_node) by_index;   /* The index's own. */
    size_t longest_bytes;              /* The index's own: of the subtree by_index. */
} gp_span_node;

/* What an index knows of a segment, zero at first. */
typedef struct gp_index_segment {
    gp_span_node *root;   /* Of the tree of its free spans. */
    gp_span_node summary; /* The longest of them, as a span at the segment's base. */
} gp_index_segment;

typedef struct gp_span_index_ops {
    /* @return NULL: malloc failed. */
    void *(*create)(void);
    void (*destroy)(void *index);

    /* O(log n); never allocate. The span's bounds stay as they are in between. */
    void (*insert)(void *index, gp_span_node *node);
    void (*remove)(void *index, gp_span_node *node);

    /* New bounds for a span that keeps its place among the others by address. O(log n). */
    void (*reshape)(void *index, gp_span_node *node, gp_span span);

    /* The span to try first, and the one to try after node, for a request of
     * bytes; each has at least so many. NULL: no more. O(log n). */
    gp_span_node *(*first)(const void *index, size_t bytes);
    gp_span_node *(*next)(const void *index, const gp_span_node *node, size_t bytes);

    /* Of the longest span; 0: none. O(log n). */
    size_t (*largest_bytes)(const void *index);

    /* Host memory of the index itself. */
    size_t (*metadata_bytes)(const void *index);

    /* Does it hold exactly count nodes, all in place? O(n). */
    bool (*is_valid)(const void *index, size_t count);
} gp_span_index_ops;

/* The shortest span that is long enough; of several, the one at the lowest address. */
extern const gp_span_index_ops gp_best_fit_index;

/* The span at the lowest address that is long enough. */
extern const gp_span_index_ops gp_first_fit_index;

#endif
