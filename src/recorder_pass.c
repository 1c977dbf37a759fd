/*
 * One pass of a recorder's writer.
 *
 * Whatever an event stamped up to `bound` may depend on is in the rings: see record_ring.h. A
 * thread that is caught while it notes a call stamps it no earlier than its last one, and nothing
 * stamped later than that is told before the next pass.
 *
 * Dropped calls are told before the events of the pass. Whatever contradicts the file for want
 * of a dropped call, such as a block that is allocated though nobody freed it, was stamped after
 * the drop, and if the last pass did not see the drop yet, then after that one's bound.
 */
#include "recorder.h"

/* Is there anything to do? Asked without a barrier: whatever is missed is there next time. */
static bool has_news(const gp_recorder *recorder)
{
    if (gp_counter_get(&recorder->homeless) != recorder->homeless_told)
        return true;
    for (const gp_record_ring *ring = atomic_load(&recorder->rings); ring != NULL;
         ring = ring->next) {
        if (gp_counter_get(&ring->head) != ring->cursor ||
            gp_counter_get(&ring->dropped) != gp_counter_get(&ring->dropped_told))
            return true;
    }
    return false;
}

static void tell_dropped(gp_recorder *recorder, uint64_t count, uint32_t thread)
{
    gp_record_row row = {.ns = recorder->file.last_ns, .op = 'd', .bytes = count, .thread = thread};
    recorder->dropped += count;
    (void)gp_record_file_put(&recorder->file, &row);
}

static void tell_homeless(gp_recorder *recorder)
{
    uint64_t count = gp_counter_get(&recorder->homeless);
    if (count == recorder->homeless_told)
        return;
    tell_dropped(recorder, count - recorder->homeless_told, 0);
    recorder->homeless_told = count;
}

/* Returns how far this ring lets the pass go. */
static uint64_t open_ring(gp_recorder *recorder, gp_record_ring *ring, uint64_t bound)
{
    bool busy = atomic_load_explicit(&ring->side.busy, memory_order_acquire);
    ring->limit = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t dropped = gp_counter_get(&ring->dropped);
    uint64_t told = gp_counter_get(&ring->dropped_told);
    if (dropped != told) {
        tell_dropped(recorder, dropped - told,
                     atomic_load_explicit(&ring->thread, memory_order_relaxed));
        gp_counter_set(&ring->dropped_told, dropped);
    }
    uint64_t last = ring->last_stamp;
    if (ring->cursor != ring->limit) {
        last = ring->events[(ring->limit - 1) % GP_RECORD_RING_EVENTS].stamp;
        gp_record_merge_add(&recorder->merge, ring);
    }
    return busy && last < bound ? last : bound;
}

static void tell_event(gp_recorder *recorder, const gp_record_ring *ring,
                       const gp_record_event *event)
{
    uint64_t ns = gp_record_clock_to_ns(event->stamp - recorder->start_stamp);
    gp_record_row row = {
        .ns = ns > recorder->file.last_ns ? ns : recorder->file.last_ns,
        .op = event->bytes_and_op % 2 != 0 ? 'f' : 'a',
        .id = event->address,
        .bytes = event->bytes_and_op / 2,
        .stream = event->stream_id,
        .thread = atomic_load_explicit(&ring->thread, memory_order_relaxed),
    };
    if (gp_record_file_put(&recorder->file, &row))
        recorder->recorded++;
    else
        recorder->dropped++;
}

static void tell_events(gp_recorder *recorder, uint64_t bound)
{
    gp_record_merge *merge = &recorder->merge;
    gp_record_ring *ring = gp_record_merge_first(merge);
    while (ring != NULL && gp_record_ring_oldest(ring)->stamp <= bound) {
        tell_event(recorder, ring, gp_record_ring_oldest(ring));
        gp_record_merge_drop_first(merge);
        ring = gp_record_merge_first(merge);
    }
    gp_record_merge_end(merge);
}

void gp_recorder_pass(gp_recorder *recorder)
{
    uint64_t bound = gp_record_clock_now();
    gp_counter_set(&recorder->pass_stamp, bound);
    if (!has_news(recorder))
        return;
    gp_asymmetric_barrier();
    tell_homeless(recorder);
    for (gp_record_ring *ring = atomic_load(&recorder->rings); ring != NULL; ring = ring->next)
        bound = open_ring(recorder, ring, bound);
    tell_events(recorder, bound);
}
