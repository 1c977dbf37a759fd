/*
 * A ring: what one thread noted and the writer has not taken yet.
 *
 *        tail                    limit            head
 *     ----|=======================|================|------------
 *         |  the writer's present pass              |  written by the thread
 *
 * Both ends only count up. The thread marks itself busy before it reads the clock and until the
 * event is in the ring. So the writer can know a moment up to which it has all there is: it reads
 * the clock, orders memory in every thread (asymmetric.h), and looks at each ring. Whoever is not
 * busy then has put in everything it timed before that moment.
 */
#ifndef GP_SRC_RECORD_RING_H
#define GP_SRC_RECORD_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "asymmetric.h"
#include "compiler.h"
#include "counter.h"
#include "record_clock.h"

#define GP_RECORD_RING_EVENTS 16384u /* a power of two */

typedef struct gp_record_event {
    uint64_t ticks;
    uint64_t address;
    uint64_t bytes_and_op; /* bytes * 2, plus 1 for a free. */
    uint64_t stream_id;
} gp_record_event;

typedef struct gp_record_ring {
    /* The thread's. */
    gp_asymmetric side; /* Nobody revokes it; its busy is what counts. */
    gp_counter head;
    uint64_t tail_seen;
    gp_counter dropped;

    /* Of the thread that has it: under the recorder's mutex, but for the writer, which reads
     * the number of whose events it finds. */
    pid_t owner;
    _Atomic(uint32_t) thread;
    struct gp_record_ring *next; /* Older. */

    /* The writer's. */
    _Alignas(GP_CACHE_LINE) gp_counter tail;
    uint64_t limit;
    uint64_t last_ticks;     /* Of the last event before tail; of its making, before the first. */
    gp_counter dropped_told; /* Those the file has. */

    _Alignas(GP_CACHE_LINE) gp_record_event events[GP_RECORD_RING_EVENTS];
} gp_record_ring;

/* The owner's thread only. */
static inline void gp_record_ring_push(gp_record_ring *ring, uint64_t address, uint64_t bytes,
                                       uint64_t stream_id, bool frees)
{
    uint64_t head = gp_counter_get(&ring->head);
    (void)gp_asymmetric_enter(&ring->side);
    if (GP_UNLIKELY(head - ring->tail_seen == GP_RECORD_RING_EVENTS))
        ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (GP_UNLIKELY(head - ring->tail_seen == GP_RECORD_RING_EVENTS)) {
        gp_counter_add(&ring->dropped, 1);
    } else {
        gp_record_event *event = &ring->events[head % GP_RECORD_RING_EVENTS];
        event->address = address;
        event->bytes_and_op = bytes * 2 + frees;
        event->stream_id = stream_id;
        event->ticks = gp_record_clock_now();
        atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    }
    gp_asymmetric_leave(&ring->side);
}

/* A ring of the calling thread. NULL: out of memory. */
gp_record_ring *gp_record_ring_create(uint32_t thread);
void gp_record_ring_destroy(gp_record_ring *ring);

/* Give a ring whose thread is gone, and of which everything is in the file, to the calling
 * thread. False: it is not such a one. Under the recorder's mutex. */
bool gp_record_ring_inherit(gp_record_ring *ring, uint32_t thread);

#endif
