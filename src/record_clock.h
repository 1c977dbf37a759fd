/*
 * The clock of recordings: cheap, and the same in all threads.
 *
 * Order across threads hangs on it. A read is not done before everything in front of it in its
 * thread has been done: so an allocation is timed after the block was taken out of wherever another
 * thread put it. Nothing behind it in its thread is seen by others before it: so a free is timed
 * before anybody can get the block. The processor's own counter (rdtscp) keeps both, and runs
 * alike on all of a machine's cores where it is invariant; elsewhere CLOCK_MONOTONIC, which takes
 * two or three times as long.
 */
#ifndef GP_SRC_RECORD_CLOCK_H
#define GP_SRC_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

extern bool gp_record_clock_has_counter;

/* Choose the clock and measure its rate, once: 10 ms. Before any thread reads it. */
void gp_record_clock_init(void);

/* A difference of two reads in nanoseconds; never less for a larger one. */
uint64_t gp_record_clock_to_ns(uint64_t ticks);

static inline uint64_t gp_record_clock_now(void)
{
#if defined(__x86_64__)
    if (gp_record_clock_has_counter) {
        unsigned int processor;
        return __rdtscp(&processor);
    }
#endif
    return gp_clock_ns();
}

#endif
