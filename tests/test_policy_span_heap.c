/* The heap of spans on its own, with the best-fit index. */
#include "malloc_fault.h"
#include "seeded_random.h"
#include "span_heap.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static const uintptr_t first_base = 0x7f0000000000;

static gp_span_heap heap;

static void set_up(void)
{
    cr_assert(eq(int, gp_span_heap_init(&heap, &gp_best_fit_index), GP_OK));
}

static void tear_down(void)
{
    gp_span_heap_fini(&heap);
}

TestSuite(policy_span_heap, .init = set_up, .fini = tear_down);

static void add_segment(uintptr_t base, size_t bytes)
{
    cr_assert(eq(int, gp_span_heap_add_segment(&heap, (gp_span){base, bytes}), GP_OK));
}

static uintptr_t take(size_t bytes)
{
    uintptr_t base = 0;

    cr_assert(gp_span_heap_take(&heap, bytes, GP_GRANULE_BYTES, &base));
    return base;
}

/* Takes spans of these lengths one behind another, with a granule taken in between, and gives
 * them all back: as many free spans that do not touch. */
static void leave_holes(const size_t *bytes, uintptr_t *holes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        holes[i] = take(bytes[i]);
        take(GP_GRANULE_BYTES);
    }
    for (size_t i = 0; i < count; i++) {
        gp_span_heap_give(&heap, (gp_span){holes[i], bytes[i]});
    }
}

Test(policy_span_heap, takes_the_smallest_span_that_fits)
{
    const size_t bytes[] = {3 * MIB, MIB + 1024, MIB + 512, 2 * MIB};
    uintptr_t holes[4];
    add_segment(first_base, 8 * MIB);
    leave_holes(bytes, holes, 4);

    uintptr_t first = take(MIB);
    uintptr_t second = take(MIB);
    uintptr_t third = take(MIB);

    cr_assert(eq(sz, first, holes[2]));
    cr_assert(eq(sz, second, holes[1]));
    cr_assert(eq(sz, third, holes[3]));
    cr_assert(gp_span_heap_is_valid(&heap));
}

Test(policy_span_heap, takes_the_lowest_of_equal_spans)
{
    const size_t bytes[] = {64 * KIB, 64 * KIB, 64 * KIB};
    uintptr_t holes[3];
    add_segment(first_base, MIB);
    leave_holes(bytes, holes, 3);

    uintptr_t taken[] = {take(64 * KIB), take(64 * KIB), take(64 * KIB)};

    cr_assert(eq(int, memcmp(taken, holes, sizeof(taken)), 0));
}

Test(policy_span_heap, leaves_the_head_before_an_aligned_start_free)
{
    uintptr_t base = 0;
    add_segment(first_base + 512, 4 * MIB);

    bool is_met = gp_span_heap_take(&heap, MIB, 2 * MIB, &base);

    cr_assert(is_met);
    cr_assert(eq(sz, base, first_base + 2 * MIB));
    cr_assert(eq(sz, take(2 * MIB - 512), first_base + 512), "the head is one free span");
    cr_assert(eq(sz, heap.free_bytes, MIB + 512));
    cr_assert(gp_span_heap_is_valid(&heap));
}

Test(policy_span_heap, passes_by_spans_that_miss_the_alignment)
{
    uintptr_t base = 0;
    add_segment(first_base + 512, MIB);
    add_segment(first_base + 16 * MIB + MIB, MIB);
    add_segment(first_base + 32 * MIB, 8 * MIB);

    bool is_met = gp_span_heap_take(&heap, MIB, MIB, &base);

    cr_assert(is_met);
    cr_assert(eq(sz, base, first_base + 17 * MIB), "the smallest one in which it fits");
}

Test(policy_span_heap, meets_no_request_longer_than_its_longest_span)
{
    uintptr_t base = 0;
    add_segment(first_base, MIB);
    add_segment(first_base + MIB, MIB);

    cr_assert(eq(sz, gp_span_heap_largest_bytes(&heap), MIB));
    cr_assert(not(gp_span_heap_take(&heap, MIB + 512, 512, &base)), "segments are not joined");
    cr_assert(not(gp_span_heap_take(&heap, SIZE_MAX - 511, 512, &base)));
    cr_assert(not(gp_span_heap_take(&heap, 512, (size_t)1 << 63, &base)));
    cr_assert(eq(sz, base, 0));
}

Test(policy_span_heap, becomes_whole_again_in_any_order_of_frees)
{
    enum { COUNT = 5, ORDERS = 120 };
    add_segment(first_base, COUNT * MIB);

    for (size_t permutation = 0; permutation < ORDERS; permutation++) {
        uintptr_t bases[COUNT];
        size_t digits = permutation;
        for (size_t i = 0; i < COUNT; i++) {
            bases[i] = take(MIB);
        }

        for (size_t left = COUNT; left > 0; left--) {
            size_t i = digits % left;
            digits /= left;
            gp_span_heap_give(&heap, (gp_span){bases[i], MIB});
            bases[i] = bases[left - 1];
            cr_assert(gp_span_heap_is_valid(&heap));
        }

        cr_assert(eq(sz, gp_span_heap_largest_bytes(&heap), COUNT * MIB));
    }
}

Test(policy_span_heap, tells_what_a_taken_span_would_be_joined_to)
{
    add_segment(first_base, 4 * MIB);
    uintptr_t first = take(MIB);
    uintptr_t second = take(MIB);

    gp_span alone = gp_span_heap_joined(&heap, (gp_span){second, MIB}, (gp_span){0, 0});
    gp_span both = gp_span_heap_joined(&heap, (gp_span){second, MIB}, (gp_span){first, MIB});

    cr_assert(eq(sz, alone.base, second));
    cr_assert(eq(sz, alone.bytes, 3 * MIB));
    cr_assert(eq(sz, both.base, first));
    cr_assert(eq(sz, both.bytes, 4 * MIB));
}

Test(policy_span_heap, removes_a_segment_only_when_it_is_free)
{
    add_segment(first_base, MIB);
    add_segment(first_base + MIB, MIB);
    uintptr_t block = take(512);

    bool while_taken = gp_span_heap_remove_segment(&heap, first_base);
    bool from_inside = gp_span_heap_remove_segment(&heap, first_base + 512);
    gp_span_heap_give(&heap, (gp_span){block, 512});
    bool when_free = gp_span_heap_remove_segment(&heap, first_base);
    bool a_second_time = gp_span_heap_remove_segment(&heap, first_base);

    cr_assert(eq(sz, block, first_base));
    cr_assert(not(while_taken));
    cr_assert(not(from_inside));
    cr_assert(when_free);
    cr_assert(not(a_second_time));
    cr_assert(eq(sz, heap.free_bytes, MIB));
    cr_assert(gp_span_heap_is_valid(&heap));
}

Test(policy_span_heap, changes_nothing_when_host_memory_runs_out)
{
    size_t failures = 0;
    add_segment(first_base, 64 * MIB);

    for (size_t i = 0; i < 2000; i++) {
        uintptr_t base = 1;
        size_t free_bytes = heap.free_bytes;
        malloc_fault_after(0);
        bool is_met = gp_span_heap_take(&heap, 1024, 1024, &base);
        malloc_fault_off();

        cr_assert(gp_span_heap_is_valid(&heap));
        if (!is_met) {
            failures++;
            cr_assert(eq(sz, heap.free_bytes, free_bytes));
            cr_assert(eq(sz, base, 1));
            take(1024);
        }
    }
    malloc_fault_after(0);
    gp_status status = gp_span_heap_add_segment(&heap, (gp_span){first_base + 64 * MIB, MIB});
    malloc_fault_off();

    cr_assert(lt(sz, 20, failures));
    cr_assert(eq(int, status, GP_ERR_OUT_OF_HOST_MEMORY));
    cr_assert(eq(ptr, (void *)gp_span_heap_find_segment(&heap, first_base + 64 * MIB), NULL));
    cr_assert(gp_span_heap_is_valid(&heap));
}

Test(policy_span_heap, notices_a_broken_record)
{
    add_segment(first_base, MIB);
    take(512);
    gp_heap_segment *segment = LIST_FIRST(&heap.all);
    gp_span_node *node = RB_ROOT(&segment->free);
    cr_assert(gp_span_heap_is_valid(&heap));

    node->span.bytes += 512;
    cr_assert(not(gp_span_heap_is_valid(&heap)), "a length");
    node->span.bytes -= 512;
    node->segment = NULL;
    cr_assert(not(gp_span_heap_is_valid(&heap)), "an owner");
    node->segment = segment;
    segment->free_bytes = 0;
    cr_assert(not(gp_span_heap_is_valid(&heap)), "a sum");
    segment->free_bytes = MIB - 512;
    heap.free_bytes -= 512;
    cr_assert(not(gp_span_heap_is_valid(&heap)), "the total");
    heap.free_bytes += 512;
    heap.odd_count += 1000;
    cr_assert(not(gp_span_heap_is_valid(&heap)), "too few records set aside");
    heap.odd_count -= 1000;
    cr_assert(gp_span_heap_is_valid(&heap));
}

/* The rule, as simple as can be: a list of spans in order of address. */
enum { MODEL_SPANS = 512 };

typedef struct model {
    struct {
        gp_span span;
        size_t segment;
        bool is_free;
    } spans[MODEL_SPANS];
    size_t count;
} model;

static void model_split(model *self, size_t i, size_t bytes)
{
    memmove(&self->spans[i + 1], &self->spans[i], (self->count - i) * sizeof(self->spans[0]));
    self->count++;
    self->spans[i].span.bytes = bytes;
    self->spans[i + 1].span.base += bytes;
    self->spans[i + 1].span.bytes -= bytes;
}

static bool model_take(model *self, size_t bytes, size_t alignment, uintptr_t *base)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < self->count; i++) {
        gp_span span = self->spans[i].span;
        uintptr_t start = (span.base + alignment - 1) / alignment * alignment;

        if (self->spans[i].is_free && start + bytes <= span.base + span.bytes &&
            (best == SIZE_MAX || span.bytes < self->spans[best].span.bytes)) {
            best = i;
            *base = start;
        }
    }
    if (best == SIZE_MAX) {
        return false;
    }
    if (self->spans[best].span.base != *base) {
        model_split(self, best, *base - self->spans[best].span.base);
        best++;
    }
    if (self->spans[best].span.bytes != bytes) {
        model_split(self, best, bytes);
    }
    self->spans[best].is_free = false;
    return true;
}

static void model_join(model *self, size_t i)
{
    if (i + 1 < self->count && self->spans[i].is_free && self->spans[i + 1].is_free &&
        self->spans[i].segment == self->spans[i + 1].segment) {
        self->spans[i].span.bytes += self->spans[i + 1].span.bytes;
        self->count--;
        memmove(&self->spans[i + 1], &self->spans[i + 2],
                (self->count - i - 1) * sizeof(self->spans[0]));
    }
}

static void model_give(model *self, uintptr_t base)
{
    size_t i = 0;

    while (self->spans[i].span.base != base || self->spans[i].is_free) {
        i++;
    }
    self->spans[i].is_free = true;
    model_join(self, i);
    if (i > 0) {
        model_join(self, i - 1);
    }
}

static void compare_with_model(uint64_t seed)
{
    enum { MOST_BLOCKS = 120 };
    model expected = {.count = 0};
    gp_span blocks[MOST_BLOCKS];
    size_t count = 0;

    cr_log_info("seed %llu", (unsigned long long)seed);
    for (size_t i = 0; i < 3; i++) {
        gp_span span = {first_base + i * 16 * MIB + i * 512, 16 * MIB};

        add_segment(span.base, span.bytes);
        expected.spans[expected.count].span = span;
        expected.spans[expected.count].segment = i;
        expected.spans[expected.count++].is_free = true;
    }
    for (size_t i = 0; i < 3000; i++) {
        if (count == MOST_BLOCKS || (count > 0 && seeded_random_below(&seed, 5) < 2)) {
            size_t chosen = seeded_random_below(&seed, count);

            gp_span_heap_give(&heap, blocks[chosen]);
            model_give(&expected, blocks[chosen].base);
            blocks[chosen] = blocks[--count];
        } else {
            size_t bytes =
                512 * (1 + seeded_random_below(&seed, 8) * seeded_random_below(&seed, 500));
            size_t alignment =
                (size_t)512 << (seeded_random_below(&seed, 3) == 0 ? seeded_random_below(&seed, 12)
                                                                   : 0);
            uintptr_t ours = 0;
            uintptr_t theirs = 0;
            bool is_met = gp_span_heap_take(&heap, bytes, alignment, &ours);

            cr_assert(eq(int, is_met, model_take(&expected, bytes, alignment, &theirs)));
            if (is_met) {
                cr_assert(eq(sz, ours, theirs));
                blocks[count++] = (gp_span){ours, bytes};
            }
        }
    }
    cr_assert(gp_span_heap_is_valid(&heap));
}

Test(policy_span_heap, places_every_request_as_a_plain_list_of_spans_would)
{
    for (uint64_t seed = 31; seed < 36; seed++) {
        compare_with_model(seed);
        tear_down();
        set_up();
    }
}
