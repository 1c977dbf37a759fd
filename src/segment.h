/*
 * A segment: a span of device memory that one stream cache lets its policy cut.
 *
 * A *native* segment came from the native pool in one call. A *loan* is a piece
 * that the policy of another stream's cache cut out of a segment of its own; for
 * the lender it is a block that is taken; nothing is lent out of a loan. Segments
 * move between streams only while no block of them is taken.
 *
 *     native   |##..####........|        home: stream A
 *     loan             |#.##|            home: stream B, lender: the one above
 */
#ifndef GP_SRC_SEGMENT_H
#define GP_SRC_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gp/policy.h"

struct gp_stream_cache;

typedef struct gp_segment {
    gp_span span;                 /* The part that is cut; page-aligned. */
    struct gp_stream_cache *home; /* The cache whose policy holds it. */
    struct gp_segment *lender;    /* NULL: native. */
    void *native;                 /* What the native pool returned; NULL in a loan. */
    size_t native_bytes;          /* What it counts as; 0 in a loan. */
    size_t taken_bytes;           /* Blocks out of it, under the home's lock. */
    uint64_t last_give;           /* The home's give count when a block last came back. */
    struct gp_segment *next;      /* In the home's list, under its lock. */
    struct gp_segment *prev;
} gp_segment;

static inline bool gp_segment_is_loan(const gp_segment *segment)
{
    return segment->lender != NULL;
}

#endif
