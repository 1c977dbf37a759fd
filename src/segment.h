/*
 * A segment: a span of device memory that one policy instance cuts.
 *
 * A *native* segment came from the native pool in one call; the commons cut it
 * into large blocks. A *chunk* is one of those blocks that a stream cache has
 * taken, to cut it into small ones.
 *
 *     native   |####|........|####|      cut by the commons
 *     chunk             |#.##.#..|        cut by the policy of one stream
 */
#ifndef GP_SRC_SEGMENT_H
#define GP_SRC_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gp/policy.h"

struct gp_commons;
struct gp_stream_cache;

typedef struct gp_segment {
    gp_span span;                 /* The part that is cut; page-aligned. */
    gp_pool *pool;                /* Set by its cutter. */
    struct gp_stream_cache *home; /* The stream cache that cuts it; NULL: a commons. */
    struct gp_commons *commons;   /* That it is of, or in a chunk, that its lender is of. */
    struct gp_segment *lender;    /* In a chunk: the native segment it is a block of. */
    void *native;                 /* What the native pool returned; NULL in a chunk. */
    size_t native_bytes;          /* What it counts as there. */
    size_t taken_bytes;           /* In a chunk: blocks out of it, under its home's lock. */
    uint64_t last_give;           /* In a chunk: the home's give count at the last free. */
    struct gp_segment *next;      /* In its cutter's list, under the same lock. */
    struct gp_segment *prev;
} gp_segment;

typedef struct gp_segment_list {
    gp_segment *first;
} gp_segment_list;

static inline void gp_segment_link(gp_segment_list *list, gp_segment *segment)
{
    segment->prev = NULL;
    segment->next = list->first;
    if (segment->next != NULL)
        segment->next->prev = segment;
    list->first = segment;
}

static inline void gp_segment_unlink(gp_segment_list *list, gp_segment *segment)
{
    if (segment->prev != NULL)
        segment->prev->next = segment->next;
    else
        list->first = segment->next;
    if (segment->next != NULL)
        segment->next->prev = segment->prev;
}

#endif
