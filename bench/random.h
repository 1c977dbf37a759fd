/* Pseudo-random numbers that are the same on every machine, which rand()'s are not. */
#ifndef GP_BENCH_RANDOM_H
#define GP_BENCH_RANDOM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t bench_random; /* Never 0. */

/* Neighbouring seeds start far apart. */
static inline bench_random bench_random_seed(uint64_t seed)
{
    return (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* xorshift64* */
static inline uint64_t bench_random_next(bench_random *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Less than `limit`, which is at most 2^32. */
static inline size_t bench_random_below(bench_random *state, size_t limit)
{
    return (size_t)(((bench_random_next(state) >> 32) * limit) >> 32);
}

/* From low to high, log-uniform: as likely between 1 and 2 KiB as between 512 KiB and 1 MiB. */
static inline size_t bench_random_bytes(bench_random *state, size_t low, size_t high)
{
    double share = (double)(bench_random_next(state) >> 11) / 9007199254740992.0; /* 2^53 */
    double first = log2((double)low);
    double last = log2((double)high);
    return (size_t)exp2(first + share * (last - first));
}

#endif
