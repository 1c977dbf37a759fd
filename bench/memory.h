/*
 * What a contender holds over a run, against what is live: samples at even steps.
 */
#ifndef GP_BENCH_MEMORY_H
#define GP_BENCH_MEMORY_H

#include "contender.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_MEMORY_SAMPLES 240

typedef struct bench_memory_sample {
    size_t event;            /* How many calls had been made. */
    uint64_t live_bytes;     /* As requested. */
    uint64_t reserved_bytes; /* Held from the device. */
    bool has_holes;          /* The contender knows its free memory. */
    bench_holes holes;
} bench_memory_sample;

typedef struct bench_memory {
    bench_memory_sample samples[BENCH_MEMORY_SAMPLES];
    size_t count;
    size_t total; /* Events of the whole run. */
} bench_memory;

/* Begin anew, for a run of so many events. */
void bench_memory_begin(bench_memory *memory, size_t total);

/* Is a sample due after so many events? */
static inline bool bench_memory_is_due(const bench_memory *memory, size_t event)
{
    return memory->count < BENCH_MEMORY_SAMPLES &&
           event * BENCH_MEMORY_SAMPLES >= (memory->count + 1) * memory->total;
}

/* Ask the contender and keep the answer; with its holes too, which may be slow and
 * needs all other threads at rest. Returns 0 or the contender's code. */
int bench_memory_take(bench_memory *memory, bench_contender *contender, size_t event,
                      uint64_t live_bytes, bool with_holes);

/* 1 less the share of the longest free piece in all that is free; 0 if nothing is. */
double bench_memory_fragmentation(const bench_memory_sample *sample);

#endif
