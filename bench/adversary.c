#include "adversary.h"

#include <math.h>
#include <stdlib.h>

#define PHASES 60
#define SIZES 20 /* Phases until the sizes start anew. */
#define FIRST_BYTES 4096.0
#define GROWTH 1.37
#define SMALL_ONE_IN 5
#define LONG_ONE_IN 200
#define PINNED_ONE_IN 16
#define PINNED_PHASES 4
#define TRIES 8 /* to find a block that is not pinned */

static size_t draw_bytes(bench_adversary *adversary)
{
    bench_random *random = &adversary->random;
    if (bench_random_below(random, SMALL_ONE_IN) == 0)
        return bench_random_bytes(random, 64, 4096);
    if (bench_random_below(random, LONG_ONE_IN) == 0)
        return bench_random_bytes(random, (size_t)2 << 20, (size_t)16 << 20);
    size_t base = (size_t)(FIRST_BYTES * pow(GROWTH, (double)(adversary->phase % SIZES)));
    return base + bench_random_below(random, base / 4);
}

bool bench_adversary_create(bench_adversary *adversary, size_t operations, size_t target_bytes)
{
    *adversary = (bench_adversary){
        .random = bench_random_seed(1),
        .operations = operations,
        .target_bytes = target_bytes,
        .goal_bytes = target_bytes,
        .capacity = 1024,
    };
    adversary->live = calloc(adversary->capacity, sizeof(*adversary->live));
    adversary->next_bytes = draw_bytes(adversary);
    return adversary->live != NULL;
}

void bench_adversary_destroy(bench_adversary *adversary)
{
    free(adversary->live);
    adversary->live = NULL;
}

/* ---- the two operations ---- */

static bool grow(bench_adversary *adversary)
{
    if (adversary->count < adversary->capacity)
        return true;
    size_t capacity = adversary->capacity * 2;
    bench_victim *live = reallocarray(adversary->live, capacity, sizeof(*live));
    if (live == NULL)
        return false;
    adversary->live = live;
    adversary->capacity = capacity;
    return true;
}

static bool add_block(bench_adversary *adversary, bench_victim **victim)
{
    if (!grow(adversary))
        return false;
    bool pinned = bench_random_below(&adversary->random, PINNED_ONE_IN) == 0;
    *victim = &adversary->live[adversary->count++];
    **victim = (bench_victim){
        .bytes = adversary->next_bytes,
        .free_from = adversary->phase + (pinned ? PINNED_PHASES : 0),
        .stream = (unsigned int)(adversary->made % BENCH_ADVERSARY_STREAMS),
    };
    adversary->live_bytes += adversary->next_bytes;
    adversary->next_bytes = draw_bytes(adversary);
    return true;
}

/* The place it leaves is taken by the last; its copy lies where that was. */
static void remove_block(bench_adversary *adversary, bench_victim **victim)
{
    size_t chosen = bench_random_below(&adversary->random, adversary->count);
    for (int i = 0; i < TRIES && adversary->live[chosen].free_from > adversary->phase; i++)
        chosen = bench_random_below(&adversary->random, adversary->count);

    bench_victim removed = adversary->live[chosen];
    adversary->live[chosen] = adversary->live[--adversary->count];
    adversary->live[adversary->count] = removed;
    adversary->live_bytes -= removed.bytes;
    *victim = &adversary->live[adversary->count];
}

static void enter_phase(bench_adversary *adversary)
{
    size_t phase = (size_t)((double)adversary->made / (double)adversary->operations * PHASES);
    if (phase == adversary->phase)
        return;
    adversary->phase = phase;
    adversary->goal_bytes = adversary->target_bytes / 2;
}

bool bench_adversary_next(bench_adversary *adversary, bool *frees, bench_victim **victim)
{
    if (adversary->made == adversary->operations)
        return false;
    enter_phase(adversary);
    if (adversary->live_bytes <= adversary->goal_bytes)
        adversary->goal_bytes = adversary->target_bytes;

    size_t limit = adversary->goal_bytes;
    *frees = adversary->count > 0 &&
             (adversary->live_bytes > limit ||
              adversary->live_bytes + adversary->next_bytes > adversary->target_bytes);
    adversary->made++;
    if (!*frees)
        return add_block(adversary, victim);
    remove_block(adversary, victim);
    return true;
}
