/* What a caller asked for, after rounding. */
#ifndef GP_SRC_REQUEST_H
#define GP_SRC_REQUEST_H

#include <stdbool.h>

#include "gp/policy.h"
#include "page.h"

/* More than any device holds; far enough from SIZE_MAX that rounding up is safe. */
#define GP_MAX_REQUEST_BYTES ((size_t)1 << 47)

/* Large blocks are multiples of this: fine enough to waste at most 6 %, coarse
 * enough that what one request leaves serves the next. */
#define GP_LARGE_STEP_BYTES ((size_t)64 << 10)

typedef struct gp_request {
    size_t asked_bytes;  /* By a caller; for statistics. */
    size_t bytes;        /* Of the block: a class's size, or a multiple of the large step. */
    size_t alignment;    /* Power of two, at least GP_GRANULE_BYTES. */
    uint32_t size_class; /* Or GP_CLASS_LARGE. */
} gp_request;

static inline size_t gp_round_up(size_t bytes, size_t step)
{
    return (bytes + step - 1) & ~(step - 1);
}

/* `bytes` is 1 to GP_MAX_REQUEST_BYTES; both limits are the pool's. */
static inline gp_request gp_request_make(size_t bytes, size_t alignment, size_t large_bytes)
{
    gp_request request = {.asked_bytes = bytes, .alignment = alignment};
    if (bytes > large_bytes) {
        request.size_class = GP_CLASS_LARGE;
        request.bytes = gp_round_up(bytes, GP_LARGE_STEP_BYTES);
    } else {
        request.size_class = gp_size_class_of(bytes);
        request.bytes = gp_size_class_bytes(request.size_class);
    }
    return request;
}

static inline bool gp_request_is_large(const gp_request *request)
{
    return request->size_class == GP_CLASS_LARGE;
}

#endif
