#include "record_merge.h"

/* Events between two stores of a ring's tail, each of which takes its line from the thread. */
#define TAIL_STEP 256

const gp_record_event *gp_record_ring_oldest(const gp_record_ring *ring)
{
    return &ring->events[ring->cursor % GP_RECORD_RING_EVENTS];
}

static uint64_t key_of(const gp_record_ring *ring)
{
    return gp_record_ring_oldest(ring)->stamp;
}

/* Put a ring at or below a place whose children are in order. */
static void sift_down(gp_record_merge *merge, size_t place, gp_record_ring *ring)
{
    uint64_t key = key_of(ring);
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < merge->count &&
            key_of(merge->rings[child + 1]) < key_of(merge->rings[child]))
            child++;
        if (child >= merge->count || key <= key_of(merge->rings[child]))
            break;
        merge->rings[place] = merge->rings[child];
        place = child;
    }
    merge->rings[place] = ring;
}

void gp_record_merge_add(gp_record_merge *merge, gp_record_ring *ring)
{
    uint64_t key = key_of(ring);
    size_t place = merge->count++;
    while (place > 0 && key < key_of(merge->rings[(place - 1) / 2])) {
        merge->rings[place] = merge->rings[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    merge->rings[place] = ring;
}

gp_record_ring *gp_record_merge_first(const gp_record_merge *merge)
{
    return merge->count > 0 ? merge->rings[0] : NULL;
}

void gp_record_merge_drop_first(gp_record_merge *merge)
{
    gp_record_ring *ring = merge->rings[0];
    ring->last_stamp = key_of(ring);
    ring->cursor++;
    if (ring->cursor == ring->limit || ring->cursor % TAIL_STEP == 0)
        atomic_store_explicit(&ring->tail, ring->cursor, memory_order_release);
    if (ring->cursor == ring->limit)
        ring = merge->rings[--merge->count];
    if (merge->count > 0)
        sift_down(merge, 0, ring);
}

void gp_record_merge_end(gp_record_merge *merge)
{
    for (size_t i = 0; i < merge->count; i++) {
        gp_record_ring *ring = merge->rings[i];
        atomic_store_explicit(&ring->tail, ring->cursor, memory_order_release);
    }
    merge->count = 0;
}
