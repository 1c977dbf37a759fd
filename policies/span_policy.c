#include "span_policy.h"

#include <stdlib.h>

gp_status gp_span_policy_create(void **state, const gp_span_index_ops *index_ops)
{
    gp_span_heap *heap = malloc(sizeof(*heap));

    if (heap == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    if (gp_span_heap_init(heap, index_ops) != GP_OK) {
        free(heap);
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    *state = heap;
    return GP_OK;
}

void gp_span_policy_destroy(void *state)
{
    gp_span_heap_fini(state);
    free(state);
}

gp_status gp_span_policy_add_segment(void *state, gp_span segment)
{
    return gp_span_heap_add_segment(state, segment);
}

bool gp_span_policy_remove_segment(void *state, uintptr_t base)
{
    return gp_span_heap_remove_segment(state, base);
}

bool gp_span_policy_segment_is_free(const void *state, uintptr_t base)
{
    const gp_heap_segment *segment = gp_span_heap_find_segment(state, base);

    return segment != NULL && segment->free_bytes == segment->span.bytes;
}

bool gp_span_policy_take(void *state, size_t bytes, size_t alignment, uintptr_t *base)
{
    return gp_span_heap_take(state, bytes, alignment, base);
}

void gp_span_policy_give(void *state, gp_span span)
{
    gp_span_heap_give(state, span);
}

void gp_span_policy_usage(const void *state, gp_policy_usage *usage)
{
    const gp_span_heap *heap = state;

    *usage = (gp_policy_usage){
        .free_bytes = heap->free_bytes,
        .largest_free_bytes = gp_span_heap_largest_bytes(heap),
        .metadata_bytes = sizeof(*heap) + gp_span_heap_metadata_bytes(heap),
    };
}

bool gp_span_policy_is_valid(const void *state)
{
    return gp_span_heap_is_valid(state);
}
