/*
 * The free pieces of a buddy system of 64 units, read off one word.
 *
 * Bit i says whether unit i is free. The pieces follow from that alone, since
 * free buddies are always joined: a piece of order k is 2^k free units at a
 * multiple of 2^k whose buddy is not wholly free. So nothing is split or joined
 * step by step: units are marked, and some shifts and masks show the pieces.
 */
#ifndef GP_POLICIES_FREE_BITS_H
#define GP_POLICIES_FREE_BITS_H

#include <stdint.h>

enum {
    GP_FREE_BITS_ORDER = 6, /* Of a piece that is the whole word. */
};

/* Where a run of 2^k units may begin. */
static const uint64_t gp_free_bits_firsts[GP_FREE_BITS_ORDER + 1] = {
    UINT64_MAX,
    UINT64_C(0x5555555555555555),
    UINT64_C(0x1111111111111111),
    UINT64_C(0x0101010101010101),
    UINT64_C(0x0001000100010001),
    UINT64_C(0x0000000100000001),
    UINT64_C(0x0000000000000001),
};

/* Is there a piece so long: a run of that length that is no half of a longer one? */
static inline uint32_t gp_free_bits_has(uint64_t runs, uint64_t longer, unsigned length)
{
    return (runs & ~(longer | longer << length)) != 0;
}

/* Bit k: there is a piece of order k. */
static inline uint32_t gp_free_bits_orders(uint64_t bits)
{
    /* Bit i: so many free units from i on, wherever i is. */
    uint64_t any2 = bits & bits >> 1;
    uint64_t any4 = any2 & any2 >> 2;
    uint64_t any8 = any4 & any4 >> 4;
    uint64_t any16 = any8 & any8 >> 8;
    uint64_t any32 = any16 & any16 >> 16;
    /* Bit i: the same, and i is a multiple of the length. */
    uint64_t runs2 = any2 & gp_free_bits_firsts[1];
    uint64_t runs4 = any4 & gp_free_bits_firsts[2];
    uint64_t runs8 = any8 & gp_free_bits_firsts[3];
    uint64_t runs16 = any16 & gp_free_bits_firsts[4];
    uint64_t runs32 = any32 & gp_free_bits_firsts[5];
    uint64_t runs64 = bits == UINT64_MAX;

    return gp_free_bits_has(bits, runs2, 1) | gp_free_bits_has(runs2, runs4, 2) << 1 |
           gp_free_bits_has(runs4, runs8, 4) << 2 | gp_free_bits_has(runs8, runs16, 8) << 3 |
           gp_free_bits_has(runs16, runs32, 16) << 4 | gp_free_bits_has(runs32, runs64, 32) << 5 |
           (uint32_t)runs64 << 6;
}

/* The first units of all pieces of this order. */
static inline uint64_t gp_free_bits_of_order(uint64_t bits, unsigned order)
{
    unsigned length = 1;

    for (unsigned i = 0; i < order; i++, length *= 2) {
        bits &= bits >> length;
    }
    if (order == GP_FREE_BITS_ORDER) {
        return bits & 1;
    }
    uint64_t runs = bits & gp_free_bits_firsts[order];
    uint64_t longer = bits & bits >> length & gp_free_bits_firsts[order + 1];

    return runs & ~(longer | longer << length);
}

/* So many ones from bit first on; count is 0 to 64. */
static inline uint64_t gp_free_bits_range(unsigned first, unsigned count)
{
    return (count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << first;
}

#endif
