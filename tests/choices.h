/*
 * Where a random test takes its choices from: random numbers of a seed, or bytes of a fuzzer, which
 * then steers the test. Both are the same in every run.
 */
#ifndef GP_TESTS_CHOICES_H
#define GP_TESTS_CHOICES_H

#include "seeded_random.h"

#include <stdbool.h>

typedef struct choices {
    uint64_t random;      /* State of the generator. */
    const uint8_t *bytes; /* Instead, if not NULL. */
    size_t bytes_left;
} choices;

/* The bytes have run out; random numbers do not. */
static inline bool choices_are_over(const choices *self)
{
    return self->bytes != NULL && self->bytes_left == 0;
}

static inline size_t choices_next_byte(choices *self)
{
    if (self->bytes_left == 0) {
        return 0;
    }
    self->bytes_left--;
    return *self->bytes++;
}

/* 0 to limit - 1; of bytes, one for a limit of up to 256, else two. */
static inline size_t choices_below(choices *self, size_t limit)
{
    if (self->bytes == NULL) {
        return seeded_random_below(&self->random, limit);
    }
    size_t value = choices_next_byte(self);

    if (limit > 256) {
        value = value << 8 | choices_next_byte(self);
    }
    return value % limit;
}

#endif
