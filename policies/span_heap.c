#include "span_heap.h"

#include <assert.h>
#include <stdlib.h>

/* As long as the shortest segments of a pool are, so that few share a window. */
static const size_t window_bytes = (size_t)2 << 20;

static int compare_addresses(const gp_span_node *a, const gp_span_node *b)
{
    return (a->span.base > b->span.base) - (a->span.base < b->span.base);
}

GP_TREE_GENERATE(gp_free_spans, gp_span_node, by_address, compare_addresses)

gp_status gp_span_heap_init(gp_span_heap *heap, const gp_span_index_ops *index_ops)
{
    *heap = (gp_span_heap){.index_ops = index_ops};
    gp_node_pool_init(&heap->nodes, sizeof(gp_span_node));
    heap->index = index_ops->create();
    if (heap->index == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    if (!gp_range_map_init(&heap->by_address, window_bytes)) {
        index_ops->destroy(heap->index);
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    return GP_OK;
}

void gp_span_heap_fini(gp_span_heap *heap)
{
    while (!LIST_EMPTY(&heap->all)) {
        gp_heap_segment *segment = LIST_FIRST(&heap->all);

        LIST_REMOVE(segment, all);
        free(segment);
    }
    gp_range_map_fini(&heap->by_address);
    heap->index_ops->destroy(heap->index);
    gp_node_pool_fini(&heap->nodes);
}

/* ---- records set aside ---- */

static bool is_piece(gp_span span)
{
    return span.base % GP_PIECE_BYTES == 0 && span.bytes % GP_PIECE_BYTES == 0;
}

/*
 * How many free spans a segment can have that end where a taken piece starts, or at the
 * segment's end: such a start is a multiple of the piece length, and before the next one
 * come the piece itself and something free. Any other free span ends at a block that is
 * no piece; of these, each take sets aside one record.
 */
static size_t most_pieces_of(gp_span segment)
{
    return segment.bytes / (2 * GP_PIECE_BYTES) + 2;
}

/* So many records are enough for whatever comes back. */
static bool reserve_nodes(gp_span_heap *heap, size_t pieces, size_t odd)
{
    return gp_node_pool_reserve(&heap->nodes, heap->most_pieces + pieces + heap->odd_count + odd -
                                                  heap->free_count);
}

/* ---- free spans ---- */

/* A span that touches no other free one. */
static void insert(gp_span_heap *heap, gp_heap_segment *segment, gp_span span)
{
    gp_span_node *node = gp_node_pool_take(&heap->nodes);

    *node = (gp_span_node){.span = span, .segment = segment};
    RB_INSERT(gp_free_spans, &segment->free, node);
    heap->index_ops->insert(heap->index, node);
    heap->free_count++;
}

static void drop(gp_span_heap *heap, gp_span_node *node)
{
    heap->index_ops->remove(heap->index, node);
    RB_REMOVE(gp_free_spans, &node->segment->free, node);
    gp_node_pool_give(&heap->nodes, node);
    heap->free_count--;
}

/* New bounds that do not change the span's place among the others by address. */
static void reshape(gp_span_heap *heap, gp_span_node *node, gp_span span)
{
    heap->index_ops->reshape(heap->index, node, span);
}

static void count_free(gp_span_heap *heap, gp_heap_segment *segment, size_t bytes)
{
    heap->free_bytes += bytes;
    segment->free_bytes += bytes;
}

static void count_taken(gp_span_heap *heap, gp_heap_segment *segment, size_t bytes)
{
    heap->free_bytes -= bytes;
    segment->free_bytes -= bytes;
}

/* ---- segments ---- */

gp_status gp_span_heap_add_segment(gp_span_heap *heap, gp_span span)
{
    gp_heap_segment *segment = malloc(sizeof(*segment));

    if (segment == NULL || !reserve_nodes(heap, most_pieces_of(span), 0) ||
        !gp_range_map_reserve(&heap->by_address, span.bytes)) {
        free(segment);
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    *segment = (gp_heap_segment){.span = span};
    LIST_INSERT_HEAD(&heap->all, segment, all);
    gp_range_map_insert(&heap->by_address, &segment->span);
    heap->segment_count++;
    heap->most_pieces += most_pieces_of(span);
    insert(heap, segment, span);
    count_free(heap, segment, span.bytes);
    return GP_OK;
}

/* NULL: the address lies in none. */
static gp_heap_segment *segment_at(const gp_span_heap *heap, uintptr_t address)
{
    return (gp_heap_segment *)gp_range_map_find(&heap->by_address, address);
}

static gp_heap_segment *find_segment(const gp_span_heap *heap, uintptr_t base)
{
    gp_heap_segment *segment = segment_at(heap, base);

    return segment != NULL && segment->span.base == base ? segment : NULL;
}

const gp_heap_segment *gp_span_heap_find_segment(const gp_span_heap *heap, uintptr_t base)
{
    return find_segment(heap, base);
}

bool gp_span_heap_remove_segment(gp_span_heap *heap, uintptr_t base)
{
    gp_heap_segment *segment = find_segment(heap, base);

    if (segment == NULL || segment->free_bytes != segment->span.bytes) {
        return false;
    }
    count_taken(heap, segment, segment->span.bytes);
    drop(heap, RB_ROOT(&segment->free));
    heap->most_pieces -= most_pieces_of(segment->span);
    gp_range_map_remove(&heap->by_address, &segment->span);
    LIST_REMOVE(segment, all);
    heap->segment_count--;
    free(segment);
    return true;
}

/* ---- take ---- */

bool gp_span_fits(gp_span span, size_t bytes, size_t alignment, uintptr_t *base)
{
    size_t head_bytes = (size_t)(-span.base & (alignment - 1));

    if (head_bytes > span.bytes || span.bytes - head_bytes < bytes) {
        return false;
    }
    *base = span.base + head_bytes;
    return true;
}

static gp_span_node *find_fit(const gp_span_heap *heap, size_t bytes, size_t alignment,
                              uintptr_t *base)
{
    gp_span_node *node = heap->index_ops->first(heap->index, bytes);

    while (node != NULL && !gp_span_fits(node->span, bytes, alignment, base)) {
        node = heap->index_ops->next(heap->index, node, bytes);
    }
    return node;
}

/* What lies in front of the part keeps the node, else what lies behind. */
static void cut_out(gp_span_heap *heap, gp_span_node *node, gp_span part)
{
    gp_span head = {node->span.base, part.base - node->span.base};
    gp_span tail = {part.base + part.bytes, node->span.bytes - head.bytes - part.bytes};
    gp_heap_segment *segment = node->segment;

    if (head.bytes != 0) {
        reshape(heap, node, head);
    } else if (tail.bytes != 0) {
        reshape(heap, node, tail);
    } else {
        drop(heap, node);
    }
    if (head.bytes != 0 && tail.bytes != 0) {
        insert(heap, segment, tail);
    }
    count_taken(heap, segment, part.bytes);
}

bool gp_span_heap_take(gp_span_heap *heap, size_t bytes, size_t alignment, uintptr_t *base)
{
    uintptr_t start;
    gp_span_node *node = find_fit(heap, bytes, alignment, &start);

    if (node == NULL) {
        return false;
    }
    gp_span part = {start, bytes};
    bool is_odd = !is_piece(part);

    if (is_odd && !reserve_nodes(heap, 0, 1)) {
        return false;
    }
    heap->odd_count += is_odd;
    cut_out(heap, node, part);
    *base = start;
    return true;
}

/* ---- give ---- */

typedef struct neighbours {
    gp_span_node *prev; /* The last free span below an address; NULL: none. */
    gp_span_node *next; /* The first above. */
} neighbours;

static neighbours neighbours_of(const gp_heap_segment *segment, uintptr_t address)
{
    neighbours found = {NULL, NULL};
    gp_span_node *node = RB_ROOT(&segment->free);

    while (node != NULL) {
        if (node->span.base < address) {
            found.prev = node;
            node = RB_RIGHT(node, by_address);
        } else {
            found.next = node;
            node = RB_LEFT(node, by_address);
        }
    }
    return found;
}

static uintptr_t end_of(gp_span span)
{
    return span.base + span.bytes;
}

/* Of these, the ones that touch the span. */
static neighbours touching(const gp_heap_segment *segment, gp_span span)
{
    neighbours found = neighbours_of(segment, span.base);

    if (found.prev != NULL && end_of(found.prev->span) != span.base) {
        found.prev = NULL;
    }
    if (found.next != NULL && found.next->span.base != end_of(span)) {
        found.next = NULL;
    }
    return found;
}

static void join(gp_span_heap *heap, gp_heap_segment *segment, gp_span span)
{
    neighbours near = touching(segment, span);

    if (near.next != NULL) {
        span.bytes += near.next->span.bytes;
    }
    if (near.prev != NULL) {
        span = (gp_span){near.prev->span.base, near.prev->span.bytes + span.bytes};
    }
    if (near.prev != NULL && near.next != NULL) {
        drop(heap, near.next);
    }
    if (near.prev != NULL) {
        reshape(heap, near.prev, span);
    } else if (near.next != NULL) {
        reshape(heap, near.next, span);
    } else {
        insert(heap, segment, span);
    }
}

void gp_span_heap_give(gp_span_heap *heap, gp_span span)
{
    gp_heap_segment *segment = segment_at(heap, span.base);

    assert(segment != NULL && gp_span_heap_is_taken(heap, span));
    heap->odd_count -= !is_piece(span);
    join(heap, segment, span);
    count_free(heap, segment, span.bytes);
}

/* ---- questions ---- */

bool gp_span_heap_is_taken(const gp_span_heap *heap, gp_span span)
{
    const gp_heap_segment *segment = segment_at(heap, span.base);

    if (segment == NULL || span.bytes > end_of(segment->span) - span.base) {
        return false;
    }
    neighbours near = neighbours_of(segment, span.base);

    return (near.prev == NULL || end_of(near.prev->span) <= span.base) &&
           (near.next == NULL || near.next->span.base >= end_of(span));
}

/* With the free spans on both sides. */
static gp_span widened(const gp_heap_segment *segment, gp_span span)
{
    neighbours near = touching(segment, span);

    if (near.prev != NULL) {
        span = (gp_span){near.prev->span.base, end_of(span) - near.prev->span.base};
    }
    if (near.next != NULL) {
        span.bytes += near.next->span.bytes;
    }
    return span;
}

gp_span gp_span_heap_joined(const gp_span_heap *heap, gp_span span, gp_span other)
{
    const gp_heap_segment *segment = segment_at(heap, span.base);
    gp_span all = widened(segment, span);

    if (other.bytes == 0 || segment_at(heap, other.base) != segment) {
        return all;
    }
    if (end_of(other) == all.base) {
        all = (gp_span){other.base, other.bytes + all.bytes};
    } else if (end_of(all) == other.base) {
        all.bytes += other.bytes;
    }
    return widened(segment, all);
}

size_t gp_span_heap_largest_bytes(const gp_span_heap *heap)
{
    return heap->index_ops->largest_bytes(heap->index);
}

size_t gp_span_heap_metadata_bytes(const gp_span_heap *heap)
{
    return heap->nodes.metadata_bytes + heap->segment_count * sizeof(gp_heap_segment) +
           gp_range_map_metadata_bytes(&heap->by_address) +
           heap->index_ops->metadata_bytes(heap->index);
}

typedef struct totals {
    size_t segments;
    size_t spans;
    size_t bytes;
    size_t most_pieces;
} totals;

static bool segment_is_valid(const gp_span_heap *heap, gp_heap_segment *segment, totals *sum)
{
    uintptr_t end = 0;
    size_t free_bytes = 0;
    gp_span_node *node;

    RB_FOREACH (node, gp_free_spans, &segment->free) {
        if (node->segment != segment || node->span.bytes == 0 ||
            node->span.bytes % GP_GRANULE_BYTES != 0 || node->span.base <= end ||
            node->span.base < segment->span.base || end_of(node->span) > end_of(segment->span)) {
            return false;
        }
        end = end_of(node->span);
        free_bytes += node->span.bytes;
        sum->spans++;
    }
    sum->segments++;
    sum->bytes += free_bytes;
    sum->most_pieces += most_pieces_of(segment->span);
    return free_bytes == segment->free_bytes && find_segment(heap, segment->span.base) == segment;
}

bool gp_span_heap_is_valid(const gp_span_heap *heap)
{
    totals sum = {0};
    gp_heap_segment *segment;

    LIST_FOREACH (segment, &heap->all, all) {
        if (!segment_is_valid(heap, segment, &sum)) {
            return false;
        }
    }
    return sum.segments == heap->segment_count && sum.spans == heap->free_count &&
           sum.bytes == heap->free_bytes && sum.most_pieces == heap->most_pieces &&
           heap->nodes.free_count + heap->free_count >= heap->most_pieces + heap->odd_count &&
           heap->index_ops->is_valid(heap->index, sum.spans);
}
