/*
 * A meeting point that threads leave at almost the same moment.
 *
 * It spins first: a sleeping barrier would wake its threads one after another,
 * microseconds apart, and calls that should contend would not. After a while it
 * yields, so that more threads than processors still get along.
 */
#ifndef GP_BENCH_RENDEZVOUS_H
#define GP_BENCH_RENDEZVOUS_H

#include <stdatomic.h>

typedef struct bench_rendezvous {
    unsigned int thread_count;
    atomic_uint arrived; /* In this round. */
    atomic_uint round;
} bench_rendezvous;

void bench_rendezvous_init(bench_rendezvous *rendezvous, unsigned int thread_count);

/* Return once all threads have called. Orders their memory as a barrier does. */
void bench_rendezvous_wait(bench_rendezvous *rendezvous);

/* One turn of a wait loop: a pause at first, later the processor goes to others. */
void bench_rendezvous_relax(unsigned int turn);

#endif
