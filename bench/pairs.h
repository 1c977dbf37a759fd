/*
 * The inner loop of `hit`: pairs of one allocation and one free, either of a
 * fixed size at once, or of random sizes with a number of blocks live.
 *
 * Sizes and slots are drawn beforehand, so that the loop does nothing but call.
 */
#ifndef GP_BENCH_PAIRS_H
#define GP_BENCH_PAIRS_H

#include "gp/base.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_contender;

#define BENCH_PAIRS_STEPS 4096 /* a power of two: steps are taken round and round */
#define BENCH_PAIRS_LIVE 64
#define BENCH_PAIRS_MIN_BYTES ((size_t)64)
#define BENCH_PAIRS_MAX_BYTES ((size_t)1 << 20)

/* One thread's pairs. */
typedef struct bench_pairs {
    size_t fixed_bytes; /* 0: random sizes */
    size_t next;        /* the step to take */
    size_t bytes[BENCH_PAIRS_STEPS];
    uint8_t slots[BENCH_PAIRS_STEPS]; /* whose block the step replaces */
    void *live[BENCH_PAIRS_LIVE];
    size_t live_bytes[BENCH_PAIRS_LIVE]; /* of each live block */
} bench_pairs;

/* A fixed size, or with 0 sizes from 64 B to 1 MiB, log-uniform, from a seed. */
void bench_pairs_init(bench_pairs *pairs, size_t fixed_bytes, uint64_t seed);

/* Most bytes of the pairs that are live at once. */
size_t bench_pairs_peak_bytes(const bench_pairs *pairs);

typedef int (*bench_pairs_alloc)(struct bench_contender *contender, void **ptr, size_t bytes,
                                 cudaStream_t stream);
typedef int (*bench_pairs_free)(struct bench_contender *contender, void *ptr, size_t bytes,
                                cudaStream_t stream);

/* One pair of random size: a live block goes, another takes its place. */
static inline int bench_pairs_replace(bench_pairs *pairs, bench_pairs_alloc alloc,
                                      bench_pairs_free release, struct bench_contender *contender,
                                      cudaStream_t stream)
{
    size_t step = pairs->next++ % BENCH_PAIRS_STEPS;
    size_t index = pairs->slots[step];
    void **slot = &pairs->live[index];
    int code = release(contender, *slot, pairs->live_bytes[index], stream);
    *slot = NULL;
    pairs->live_bytes[index] = pairs->bytes[step];
    return code != 0 ? code : alloc(contender, slot, pairs->bytes[step], stream);
}

/* `count` pairs. In random mode the live blocks are there before and after:
 * bench_pairs_fill() and bench_pairs_drain(). Returns the first failure or 0. */
static inline __attribute__((always_inline)) int
bench_pairs_run(bench_pairs *pairs, size_t count, bench_pairs_alloc alloc, bench_pairs_free release,
                struct bench_contender *contender, cudaStream_t stream)
{
    int code = 0;
    if (pairs->fixed_bytes == 0) {
        for (size_t i = 0; i < count && code == 0; i++)
            code = bench_pairs_replace(pairs, alloc, release, contender, stream);
        return code;
    }
    for (size_t i = 0; i < count && code == 0; i++) {
        void *ptr = NULL;
        code = alloc(contender, &ptr, pairs->fixed_bytes, stream);
        if (code == 0)
            code = release(contender, ptr, pairs->fixed_bytes, stream);
    }
    return code;
}

int bench_pairs_fill(bench_pairs *pairs, bench_pairs_alloc alloc, struct bench_contender *contender,
                     cudaStream_t stream);
int bench_pairs_drain(bench_pairs *pairs, bench_pairs_free release,
                      struct bench_contender *contender, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
