/*
 * A heap of spans: segments cut into spans that know their neighbours.
 *
 *   segment   |<------------------------ bytes ------------------------->|
 *   spans     | taken | free     | taken | taken | free                  |
 *   in order  node <-> node <-> node <-> node <-> node
 *
 * No two free spans touch within a segment: a span that comes back is joined at
 * once. Free spans are also in an index (span_index.h), which decides where the
 * next request is placed; taken ones are found by their address in a hash table.
 *
 * One thread at a time. n is the number of spans.
 */
#ifndef GP_POLICIES_SPAN_HEAP_H
#define GP_POLICIES_SPAN_HEAP_H

#include "address_map.h"
#include "node_pool.h"
#include "range_map.h"
#include "span_index.h"

#include <bsd/sys/queue.h>

struct gp_heap_segment {
    gp_span span;        /* First: found by address as that. */
    gp_span_node *first; /* The span at the segment's start. */
    size_t taken_bytes;  /* Sum of its taken spans. */
    LIST_ENTRY(gp_heap_segment) all;
};

typedef struct gp_span_heap {
    const gp_span_index_ops *index_ops;
    void *index;
    gp_address_map taken;             /* Base to gp_span_node, taken ones only. */
    gp_range_map by_address;          /* gp_heap_segment by any address in it. */
    LIST_HEAD(, gp_heap_segment) all; /* Every segment, newest first. */
    gp_node_pool nodes;
    size_t segment_count;
    size_t free_bytes; /* Sum of all free spans. */
    size_t span_count; /* Free and taken. */
    /* The most there were since the last take: what take_at() may bring back. */
    size_t most_spans;
    size_t most_taken;
} gp_span_heap;

/* @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY. */
gp_status gp_span_heap_init(gp_span_heap *heap, const gp_span_index_ops *index_ops);

void gp_span_heap_fini(gp_span_heap *heap);

/*
 * A new segment, all of it free. O(log n).
 * @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY, then nothing has changed.
 */
gp_status gp_span_heap_add_segment(gp_span_heap *heap, gp_span segment);

/* Drop a segment with nothing taken. O(log n). @return false: no such segment, or not free. */
bool gp_span_heap_remove_segment(gp_span_heap *heap, uintptr_t base);

/* The segment that starts here. O(1). @return NULL: none. */
const gp_heap_segment *gp_span_heap_find_segment(const gp_span_heap *heap, uintptr_t base);

/*
 * Take exactly so many bytes from the first span of the index that can hold
 * them at this alignment; what is left before and behind stays free.
 * O(log n), and for an alignment above the granule O(n) in the worst case: spans
 * long enough that miss the alignment are passed by.
 *
 * @return false: no span fits, or malloc failed; then nothing has changed.
 */
bool gp_span_heap_take(gp_span_heap *heap, size_t bytes, size_t alignment, uintptr_t *base);

/*
 * Take exactly this span. O(spans of the segment): they are walked in order.
 *
 * Never fails for want of host memory if what is taken was given since the last take
 * but one, as a whole or in parts, so that in the end no more is cut than it was: take
 * sets aside as many records as there were before, and two for its own edges.
 *
 * @return false: it is not wholly free, or malloc failed; then nothing has changed.
 */
bool gp_span_heap_take_at(gp_span_heap *heap, gp_span span);

/* A taken span comes back and is joined with its free neighbours. O(log n), never allocates. */
void gp_span_heap_give(gp_span_heap *heap, uintptr_t base);

/* The taken span that starts here. O(1). @return NULL: none. */
static inline gp_span_node *gp_span_heap_find(const gp_span_heap *heap, uintptr_t base)
{
    return gp_address_map_find(&heap->taken, base);
}

/*
 * The free span there would be if this taken span came back, and other too.
 * O(1). @param other  Another taken span, or NULL.
 */
gp_span gp_span_heap_joined(const gp_span_node *node, const gp_span_node *other);

/* Can a request be met within this span? O(1). @param base [out] Where; only if true. */
bool gp_span_fits(gp_span span, size_t bytes, size_t alignment, uintptr_t *base);

/* The longest free span; 0: none. O(log n). */
size_t gp_span_heap_largest_bytes(const gp_span_heap *heap);

/* Host memory, without the heap structure itself. O(1). */
size_t gp_span_heap_metadata_bytes(const gp_span_heap *heap);

/* Walks everything. */
bool gp_span_heap_is_valid(const gp_span_heap *heap);

#endif
