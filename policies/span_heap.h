/*
 * A heap of spans: what is free of a number of segments.
 *
 *   segment   |<------------------------ bytes ------------------------->|
 *             | taken | free     | taken         | free                  |
 *   nodes               node                       node
 *
 * Only free spans have nodes. So blocks whose base and length are multiples of
 * GP_PIECE_BYTES may come back in any pieces that are so too. No two free spans touch within a
 * segment: a span that comes back is joined at once, with the neighbours that the segment's tree of
 * free spans tells. Free spans are also in an index (span_index.h), which decides where the next
 * request is placed.
 *
 * One thread at a time. n is the number of free spans.
 */
#ifndef GP_POLICIES_SPAN_HEAP_H
#define GP_POLICIES_SPAN_HEAP_H

#include "node_pool.h"
#include "range_map.h"
#include "span_index.h"

#include <bsd/sys/queue.h>

RB_HEAD(gp_free_spans, gp_span_node);

struct gp_heap_segment {
    gp_span span;              /* First: found by address as that. */
    struct gp_free_spans free; /* In order of address. */
    size_t free_bytes;         /* Their sum. */
    gp_index_segment index;    /* The index's own. */
    LIST_ENTRY(gp_heap_segment) all;
};

typedef struct gp_span_heap {
    const gp_span_index_ops *index_ops;
    void *index;
    gp_range_map by_address;          /* gp_heap_segment by any address in it. */
    LIST_HEAD(, gp_heap_segment) all; /* Every segment, newest first. */
    gp_node_pool nodes;
    size_t segment_count;
    size_t free_bytes;  /* Sum of all free spans. */
    size_t free_count;  /* Free spans. */
    size_t most_pieces; /* Free spans there can be between taken pieces. */
    size_t odd_count;   /* Taken blocks that are no pieces. */
} gp_span_heap;

/* @return GP_OK or GP_ERR_OUT_OF_HOST_MEMORY. */
gp_status gp_span_heap_init(gp_span_heap *heap, const gp_span_index_ops *index_ops);

void gp_span_heap_fini(gp_span_heap *heap);

/*
 * A new segment, all of it free. O(log n), and a record for every 128 KiB is set aside.
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

/* Taken memory comes back and is joined with its free neighbours. O(log n), never
 * allocates. */
void gp_span_heap_give(gp_span_heap *heap, gp_span span);

/* Does all of the span lie in one segment, and none of it free? O(log n). */
bool gp_span_heap_is_taken(const gp_span_heap *heap, gp_span span);

/*
 * The free span there would be if this taken span came back, and other too.
 * O(log n). @param other  Another taken span; of no bytes: none.
 */
gp_span gp_span_heap_joined(const gp_span_heap *heap, gp_span span, gp_span other);

/* Can a request be met within this span? O(1). @param base [out] Where; only if true. */
bool gp_span_fits(gp_span span, size_t bytes, size_t alignment, uintptr_t *base);

/* The longest free span; 0: none. O(log n). */
size_t gp_span_heap_largest_bytes(const gp_span_heap *heap);

/* Host memory, without the heap structure itself. O(1). */
size_t gp_span_heap_metadata_bytes(const gp_span_heap *heap);

/* Walks everything. */
bool gp_span_heap_is_valid(const gp_span_heap *heap);

#endif
