/*
 * A set of small numbers, 0 to 2^depth - 1, that knows its least member.
 *
 * Each level has a bit for every word of the level below that is not zero; the
 * levels lie one behind the other, the members' own bits first:
 *
 *   depth 12:  64 words of members | 1 word: which of the 64 are not zero
 *
 * Every operation touches one word a level, so it is O(depth / 6).
 */
#ifndef GP_POLICIES_BIT_TREE_H
#define GP_POLICIES_BIT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GP_BIT_TREE_WORD_DEPTH = 6 }; /* 2^6 bits a word */

/* Words that a set of 2^depth numbers takes. */
static inline size_t gp_bit_tree_words(unsigned depth)
{
    size_t words = 1;

    for (; depth > GP_BIT_TREE_WORD_DEPTH; depth -= GP_BIT_TREE_WORD_DEPTH) {
        words += (size_t)1 << (depth - GP_BIT_TREE_WORD_DEPTH);
    }
    return words;
}

static inline bool gp_bit_tree_has(const uint64_t *words, size_t number)
{
    return (words[number / 64] >> (number % 64) & 1) != 0;
}

static inline void gp_bit_tree_add(uint64_t *words, unsigned depth, size_t number)
{
    for (;;) {
        uint64_t *word = &words[number / 64];
        bool was_empty = *word == 0;

        *word |= UINT64_C(1) << (number % 64);
        if (!was_empty || depth <= GP_BIT_TREE_WORD_DEPTH) {
            return;
        }
        depth -= GP_BIT_TREE_WORD_DEPTH;
        words += (size_t)1 << depth;
        number /= 64;
    }
}

/* @return true: that was the last member. */
static inline bool gp_bit_tree_drop(uint64_t *words, unsigned depth, size_t number)
{
    for (;;) {
        uint64_t *word = &words[number / 64];

        *word &= ~(UINT64_C(1) << (number % 64));
        if (*word != 0) {
            return false;
        }
        if (depth <= GP_BIT_TREE_WORD_DEPTH) {
            return true;
        }
        depth -= GP_BIT_TREE_WORD_DEPTH;
        words += (size_t)1 << depth;
        number /= 64;
    }
}

/* The least member of a set that is not empty. */
static inline size_t gp_bit_tree_least(const uint64_t *words, unsigned depth)
{
    const uint64_t *levels[4];
    size_t level = 0;
    size_t number = 0;

    levels[0] = words;
    while (depth > GP_BIT_TREE_WORD_DEPTH) {
        depth -= GP_BIT_TREE_WORD_DEPTH;
        levels[level + 1] = levels[level] + ((size_t)1 << depth);
        level++;
    }
    for (;;) {
        number = number * 64 + (size_t)__builtin_ctzll(levels[level][number]);
        if (level-- == 0) {
            return number;
        }
    }
}

#endif
