/* The default policy, through its table only. */
#include "gp/policy.h"
#include "malloc_fault.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static const uintptr_t first_base = 0x7f0000000000;

static const gp_policy_ops *ops;
static void *state;

static void set_up(void)
{
    gp_policy_params params = {.struct_bytes = sizeof(params), .large_bytes = MIB};

    ops = gp_policy_cache_first();
    cr_assert(eq(int, ops->create(&state, &params), GP_OK));
}

static void tear_down(void)
{
    ops->destroy(state);
}

TestSuite(policy_cache_first, .init = set_up, .fini = tear_down);

static void add_segment(uintptr_t base, size_t bytes)
{
    cr_assert(eq(int, ops->add_segment(state, (gp_span){base, bytes}), GP_OK));
}

static uintptr_t take(size_t bytes)
{
    uintptr_t base = 0;

    cr_assert(ops->take(state, bytes, GP_GRANULE_BYTES, &base));
    return base;
}

static bool can_take(size_t bytes)
{
    uintptr_t base = 0;

    return ops->take(state, bytes, GP_GRANULE_BYTES, &base);
}

static void give(uintptr_t base, size_t bytes)
{
    ops->give(state, (gp_span){base, bytes});
}

static gp_policy_usage usage(void)
{
    gp_policy_usage usage = {0};

    ops->usage(state, &usage);
    return usage;
}

Test(policy_cache_first, packs_small_objects_into_one_slab)
{
    add_segment(first_base, 2 * MIB);

    uintptr_t small = take(512);
    uintptr_t middle = take(4 * KIB);
    uintptr_t other_small = take(512);

    cr_assert(eq(sz, other_small, small + 512));
    cr_assert(ge(sz, middle, small + 64 * KIB));
}

Test(policy_cache_first, uses_what_is_left_of_a_segment_too_short_for_a_chunk)
{
    add_segment(first_base, 2 * MIB);
    take(2 * MIB - 50 * KIB);

    for (size_t i = 0; i < 50; i++) {
        take(1 * KIB);
    }

    cr_assert(not(can_take(512)));
    cr_assert(eq(sz, usage().free_bytes, 0));
    cr_assert(ops->is_valid(state));
}

Test(policy_cache_first, cuts_a_shorter_chunk_where_no_whole_one_fits)
{
    add_segment(first_base, 2 * MIB);
    uintptr_t large = take(MIB + 512);

    uintptr_t block = take(100 * KIB);
    uintptr_t neighbour = take(16 * KIB);

    cr_assert(eq(sz, large, first_base));
    cr_assert(eq(sz, block, large + MIB + 512), "at the start of what is left");
    cr_assert(eq(sz, neighbour, block + 112 * KIB), "in the tail of the same piece");
    cr_assert(ops->is_valid(state));
}

Test(policy_cache_first, meets_a_large_request_with_what_it_had_kept_back)
{
    add_segment(first_base, 4 * MIB);
    uintptr_t small = take(512);
    uintptr_t middle = take(64 * KIB);
    uintptr_t same_chunk = take(MIB);
    uintptr_t other_chunk = take(MIB);
    give(same_chunk, MIB);
    give(other_chunk, MIB);
    give(small, 512);
    give(middle, 64 * KIB);

    gp_policy_usage before = usage();
    uintptr_t whole = take(4 * MIB);

    cr_assert(ge(sz, other_chunk, first_base + 2 * MIB));
    cr_assert(eq(sz, before.free_bytes, 4 * MIB));
    cr_assert(eq(sz, before.largest_free_bytes, 4 * MIB));
    cr_assert(eq(sz, whole, first_base));
    cr_assert(eq(sz, usage().free_bytes, 0));
    cr_assert(ops->is_valid(state));
}

Test(policy_cache_first, meets_a_middle_request_with_the_empty_slab)
{
    uintptr_t blocks[16];
    add_segment(first_base, MIB);
    uintptr_t small = take(512);
    for (size_t i = 0; i < 15; i++) {
        blocks[i] = take(64 * KIB);
    }
    give(blocks[0], 64 * KIB);
    give(small, 512);

    cr_assert(eq(sz, usage().largest_free_bytes, 128 * KIB));
    cr_assert(eq(sz, take(128 * KIB), first_base));
    cr_assert(ops->is_valid(state));
}

Test(policy_cache_first, gives_up_a_segment_in_which_only_its_own_reserves_lie)
{
    add_segment(first_base, 2 * MIB);
    uintptr_t small = take(512);
    bool while_taken = ops->remove_segment(state, first_base);
    give(small, 512);

    bool is_free = ops->segment_is_free(state, first_base);
    bool is_removed = ops->remove_segment(state, first_base);

    cr_assert(not(while_taken));
    cr_assert(is_free);
    cr_assert(is_removed);
    cr_assert(eq(sz, usage().free_bytes, 0));
    cr_assert(not(ops->segment_is_free(state, first_base)));
    cr_assert(ops->is_valid(state));
}

Test(policy_cache_first, does_not_give_up_its_reserves_in_other_segments)
{
    add_segment(first_base, 2 * MIB);
    add_segment(first_base + 8 * MIB, 2 * MIB);
    give(take(4 * KIB), 4 * KIB);
    uintptr_t large = take(2 * MIB);
    give(large, 2 * MIB);
    size_t metadata_bytes = usage().metadata_bytes;

    bool is_removed = ops->remove_segment(state, large);

    cr_assert(is_removed);
    cr_assert(lt(sz, metadata_bytes - 512, usage().metadata_bytes), "the empty chunk is kept");
    cr_assert(eq(sz, usage().free_bytes, 2 * MIB));
    cr_assert(eq(sz, usage().largest_free_bytes, 2 * MIB));
    cr_assert(ops->is_valid(state));
}

Test(policy_cache_first, finds_back_a_small_block_that_came_from_the_heap)
{
    uintptr_t base = 0;
    add_segment(first_base + MIB, 3 * MIB);

    bool is_met = ops->take(state, 512, 2 * MIB, &base);
    cr_assert(is_met);
    cr_assert(eq(sz, base, first_base + 2 * MIB));
    give(base, 512);

    cr_assert(ops->segment_is_free(state, first_base + MIB));
    cr_assert(ops->is_valid(state));
}

Test(policy_cache_first, aligns_middle_blocks_within_the_same_chunk)
{
    uintptr_t first = 0;
    uintptr_t second = 0;
    add_segment(first_base, 2 * MIB);
    take(1 * KIB);

    bool is_met =
        ops->take(state, 1 * KIB, 64 * KIB, &first) && ops->take(state, 1 * KIB, 64 * KIB, &second);

    cr_assert(is_met);
    cr_assert(eq(sz, first, first_base + 64 * KIB));
    cr_assert(eq(sz, second, first_base + 128 * KIB));
    cr_assert(eq(sz, usage().free_bytes, 2 * MIB - 3 * KIB), "the rest of each piece is free");
}

Test(policy_cache_first, looks_for_a_shorter_chunk_that_can_be_aligned)
{
    uintptr_t base = 0;
    add_segment(first_base + 512, 2 * MIB);

    bool is_met = ops->take(state, 1 * KIB, 64 * KIB, &base);

    cr_assert(is_met);
    cr_assert(eq(sz, base, first_base + 64 * KIB));
    cr_assert(lt(sz, usage().largest_free_bytes, MIB), "a chunk of 1 MiB is cut out");
}

Test(policy_cache_first, keeps_the_longer_of_two_empty_chunks)
{
    add_segment(first_base, 128 * KIB);
    uintptr_t in_short_chunk = take(4 * KIB);
    add_segment(first_base + 2 * MIB, 2 * MIB);
    uintptr_t in_long_chunk = take(MIB);
    give(in_short_chunk, 4 * KIB);
    give(in_long_chunk, MIB);

    cr_assert(eq(sz, take(4 * KIB), in_long_chunk));
}

Test(policy_cache_first, counts_a_single_small_object_as_the_largest_request_it_meets)
{
    uintptr_t last = 0;
    uintptr_t base = 0;
    add_segment(first_base, 2 * MIB);
    while (ops->take(state, 512, 512, &base)) {
        last = base;
    }
    cr_assert(eq(sz, usage().largest_free_bytes, 0));

    give(last, 512);

    cr_assert(eq(sz, usage().largest_free_bytes, 512));
    cr_assert(eq(sz, take(512), last));
}

Test(policy_cache_first, loses_nothing_when_host_memory_runs_out_half_way)
{
    for (size_t calls = 0; calls < 6; calls++) {
        uintptr_t base = 0;
        add_segment(first_base, 2 * MIB);

        malloc_fault_after(calls);
        bool is_met = ops->take(state, 512, 512, &base);
        malloc_fault_off();

        cr_assert(eq(sz, usage().free_bytes, 2 * MIB - (is_met ? 512 : 0)));
        cr_assert(ops->is_valid(state));
        tear_down();
        set_up();
    }
}

Test(policy_cache_first, needs_less_than_a_hundredth_of_the_memory_it_manages)
{
    add_segment(first_base, 64 * MIB);
    size_t before = usage().metadata_bytes;

    while (can_take(512)) {
    }

    cr_assert(eq(sz, usage().free_bytes, 0));
    cr_assert(lt(sz, before, 64 * MIB / 1000), "before the first take");
    cr_assert(lt(sz, usage().metadata_bytes, 64 * MIB / 200));
}
