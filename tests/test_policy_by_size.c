/* Two policies in one, through its table. */
#include "gp/policy.h"
#include "malloc_fault.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static const uintptr_t first_base = 0x7f0000000000;

static gp_policy_ops ops;
static void *state;

static gp_status create_from(const gp_policy_ops *table, void **made)
{
    gp_policy_params params = {
        .struct_bytes = sizeof(params),
        .large_bytes = MIB,
        .policy = table,
    };

    return table->create(made, &params);
}

/* First fit up to 64 KiB, best fit above. */
static void set_up(void)
{
    ops = gp_policy_by_size(gp_policy_first_fit(), 64 * KIB, gp_policy_best_fit());
    cr_assert(eq(int, create_from(&ops, &state), GP_OK));
}

static void tear_down(void)
{
    ops.destroy(state);
}

TestSuite(policy_by_size, .init = set_up, .fini = tear_down);

static void add_segment(uintptr_t base, size_t bytes)
{
    cr_assert(eq(int, ops.add_segment(state, (gp_span){base, bytes}), GP_OK));
}

static uintptr_t take(size_t bytes)
{
    uintptr_t base = 0;

    cr_assert(ops.take(state, bytes, GP_GRANULE_BYTES, &base));
    return base;
}

static void give(uintptr_t base, size_t bytes)
{
    ops.give(state, (gp_span){base, bytes});
}

Test(policy_by_size, keeps_short_and_long_blocks_in_segments_of_their_own)
{
    add_segment(first_base, MIB);
    add_segment(first_base + MIB, MIB);

    uintptr_t small = take(64 * KIB);
    uintptr_t large = take(64 * KIB + 512);
    uintptr_t other_small = take(512);

    cr_assert(eq(sz, small, first_base));
    cr_assert(eq(sz, large, first_base + MIB));
    cr_assert(eq(sz, other_small, small + 64 * KIB));
    cr_assert(ops.is_valid(state));
}

Test(policy_by_size, places_each_size_by_the_rule_of_its_policy)
{
    uintptr_t holes[4];
    const size_t bytes[4] = {96 * KIB, 72 * KIB, 32 * KIB, 8 * KIB};
    add_segment(first_base, MIB);
    add_segment(first_base + MIB, MIB);
    uintptr_t filler = take(64 * KIB);
    for (size_t i = 0; i < 4; i++) {
        holes[i] = take(bytes[i]);
        take(i < 2 ? 80 * KIB : 512);
    }
    for (size_t i = 0; i < 4; i++) {
        give(holes[i], bytes[i]);
    }

    uintptr_t best = take(65 * KIB);
    uintptr_t first = take(4 * KIB);

    cr_assert(eq(sz, filler, first_base));
    cr_assert(eq(sz, best, holes[1]), "the smallest, not the lowest");
    cr_assert(eq(sz, first, holes[2]), "the lowest, not the smallest");
}

Test(policy_by_size, lets_a_whole_segment_change_over_when_the_other_policy_needs_it)
{
    add_segment(first_base, MIB);
    uintptr_t small = take(512);
    give(small, 512);

    uintptr_t large = take(MIB);
    give(large, MIB);
    uintptr_t small_again = take(512);

    cr_assert(eq(sz, large, first_base));
    cr_assert(eq(sz, small_again, first_base));
    cr_assert(ops.is_valid(state));
}

Test(policy_by_size, uses_what_the_other_policy_has_left_before_it_gives_up)
{
    uintptr_t base = 0;
    add_segment(first_base, MIB);
    take(512);

    uintptr_t large = take(512 * KIB);
    bool is_too_long_met = ops.take(state, 512 * KIB, GP_GRANULE_BYTES, &base);

    cr_assert(eq(sz, large, first_base + 512));
    cr_assert(not(is_too_long_met));
    cr_assert(eq(sz, base, 0));
}

Test(policy_by_size, gives_up_a_segment_of_either_policy_once_it_is_free)
{
    add_segment(first_base, MIB);
    add_segment(first_base + MIB, MIB);
    uintptr_t small = take(512);
    uintptr_t large = take(128 * KIB);

    bool small_while_taken = ops.remove_segment(state, first_base);
    bool large_while_taken = ops.remove_segment(state, first_base + MIB);
    give(small, 512);
    give(large, 128 * KIB);
    bool small_when_free = ops.remove_segment(state, first_base);
    bool large_when_free = ops.remove_segment(state, first_base + MIB);

    cr_assert(not(small_while_taken));
    cr_assert(not(large_while_taken));
    cr_assert(small_when_free);
    cr_assert(large_when_free);
    cr_assert(not(ops.remove_segment(state, first_base)));
    cr_assert(ops.is_valid(state));
}

Test(policy_by_size, changes_nothing_when_a_segment_cannot_change_over)
{
    gp_policy_usage usage;
    uintptr_t base = 0;
    add_segment(first_base, 64 * MIB);
    uintptr_t large = take(65 * KIB);
    add_segment(first_base + 64 * MIB, 64 * MIB);

    malloc_fault_after(0);
    bool is_met = ops.take(state, 64 * KIB, GP_GRANULE_BYTES, &base);
    malloc_fault_off();
    ops.usage(state, &usage);

    cr_assert(is_met, "what is left of the other policy's segment");
    cr_assert(eq(sz, base, large + 65 * KIB));
    cr_assert(eq(sz, usage.free_bytes, 128 * MIB - 129 * KIB));
    cr_assert(ops.is_valid(state));
}

Test(policy_by_size, serves_several_tables_at_once)
{
    gp_policy_ops turned = gp_policy_by_size(gp_policy_best_fit(), MIB, gp_policy_cache_first());
    gp_policy_ops nested = gp_policy_by_size(&turned, 4 * MIB, &ops);
    void *of_turned = NULL;
    void *of_nested = NULL;
    uintptr_t base = 0;

    cr_assert(eq(int, create_from(&turned, &of_turned), GP_OK));
    cr_assert(eq(int, create_from(&nested, &of_nested), GP_OK));
    cr_assert(eq(int, nested.add_segment(of_nested, (gp_span){first_base, 8 * MIB}), GP_OK));
    cr_assert(nested.take(of_nested, 5 * MIB, GP_GRANULE_BYTES, &base));

    cr_assert(not(turned.take(of_turned, 512, GP_GRANULE_BYTES, &base)));
    cr_assert(nested.is_valid(of_nested));
    turned.destroy(of_turned);
    nested.destroy(of_nested);
}

Test(policy_by_size, is_a_pointer_to_a_table_when_written_as_a_macro)
{
    const gp_policy_ops *table =
        GP_POLICY_BY_SIZE(gp_policy_first_fit(), 3 * MIB, gp_policy_best_fit());

    cr_assert(eq(u32, table->struct_bytes, sizeof(*table)));
    cr_assert(eq(sz, table->split.up_to_bytes, 3 * MIB));
    cr_assert(eq(ptr, (void *)table->split.large, (void *)gp_policy_best_fit()));
}

Test(policy_by_size, refuses_policies_that_are_missing_or_incomplete)
{
    gp_policy_ops incomplete = *gp_policy_first_fit();
    incomplete.give = NULL;
    const gp_policy_ops tables[] = {
        gp_policy_by_size(NULL, MIB, gp_policy_best_fit()),
        gp_policy_by_size(gp_policy_best_fit(), MIB, NULL),
        gp_policy_by_size(gp_policy_best_fit(), MIB, &incomplete),
    };
    void *made = NULL;

    for (size_t i = 0; i < 3; i++) {
        cr_assert(eq(int, create_from(&tables[i], &made), GP_ERR_INVALID_CONFIG));
    }
    cr_assert(eq(ptr, made, NULL));
}

Test(policy_by_size, takes_policies_built_before_is_valid_and_split_were_there)
{
    gp_policy_ops older = *gp_policy_first_fit();
    older.struct_bytes = offsetof(gp_policy_ops, is_valid);
    gp_policy_ops table = gp_policy_by_size(&older, MIB, gp_policy_best_fit());
    void *made = NULL;

    cr_assert(eq(int, create_from(&table, &made), GP_OK));
    cr_assert(table.is_valid(made));
    table.destroy(made);
}
