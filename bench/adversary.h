/*
 * An adversary: requests that break memory up. In every phase blocks are a third
 * longer than in the one before, so that they fit no hole that those have left; each
 * phase begins by freeing half of what is live, block by block at random, so that the
 * holes are apart; and one block in sixteen stays for some phases more. Small ones and
 * very long ones come in between. The same on every machine.
 */
#ifndef GP_BENCH_ADVERSARY_H
#define GP_BENCH_ADVERSARY_H

#include "random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ADVERSARY_STREAMS 4

typedef struct bench_victim {
    void *ptr; /* Set by the caller after an allocation. */
    size_t bytes;
    size_t free_from; /* Phase from which it may be freed. */
    unsigned int stream;
} bench_victim;

typedef struct bench_adversary {
    bench_random random;
    size_t operations, made;
    size_t target_bytes; /* Most bytes live at once. */
    size_t goal_bytes;   /* What it works towards now. */
    size_t live_bytes;
    size_t phase;
    size_t next_bytes; /* Of the next allocation. */
    bench_victim *live;
    size_t count, capacity;
} bench_adversary;

/* False if memory runs out. */
bool bench_adversary_create(bench_adversary *adversary, size_t operations, size_t target_bytes);
void bench_adversary_destroy(bench_adversary *adversary);

/*
 * The next operation. If it is an allocation, `*victim` is the new block, whose ptr is
 * to be set; it may move at the next call. If it is a free, a copy of the block that
 * has just left. False once all operations have been made, or memory has run out.
 */
bool bench_adversary_next(bench_adversary *adversary, bool *frees, bench_victim **victim);

#endif
