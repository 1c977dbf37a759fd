/* Random numbers that are the same in every run: splitmix64. */
#ifndef GP_TESTS_SEEDED_RANDOM_H
#define GP_TESTS_SEEDED_RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t seeded_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* 0 to limit - 1. */
static inline size_t seeded_random_below(uint64_t *state, size_t limit)
{
    return (size_t)(seeded_random(state) % limit);
}

#endif
