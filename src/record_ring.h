/*
 * A ring: what one thread noted and the writer has not taken yet.
 *
 *        tail                    limit            head
 *     ----|=======================|================|------------
 *         |  the writer's present pass              |  written by the thread
 *
 * Both ends only count up.
 *
 * Stamps. An event has a read of the clock (record_clock.h) by which rings are merged. To read it
 * costs more than all the rest, so most events take over the one before them in their ring. What
 * that may not put in the wrong order is the calls of different threads on one block. So whoever
 * sees a block that another thread had reads the clock anew: an allocation that is no hit, the
 * first call after blocks came into the thread cache, a free of a block that another thread
 * allocated. Its stamp is past the moment when the other thread was done with the block, and that
 * one's stamp is not. A stamp never lies ahead, and is old for at most 64 calls and one pass of the
 * writer.
 *
 * Passes. The thread marks itself busy before it stamps an event and until the event is in the
 * ring. So the writer can know a moment up to which it has all that others may depend on: it reads
 * the clock, orders memory in every thread (asymmetric.h), and looks at each ring. What comes later
 * into the ring of a thread that is not busy then, nothing stamped before that moment has seen.
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
    uint64_t stamp;
    uint64_t address;
    uint64_t bytes_and_op; /* bytes * 2, plus 1 for a free. */
    uint64_t stream_id;
} gp_record_event;

typedef struct gp_record_ring {
    /* The thread's. */
    gp_asymmetric side; /* Nobody revokes it; its busy is what counts. */
    gp_counter head;
    uint64_t tail_seen;
    uint32_t full_left;  /* Calls to drop before the tail is looked at again. */
    uint64_t stamp;      /* Of its last event. */
    uint32_t stamp_left; /* Events that may still take it over. */
    uint32_t index;      /* Among the recorder's rings. */
    gp_counter dropped;

    /* Of the thread that has it: under the recorder's mutex, but for the writer, which reads
     * the number of whose events it finds. */
    pid_t owner;
    _Atomic(uint32_t) thread;
    struct gp_record_ring *next; /* Older. */

    /* The writer's. */
    _Alignas(GP_CACHE_LINE) gp_counter tail; /* What the thread may write over, up to cursor. */
    uint64_t cursor;                         /* What the file has. */
    uint64_t limit;
    uint64_t last_stamp;     /* Of the last event before cursor; of its making, before the first. */
    gp_counter dropped_told; /* Those the file has. */

    _Alignas(GP_CACHE_LINE) gp_record_event events[GP_RECORD_RING_EVENTS];
} gp_record_ring;

/* How many events share a stamp at most. */
#define GP_RECORD_STAMP_EVENTS 64u

/* The owner's thread only, as what follows. The next event is stamped anew. */
static inline void gp_record_ring_age(gp_record_ring *ring)
{
    ring->stamp_left = 0;
}

static inline void gp_record_ring_stamp(gp_record_ring *ring, uint64_t oldest)
{
    if (ring->stamp_left == 0 || ring->stamp < oldest) {
        ring->stamp = gp_record_clock_now();
        ring->stamp_left = GP_RECORD_STAMP_EVENTS;
    }
    ring->stamp_left--;
}

/* Out of line: as far as was seen, the ring is full. */
bool gp_record_ring_make_room(gp_record_ring *ring);

/* Put a call in, with a stamp from `oldest` on. */
static inline void gp_record_ring_push(gp_record_ring *ring, uint64_t address, uint64_t bytes,
                                       uint64_t stream_id, bool frees, uint64_t oldest)
{
    uint64_t head = gp_counter_get(&ring->head);
    (void)gp_asymmetric_enter(&ring->side);
    if (GP_LIKELY(head - ring->tail_seen < GP_RECORD_RING_EVENTS) ||
        gp_record_ring_make_room(ring)) {
        gp_record_event *event = &ring->events[head % GP_RECORD_RING_EVENTS];
        gp_record_ring_stamp(ring, oldest);
        event->stamp = ring->stamp;
        event->address = address;
        event->bytes_and_op = bytes * 2 + frees;
        event->stream_id = stream_id;
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
