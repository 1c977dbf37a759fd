/*
 * Short times, in ticks of the processor's own clock.
 *
 * A call is bracketed by begin() and end(). Both are fenced, so that neither the
 * harness's work before the call nor its work after it is counted. On x86-64
 * with a steady time-stamp counter a tick is one of that counter; elsewhere it
 * is a nanosecond of CLOCK_MONOTONIC.
 */
#ifndef GP_BENCH_TICKS_H
#define GP_BENCH_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

typedef struct bench_ticks {
    double ns_per_tick;
    uint64_t overhead;  /* What a bracket around nothing takes, in ticks. */
    const char *source; /* "tsc" or "clock_gettime", for reports. */
} bench_ticks;

/* Whether brackets read the time-stamp counter. Set before any thread runs. */
extern bool bench_ticks_use_tsc;

/* Choose the clock, measure its rate and what a bracket costs. Takes 50 ms. */
void bench_ticks_calibrate(bench_ticks *ticks);

static inline uint64_t bench_ticks_monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t bench_ticks_begin(void)
{
#if defined(__x86_64__)
    if (bench_ticks_use_tsc) {
        _mm_lfence();
        uint64_t now = __rdtsc();
        _mm_lfence();
        return now;
    }
#endif
    return bench_ticks_monotonic_ns();
}

static inline uint64_t bench_ticks_end(void)
{
#if defined(__x86_64__)
    if (bench_ticks_use_tsc) {
        unsigned int processor;
        uint64_t now = __rdtscp(&processor); /* waits for the call's own work */
        _mm_lfence();
        return now;
    }
#endif
    return bench_ticks_monotonic_ns();
}

/* The bracket of a call that takes so long. */
static inline uint64_t bench_ticks_of_ns(const bench_ticks *ticks, double ns)
{
    return (uint64_t)(ns / ticks->ns_per_tick) + ticks->overhead;
}

/* Nanoseconds of a bracket, its own cost taken off. */
static inline double bench_ticks_to_ns(const bench_ticks *ticks, uint64_t bracket)
{
    return bracket > ticks->overhead ? (double)(bracket - ticks->overhead) * ticks->ns_per_tick
                                     : 0.0;
}

#endif
