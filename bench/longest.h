/*
 * The longest call of a pass, and what it did.
 *
 * A contender's counters cannot be read around every call without making all of them slower. So
 * they are read after calls that took long, a twentieth of all: what changed since the last
 * reading is put down to the last of these calls. Short calls in between add their questions of
 * events and their hits to it, but no native call, which never is short.
 */
#ifndef GP_BENCH_LONGEST_H
#define GP_BENCH_LONGEST_H

#include "contender.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One call of a pass. */
typedef struct bench_call {
    uint64_t ticks; /* Its bracket. */
    size_t event;   /* Index in the trace. */
    size_t bytes;
    size_t stream;
    bool frees;
    bool passes_through; /* To the native allocator, as every call of its contender. */
    bench_usage did;     /* Counts of what it did, as far as can be told. */
} bench_call;

typedef struct bench_longest {
    pthread_mutex_t lock; /* Players may be many. */
    uint64_t long_ticks;  /* A call is long from here on. */
    bench_usage seen;     /* At the last reading. */
    bench_call call;      /* ticks 0: none yet. */
} bench_longest;

void bench_longest_init(bench_longest *longest);
void bench_longest_destroy(bench_longest *longest);

/* Before a pass in which calls from `long_ticks` on count as long. Returns 0 or the contender's
 * code. */
int bench_longest_begin(bench_longest *longest, bench_contender *contender, uint64_t long_ticks);

/* After a call; its `did` is filled here. Outside of what is timed. Returns likewise. */
int bench_longest_look(bench_longest *longest, bench_contender *contender, bench_call *call);

static inline bool bench_longest_is_long(const bench_longest *longest, uint64_t ticks)
{
    return longest != NULL && ticks >= longest->long_ticks;
}

/*
 * The costliest thing among what a call of its kind may have done: "growth", "release", "wait",
 * "fence", "share", "refill", "flush", "native" if all that it is is a native call, or "host": none
 * of these, so that the machine held it up, or a lock.
 */
const char *bench_longest_cause(const bench_call *call);

#endif
