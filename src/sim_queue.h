/*
 * The work of one stream in time: when each of its operations ends.
 *
 * Operations are numbered 1, 2, ... An end is known (the operation is
 * *resolved*) unless a closed gate lies before it, here or on a stream it waits
 * for. Operations of a stream end in order, so what is complete is a number.
 *
 *   1 .. done | done+1 .. done+resolved | .. done+count
 *   complete  | end known               | end unknown
 */
#ifndef GP_SRC_SIM_QUEUE_H
#define GP_SRC_SIM_QUEUE_H

#include "gp/sim.h"

struct gp_sim_stream;

typedef struct gp_sim_task {
    uint64_t submitted_ns;
    uint64_t ns;                     /* duration, the end once resolved */
    struct gp_sim_gate_handle *gate; /* stops here until open; may be NULL */
    struct gp_sim_stream *after;     /* waits for another stream; may be NULL */
    uint64_t after_position;
} gp_sim_task;

/* All zero is an empty queue. */
typedef struct gp_sim_queue {
    gp_sim_task *tasks; /* ring of `count` from `head` */
    size_t capacity;    /* power of two or 0 */
    size_t head;
    size_t count;
    size_t resolved;
    uint64_t done;
    uint64_t last_end_ns; /* of the last resolved operation */
} gp_sim_queue;

/* Position of the operation submitted last. */
static inline uint64_t gp_sim_queue_position(const gp_sim_queue *queue)
{
    return queue->done + queue->count;
}

/* Append an operation. Takes references of its own to the gate and the stream
 * until it is resolved. False: out of host memory. */
bool gp_sim_queue_push(gp_sim_queue *queue, gp_sim_task task);

/* Drop what has ended by now. */
void gp_sim_queue_settle(gp_sim_queue *queue, uint64_t now_ns);

/* When an operation ends, 0 if it has ended long ago. False: not known yet. */
bool gp_sim_queue_end(const gp_sim_queue *queue, uint64_t position, uint64_t *end_ns);

/* Resolve what can be; whether anything was. */
bool gp_sim_queue_resolve(gp_sim_queue *queue);

void gp_sim_queue_clear(gp_sim_queue *queue);

#endif
