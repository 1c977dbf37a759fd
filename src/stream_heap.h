/*
 * A stream heap: large free memory that is ordered on one stream.
 *
 * Whatever used it was queued on the stream before its free, so the stream's next
 * request takes it without a fence, however busy the device is, and neighbours are
 * joined whenever each of them will be complete:
 *
 *     memory    |#A##|live|#B##|#C##|...
 *     heap      |#A##|    |#B+C#####|      taken by best fit, and cut
 *
 * Each span knows the stream's give count at the last free in it: once the device is
 * past that, the span may leave for the commons. A heap never needs host memory, since the
 * page of a span's first byte holds its place here.
 *
 * Guarded by its stream cache's lock. n is the number of spans.
 */
#ifndef GP_SRC_STREAM_HEAP_H
#define GP_SRC_STREAM_HEAP_H

#include <stdbool.h>

#include "gp/policy.h"
#include "counter.h"
#include "fit.h"
#include "page.h"
#include "tree.h"

RB_HEAD(gp_spans_by_address, gp_page);
RB_HEAD(gp_spans_by_size, gp_page);

typedef struct gp_stream_heap {
    struct gp_spans_by_address by_address;
    struct gp_spans_by_size by_size;
    gp_counter bytes; /* Their sum; read by anybody. */
    uint64_t oldest;  /* No span in it was freed earlier; it may be too low. */
} gp_stream_heap;

/* A span of so many bytes that starts with a page comes in, freed no later than give
 * number `give`. O(log n). */
void gp_stream_heap_give(gp_stream_heap *heap, gp_page *page, size_t bytes, uint64_t give);

/* Take a span of just the size, the lowest in address; false if there is none. O(log n). */
bool gp_stream_heap_take_exact(gp_stream_heap *heap, const gp_fit *fit, gp_span *span);

/*
 * Take the request out of the smallest span that has room and was freed no later than
 * `limit`, the lowest address among equals. O(log n) unless spans are passed by for their
 * alignment or their age. False if there is none.
 */
bool gp_stream_heap_take(gp_stream_heap *heap, const gp_fit *fit, uint64_t limit, gp_span *span);

/* Take out every span that was freed no later than `limit`, in order of address, and hand
 * each to `leave`, which must not touch the heap. O(n), or O(1) if all are younger than
 * was seen the last time. */
void gp_stream_heap_take_old(gp_stream_heap *heap, uint64_t limit,
                             void (*leave)(void *user, gp_span span), void *user);

/* The longest span in it; 0 if it is empty. O(log n). */
size_t gp_stream_heap_largest(const gp_stream_heap *heap);

/* All of it counts as freed by give number `give`. */
void gp_stream_heap_renew(gp_stream_heap *heap, uint64_t give);

/* Forget everything. */
void gp_stream_heap_clear(gp_stream_heap *heap);

#endif
