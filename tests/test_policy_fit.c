/* First fit and best fit through their tables, and the index of first fit on its own. */
#include "gp/policy.h"
#include "seeded_random.h"
#include "span_heap.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static const uintptr_t first_base = 0x7f0000000000;

static const gp_policy_ops *ops;
static void *state;

static void create(const gp_policy_ops *policy)
{
    gp_policy_params params = {.struct_bytes = sizeof(params), .large_bytes = MIB};

    ops = policy;
    cr_assert(eq(int, ops->create(&state, &params), GP_OK));
}

static void tear_down(void)
{
    ops->destroy(state);
}

TestSuite(policy_fit, .fini = tear_down);

static uintptr_t take(size_t bytes)
{
    uintptr_t base = 0;

    cr_assert(ops->take(state, bytes, GP_GRANULE_BYTES, &base));
    return base;
}

/* Free spans of these lengths, in this order of address, that do not touch. */
static void leave_holes(uintptr_t base, const size_t *bytes, uintptr_t *holes, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += bytes[i] + GP_GRANULE_BYTES;
    }
    cr_assert(eq(int, ops->add_segment(state, (gp_span){base, sum}), GP_OK));
    for (size_t i = 0; i < count; i++) {
        holes[i] = take(bytes[i]);
        take(GP_GRANULE_BYTES);
    }
    for (size_t i = 0; i < count; i++) {
        ops->give(state, (gp_span){holes[i], bytes[i]});
    }
}

static const size_t hole_bytes[] = {4 * KIB, 96 * KIB, 16 * KIB, 32 * KIB};

Test(policy_fit, first_fit_takes_the_lowest_span_that_is_long_enough)
{
    uintptr_t holes[4];
    create(gp_policy_first_fit());
    leave_holes(first_base, hole_bytes, holes, 4);

    uintptr_t longer_than_the_first = take(8 * KIB);
    uintptr_t of_the_same_span = take(32 * KIB);
    uintptr_t shortest = take(512);

    cr_assert(eq(sz, longer_than_the_first, holes[1]));
    cr_assert(eq(sz, of_the_same_span, holes[1] + 8 * KIB));
    cr_assert(eq(sz, shortest, holes[0]));
}

Test(policy_fit, best_fit_takes_the_smallest_span_that_is_long_enough)
{
    uintptr_t holes[4];
    create(gp_policy_best_fit());
    leave_holes(first_base, hole_bytes, holes, 4);

    uintptr_t small = take(8 * KIB);
    uintptr_t exact = take(32 * KIB);
    uintptr_t smallest = take(512);

    cr_assert(eq(sz, small, holes[2]));
    cr_assert(eq(sz, exact, holes[3]));
    cr_assert(eq(sz, smallest, holes[0]));
}

Test(policy_fit, first_fit_fills_segments_from_the_lowest_address_up)
{
    create(gp_policy_first_fit());
    cr_assert(eq(int, ops->add_segment(state, (gp_span){first_base + 64 * MIB, MIB}), GP_OK));
    cr_assert(eq(int, ops->add_segment(state, (gp_span){first_base, MIB}), GP_OK));

    uintptr_t in_lower = take(768 * KIB);
    uintptr_t in_upper = take(512 * KIB);
    uintptr_t in_rest_of_lower = take(256 * KIB);

    cr_assert(eq(sz, in_lower, first_base));
    cr_assert(eq(sz, in_upper, first_base + 64 * MIB));
    cr_assert(eq(sz, in_rest_of_lower, first_base + 768 * KIB));
}

Test(policy_fit, first_fit_passes_by_spans_that_miss_the_alignment)
{
    const size_t bytes[] = {64 * KIB, 64 * KIB, 128 * KIB};
    uintptr_t holes[3];
    uintptr_t base = 0;
    create(gp_policy_first_fit());
    leave_holes(first_base + 512, bytes, holes, 3);

    bool is_met = ops->take(state, 64 * KIB, 64 * KIB, &base);

    cr_assert(is_met);
    cr_assert(eq(sz, base, first_base + 192 * KIB), "the first in which it fits, not the first");
}

Test(policy_fit, first_fit_finds_what_follows_a_span_among_many)
{
    enum { COUNT = 3000 };
    static gp_span_node nodes[COUNT];
    static gp_heap_segment segments[COUNT / 100];
    uint64_t seed = 7;
    gp_span_heap heap;
    create(gp_policy_first_fit());
    cr_assert(eq(int, gp_span_heap_init(&heap, &gp_first_fit_index), GP_OK));
    for (size_t i = 0; i < COUNT; i++) {
        size_t bytes = GP_GRANULE_BYTES * (1 + seeded_random_below(&seed, 1000));
        nodes[i].span = (gp_span){first_base + i * MIB, bytes};
        nodes[i].segment = &segments[i / 100];
        nodes[i].segment->span.base = first_base + i / 100 * 100 * MIB;
        heap.index_ops->insert(heap.index, &nodes[i]);
    }

    for (size_t bytes = GP_GRANULE_BYTES; bytes <= 500 * KIB; bytes += 30 * KIB) {
        gp_span_node *found = heap.index_ops->first(heap.index, bytes);
        for (size_t i = 0; i < COUNT; i++) {
            if (nodes[i].span.bytes >= bytes) {
                cr_assert(eq(ptr, found, &nodes[i]));
                found = heap.index_ops->next(heap.index, found, bytes);
            }
        }
        cr_assert(eq(ptr, found, NULL));
    }
    gp_span_heap_fini(&heap);
}

Test(policy_fit, first_fit_notices_a_length_that_a_search_would_miss)
{
    gp_span_heap *heap;
    create(gp_policy_first_fit());
    cr_assert(eq(int, ops->add_segment(state, (gp_span){first_base, MIB}), GP_OK));
    heap = state;
    gp_span_node *node = heap->index_ops->first(heap->index, 512);
    cr_assert(ops->is_valid(state));

    node->longest_bytes -= 512;
    cr_assert(not(ops->is_valid(state)));
    node->longest_bytes += 512;
    cr_assert(ops->is_valid(state));
}
