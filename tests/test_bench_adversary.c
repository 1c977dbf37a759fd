#include "adversary.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define OPERATIONS ((size_t)50000)
#define TARGET_BYTES ((size_t)64 << 20)

static bench_adversary adversary;

static void destroy_adversary(void)
{
    bench_adversary_destroy(&adversary);
}

TestSuite(bench_adversary, .fini = destroy_adversary);

/* Play all operations; returns a sum over them that depends on their order. */
static uint64_t play(bench_adversary *one, size_t *most_live, size_t *frees)
{
    bench_victim *block = NULL;
    bool is_free = false;
    uint64_t sum = 0;
    cr_assert(bench_adversary_create(one, OPERATIONS, TARGET_BYTES));
    while (bench_adversary_next(one, &is_free, &block)) {
        sum = sum * 31 + block->bytes + (is_free ? 1 : 0);
        *most_live = one->live_bytes > *most_live ? one->live_bytes : *most_live;
        *frees += is_free;
    }
    return sum;
}

Test(bench_adversary, makes_the_operations_that_were_asked_for_within_the_live_bytes)
{
    size_t most_live = 0;
    size_t frees = 0;

    (void)play(&adversary, &most_live, &frees);

    cr_assert(eq(sz, adversary.made, OPERATIONS));
    cr_assert(le(sz, most_live, TARGET_BYTES));
    cr_assert(lt(sz, TARGET_BYTES / 2, most_live));
    cr_assert(eq(sz, adversary.made - frees, frees + adversary.count));
}

Test(bench_adversary, is_the_same_every_time)
{
    bench_adversary again;
    size_t most_live = 0;
    size_t frees = 0;

    uint64_t first = play(&adversary, &most_live, &frees);
    uint64_t second = play(&again, &most_live, &frees);

    cr_assert(eq(u64, first, second));
    bench_adversary_destroy(&again);
}

Test(bench_adversary, hands_a_freed_block_back_as_it_was_allocated)
{
    bench_victim *block = NULL;
    bool is_free = false;
    uintptr_t next = 1;
    cr_assert(bench_adversary_create(&adversary, OPERATIONS, TARGET_BYTES));

    while (bench_adversary_next(&adversary, &is_free, &block)) {
        if (is_free)
            cr_assert(ne(ptr, block->ptr, NULL));
        else
            block->ptr = (void *)next++;
    }
}
