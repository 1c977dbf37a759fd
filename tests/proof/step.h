/*
 * A step of a random program: what one thread does at one time.
 *
 * Steps name slots, never handles. A step whose slots are not as it needs them does nothing, so
 * that a program stays correct whichever of its steps are taken out: that is what lets a failing
 * one be shrunk.
 */
#ifndef GP_TESTS_PROOF_STEP_H
#define GP_TESTS_PROOF_STEP_H

#include <stddef.h>
#include <stdint.h>

enum {
    PROOF_THREADS = 4,
    PROOF_MADE_STREAMS = 8,            /* created and destroyed, */
    PROOF_LEGACY = PROOF_MADE_STREAMS, /* then the legacy stream, */
    PROOF_OWN = PROOF_LEGACY + 1,      /* then each thread's own one */
    PROOF_STREAMS = PROOF_OWN + PROOF_THREADS,
    PROOF_BLOCKS = 40,
    PROOF_POOLS = 2,
    PROOF_EVENTS = 6
};

/* STEP(kind, weight): how often, before a program has its own mood. */
#define PROOF_STEP_KINDS(STEP)                                                                     \
    STEP(ALLOC, 300)                                                                               \
    STEP(WRITE, 160)                                                                               \
    STEP(READ, 80)                                                                                 \
    STEP(RECORD_USE, 30)                                                                           \
    STEP(FREE, 220)                                                                                \
    STEP(FREE_ELSEWHERE, 70)                                                                       \
    STEP(BAD_FREE, 3)                                                                              \
    STEP(ORDER, 30)                                                                                \
    STEP(RECORD_EVENT, 12)                                                                         \
    STEP(WAIT_EVENT, 12)                                                                           \
    STEP(CREATE_STREAM, 24)                                                                        \
    STEP(DESTROY_STREAM, 10)                                                                       \
    STEP(ATTACH, 14)                                                                               \
    STEP(DETACH, 6)                                                                                \
    STEP(SYNCHRONIZE, 6)                                                                           \
    STEP(ADVANCE, 24)                                                                              \
    STEP(CLOSE_GATE, 8)                                                                            \
    STEP(OPEN_GATE, 12)                                                                            \
    STEP(BEGIN_CAPTURE, 10)                                                                        \
    STEP(END_CAPTURE, 12)                                                                          \
    STEP(LAUNCH_GRAPH, 12)                                                                         \
    STEP(DESTROY_GRAPH, 3)                                                                         \
    STEP(TRIM, 6)                                                                                  \
    STEP(RESERVE, 3)                                                                               \
    STEP(CREATE_POOL, 6)                                                                           \
    STEP(DESTROY_POOL, 2)                                                                          \
    STEP(FAULT, 16)                                                                                \
    STEP(END_THREAD, 2)                                                                            \
    STEP(LOOK, 6)                                                                                  \
    STEP(EXCHANGE, 40)

typedef enum proof_kind {
#define PROOF_KIND(kind, weight) PROOF_##kind,
    PROOF_STEP_KINDS(PROOF_KIND)
#undef PROOF_KIND
        PROOF_KINDS
} proof_kind;

typedef struct proof_step {
    uint8_t kind;
    uint8_t thread; /* who does it, unless a stream is another thread's own */
    uint8_t block;
    uint8_t more; /* a second block, or an event */
    uint8_t stream;
    uint8_t to; /* a second stream */
    uint8_t pool;
    uint8_t choice; /* what is left to choose, by kind */
    uint32_t amount;
} proof_step;

/* One line of text about a step. */
void proof_step_describe(const proof_step *step, char *text, size_t capacity);

#endif
