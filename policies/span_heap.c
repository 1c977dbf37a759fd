#include "span_heap.h"

#include <assert.h>
#include <stdlib.h>

/* As long as most segments of a pool are. */
static const size_t window_bytes = (size_t)32 << 20;

gp_status gp_span_heap_init(gp_span_heap *heap, const gp_span_index_ops *index_ops)
{
    *heap = (gp_span_heap){.index_ops = index_ops};
    gp_node_pool_init(&heap->nodes, sizeof(gp_span_node));
    heap->index = index_ops->create();
    if (heap->index == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    if (!gp_address_map_init(&heap->taken)) {
        goto destroy_index;
    }
    if (!gp_range_map_init(&heap->by_address, window_bytes)) {
        goto fini_taken;
    }
    return GP_OK;

fini_taken:
    gp_address_map_fini(&heap->taken);
destroy_index:
    index_ops->destroy(heap->index);
    return GP_ERR_OUT_OF_HOST_MEMORY;
}

void gp_span_heap_fini(gp_span_heap *heap)
{
    while (!LIST_EMPTY(&heap->all)) {
        gp_heap_segment *segment = LIST_FIRST(&heap->all);

        LIST_REMOVE(segment, all);
        free(segment);
    }
    gp_range_map_fini(&heap->by_address);
    gp_address_map_fini(&heap->taken);
    heap->index_ops->destroy(heap->index);
    gp_node_pool_fini(&heap->nodes);
}

static gp_span_node *take_node(gp_span_heap *heap)
{
    heap->span_count++;
    return gp_node_pool_take(&heap->nodes);
}

static void give_node(gp_span_heap *heap, gp_span_node *node)
{
    heap->span_count--;
    gp_node_pool_give(&heap->nodes, node);
}

static void make_free(gp_span_heap *heap, gp_span_node *node)
{
    node->is_free = true;
    heap->index_ops->insert(heap->index, node);
    heap->free_bytes += node->span.bytes;
}

static void make_unfree(gp_span_heap *heap, gp_span_node *node)
{
    heap->free_bytes -= node->span.bytes;
    heap->index_ops->remove(heap->index, node);
    node->is_free = false;
}

gp_status gp_span_heap_add_segment(gp_span_heap *heap, gp_span span)
{
    gp_heap_segment *segment = malloc(sizeof(*segment));

    if (segment == NULL || !gp_node_pool_reserve(&heap->nodes, 1) ||
        !gp_range_map_reserve(&heap->by_address, span.bytes)) {
        free(segment);
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    gp_span_node *node = take_node(heap);

    *segment = (gp_heap_segment){.span = span, .first = node};
    *node = (gp_span_node){.span = span, .segment = segment};
    LIST_INSERT_HEAD(&heap->all, segment, all);
    gp_range_map_insert(&heap->by_address, &segment->span);
    heap->segment_count++;
    make_free(heap, node);
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

    if (segment == NULL || segment->taken_bytes != 0) {
        return false;
    }
    make_unfree(heap, segment->first);
    give_node(heap, segment->first);
    gp_range_map_remove(&heap->by_address, &segment->span);
    LIST_REMOVE(segment, all);
    heap->segment_count--;
    free(segment);
    return true;
}

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

/* A record for what lies in front of at; node keeps the rest. Neither is in the index. */
static gp_span_node *cut_front(gp_span_heap *heap, gp_span_node *node, uintptr_t at)
{
    gp_span_node *front = take_node(heap);
    size_t front_bytes = at - node->span.base;

    *front = (gp_span_node){.span = {node->span.base, front_bytes},
                            .prev = node->prev,
                            .next = node,
                            .segment = node->segment};
    if (node->prev != NULL) {
        node->prev->next = front;
    } else {
        node->segment->first = front;
    }
    node->prev = front;
    node->span.base = at;
    node->span.bytes -= front_bytes;
    return front;
}

/* Take a part of a free span, for which there are records. */
static void take_part(gp_span_heap *heap, gp_span_node *node, gp_span part)
{
    make_unfree(heap, node);
    if (part.base != node->span.base) {
        make_free(heap, cut_front(heap, node, part.base));
    }
    if (node->span.bytes != part.bytes) {
        gp_span_node *block = cut_front(heap, node, part.base + part.bytes);

        make_free(heap, node);
        node = block;
    }
    node->segment->taken_bytes += part.bytes;
    gp_address_map_insert(&heap->taken, part.base, node);
}

/* Before a span comes back. */
static void note_most(gp_span_heap *heap)
{
    if (heap->most_spans < heap->span_count) {
        heap->most_spans = heap->span_count;
    }
    if (heap->most_taken < heap->taken.count) {
        heap->most_taken = heap->taken.count;
    }
}

/*
 * Two records: for the head before an aligned start, and for the block. Hash entries are
 * the only other thing that grows; from here on nothing can fail, nor can give().
 *
 * Nor can take_at() where spans were given. Every edge between two spans was one before,
 * or is one of the two that this take adds; so there will be at most two more spans than
 * there were. At most one span is cut in two: with the one taken now, two more are taken.
 */
static bool reserve_take(gp_span_heap *heap)
{
    note_most(heap);
    return gp_node_pool_reserve(&heap->nodes, heap->most_spans - heap->span_count + 2) &&
           gp_address_map_reserve(&heap->taken, heap->most_taken - heap->taken.count + 2);
}

bool gp_span_heap_take(gp_span_heap *heap, size_t bytes, size_t alignment, uintptr_t *base)
{
    uintptr_t start;
    gp_span_node *node = find_fit(heap, bytes, alignment, &start);

    if (node == NULL || !reserve_take(heap)) {
        return false;
    }
    take_part(heap, node, (gp_span){start, bytes});
    heap->most_spans = heap->span_count;
    heap->most_taken = heap->taken.count;
    *base = start;
    return true;
}

/* The free span that holds all of this one. */
static gp_span_node *find_free_around(const gp_span_heap *heap, gp_span span)
{
    const gp_heap_segment *segment = segment_at(heap, span.base);
    gp_span_node *node = segment == NULL ? NULL : segment->first;
    size_t offset;

    while (node != NULL && span.base - node->span.base >= node->span.bytes) {
        node = node->next;
    }
    if (node == NULL || !node->is_free) {
        return NULL;
    }
    offset = span.base - node->span.base;
    return span.bytes <= node->span.bytes - offset ? node : NULL;
}

/* No more than is needed, so that nothing is asked of malloc if that was set aside. */
static bool reserve_part(gp_span_heap *heap, const gp_span_node *node, gp_span part)
{
    bool has_head = part.base != node->span.base;
    bool has_tail = part.base + part.bytes != node->span.base + node->span.bytes;

    return gp_node_pool_reserve(&heap->nodes, (size_t)has_head + has_tail) &&
           gp_address_map_reserve(&heap->taken, 1);
}

bool gp_span_heap_take_at(gp_span_heap *heap, gp_span span)
{
    gp_span_node *node = find_free_around(heap, span);

    if (node == NULL || !reserve_part(heap, node, span)) {
        return false;
    }
    take_part(heap, node, span);
    return true;
}

/* Node takes over a free neighbour's bytes and place. */
static void absorb_prev(gp_span_heap *heap, gp_span_node *node)
{
    gp_span_node *prev = node->prev;

    make_unfree(heap, prev);
    node->span.base = prev->span.base;
    node->span.bytes += prev->span.bytes;
    node->prev = prev->prev;
    if (node->prev != NULL) {
        node->prev->next = node;
    } else {
        node->segment->first = node;
    }
    give_node(heap, prev);
}

static void absorb_next(gp_span_heap *heap, gp_span_node *node)
{
    gp_span_node *next = node->next;

    make_unfree(heap, next);
    node->span.bytes += next->span.bytes;
    node->next = next->next;
    if (node->next != NULL) {
        node->next->prev = node;
    }
    give_node(heap, next);
}

void gp_span_heap_give(gp_span_heap *heap, uintptr_t base)
{
    gp_span_node *node = gp_span_heap_find(heap, base);

    assert(node != NULL && !node->is_free);
    note_most(heap);
    gp_address_map_remove(&heap->taken, base, node);
    node->segment->taken_bytes -= node->span.bytes;
    if (node->prev != NULL && node->prev->is_free) {
        absorb_prev(heap, node);
    }
    if (node->next != NULL && node->next->is_free) {
        absorb_next(heap, node);
    }
    make_free(heap, node);
}

gp_span gp_span_heap_joined(const gp_span_node *node, const gp_span_node *other)
{
    const gp_span_node *first = node;
    const gp_span_node *last = node;

    /* Ends soon: of free spans and other, at most three follow one another. */
    while (first->prev != NULL && (first->prev->is_free || first->prev == other)) {
        first = first->prev;
    }
    while (last->next != NULL && (last->next->is_free || last->next == other)) {
        last = last->next;
    }
    return (gp_span){first->span.base, last->span.base + last->span.bytes - first->span.base};
}

size_t gp_span_heap_largest_bytes(const gp_span_heap *heap)
{
    return heap->index_ops->largest_bytes(heap->index);
}

size_t gp_span_heap_metadata_bytes(const gp_span_heap *heap)
{
    return heap->nodes.metadata_bytes + heap->segment_count * sizeof(gp_heap_segment) +
           gp_address_map_metadata_bytes(&heap->taken) +
           gp_range_map_metadata_bytes(&heap->by_address) +
           heap->index_ops->metadata_bytes(heap->index);
}

typedef struct totals {
    size_t segments;
    size_t free_spans;
    size_t taken_spans;
    size_t free_bytes;
} totals;

static bool node_is_valid(const gp_span_heap *heap, const gp_span_node *node)
{
    if (node->span.bytes == 0 || node->span.bytes % GP_GRANULE_BYTES != 0) {
        return false;
    }
    if (node->is_free) {
        return node->prev == NULL || !node->prev->is_free;
    }
    return gp_span_heap_find(heap, node->span.base) == node;
}

static bool segment_is_valid(const gp_span_heap *heap, const gp_heap_segment *segment, totals *sum)
{
    uintptr_t end = segment->span.base;
    size_t taken_bytes = 0;
    const gp_span_node *prev = NULL;

    for (const gp_span_node *node = segment->first; node != NULL; node = node->next) {
        if (node->span.base != end || node->prev != prev || node->segment != segment ||
            !node_is_valid(heap, node)) {
            return false;
        }
        sum->free_spans += node->is_free;
        sum->taken_spans += !node->is_free;
        sum->free_bytes += node->is_free ? node->span.bytes : 0;
        taken_bytes += node->is_free ? 0 : node->span.bytes;
        end += node->span.bytes;
        prev = node;
    }
    sum->segments++;
    return end == segment->span.base + segment->span.bytes && taken_bytes == segment->taken_bytes &&
           gp_span_heap_find_segment(heap, segment->span.base) == segment;
}

bool gp_span_heap_is_valid(const gp_span_heap *heap)
{
    totals sum = {0};
    const gp_heap_segment *segment;

    LIST_FOREACH (segment, &heap->all, all) {
        if (!segment_is_valid(heap, segment, &sum)) {
            return false;
        }
    }
    return sum.segments == heap->segment_count &&
           sum.free_spans + sum.taken_spans == heap->span_count &&
           sum.taken_spans == heap->taken.count && sum.free_bytes == heap->free_bytes &&
           heap->index_ops->is_valid(heap->index, sum.free_spans);
}
