#include "policy_contract.h"

#include "malloc_fault.h"
#include "seeded_random.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEGMENT_COUNT = 10,
    MOST_BLOCKS = 8192,
    OPERATIONS_A_PHASE = 400, /* Then the mix of takes and gives changes. */
    OPERATIONS_A_CHECK = 97,
};

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* Some touch, most are badly aligned, one is too short for almost anything. */
static const gp_span segment_spans[SEGMENT_COUNT] = {
    {0x7f0000000000, 2 * MIB},          {0x7f0000200000, 2 * MIB},
    {0x7f0000400000, 16 * MIB},         {0x7f0010000000 + MIB, 2 * MIB},
    {0x7f0020000000 + 512, 5 * MIB},    {0x7f0030000000 - 1536, 4 * MIB + 512},
    {0x7f0040000000, 32 * MIB},         {0x7f0050000000 + 64 * KIB, 128 * KIB},
    {0x7f0060000000 + 512 * KIB, 1536}, {0x7e0000000000, 3 * MIB},
};

typedef struct model_segment {
    bool is_present;
    unsigned char *is_taken; /* One for each granule. */
    size_t taken_granules;
} model_segment;

typedef struct contract {
    const gp_policy_ops *ops;
    void *state;
    uint64_t random;
    bool with_faults;
    size_t large_bytes;
    model_segment segments[SEGMENT_COUNT];
    gp_span blocks[MOST_BLOCKS];
    size_t block_count;
    size_t free_bytes;
    uint64_t trail; /* A hash of every address handed out. */
} contract;

static size_t below(contract *self, size_t limit)
{
    return seeded_random_below(&self->random, limit);
}

static gp_policy_usage usage_of(const contract *self)
{
    gp_policy_usage usage = {0};

    self->ops->usage(self->state, &usage);
    return usage;
}

static bool is_valid(const contract *self)
{
    return self->ops->is_valid == NULL || self->ops->is_valid(self->state);
}

static void set_up(contract *self)
{
    gp_policy_params params = {
        .struct_bytes = sizeof(params),
        .large_bytes = 64 * KIB << 4 * below(self, 3),
    };

    self->large_bytes = params.large_bytes;
    cr_assert(eq(int, self->ops->create(&self->state, &params), GP_OK));
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        self->segments[i].is_taken = calloc(segment_spans[i].bytes / GP_GRANULE_BYTES, 1);
        cr_assert(ne(ptr, self->segments[i].is_taken, NULL));
    }
}

static void tear_down(contract *self)
{
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        free(self->segments[i].is_taken);
    }
    self->ops->destroy(self->state);
}

static size_t segment_of(const contract *self, gp_span block)
{
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        size_t offset = block.base - segment_spans[i].base;

        if (self->segments[i].is_present && offset < segment_spans[i].bytes &&
            block.bytes <= segment_spans[i].bytes - offset) {
            return i;
        }
    }
    cr_fatal("block %#zx + %zu lies in no segment", (size_t)block.base, block.bytes);
    return 0;
}

/* Marks a block in the model as taken or free; every granule of it was the other. */
static void mark(contract *self, gp_span block, unsigned char is_taken)
{
    size_t i = segment_of(self, block);
    size_t granules = block.bytes / GP_GRANULE_BYTES;
    unsigned char *first =
        self->segments[i].is_taken + (block.base - segment_spans[i].base) / GP_GRANULE_BYTES;

    for (size_t granule = 0; granule < granules; granule++) {
        if (first[granule] == is_taken) {
            cr_fatal("overlap in block %#zx + %zu", (size_t)block.base, block.bytes);
        }
    }
    memset(first, is_taken, granules);
    self->segments[i].taken_granules += is_taken ? granules : -granules;
    self->free_bytes += is_taken ? -block.bytes : block.bytes;
}

static void arm_faults(contract *self)
{
    if (self->with_faults && below(self, 3) == 0) {
        malloc_fault_after(below(self, 3));
    }
}

static void keep_block(contract *self, gp_span block, size_t alignment)
{
    cr_assert(eq(sz, block.base % alignment, 0));
    mark(self, block, 1);
    self->blocks[self->block_count++] = block;
    self->trail = (self->trail ^ block.base) * UINT64_C(0x100000001B3);
}

static void take(contract *self, size_t bytes, size_t alignment)
{
    gp_policy_usage before = usage_of(self);
    uintptr_t base = 1;

    if (self->block_count == MOST_BLOCKS) {
        return;
    }
    arm_faults(self);
    bool is_met = self->ops->take(self->state, bytes, alignment, &base);
    malloc_fault_off();

    if (is_met) {
        keep_block(self, (gp_span){base, bytes}, alignment);
        return;
    }
    gp_policy_usage after = usage_of(self);

    cr_assert(eq(sz, base, 1), "an output was written on failure");
    cr_assert(eq(sz, after.free_bytes, before.free_bytes));
    cr_assert(eq(sz, after.largest_free_bytes, before.largest_free_bytes));
    if (!self->with_faults && alignment == GP_GRANULE_BYTES) {
        cr_assert(lt(sz, before.largest_free_bytes, bytes));
    }
}

static size_t random_bytes(contract *self)
{
    size_t kind = below(self, 20);
    size_t most = kind < 5 ? 1 : kind < 12 ? 64 : kind < 18 ? 2048 : 8192;

    return (1 + below(self, most)) * GP_GRANULE_BYTES;
}

static void take_random(contract *self)
{
    size_t alignment = GP_GRANULE_BYTES;

    if (below(self, 10) == 0) {
        alignment <<= below(self, 13);
    }
    take(self, random_bytes(self), alignment);
}

static void give(contract *self, size_t i)
{
    gp_span block = self->blocks[i];
    size_t calls = malloc_fault_calls();

    self->ops->give(self->state, block);
    cr_assert(eq(sz, malloc_fault_calls(), calls), "give() allocated host memory");
    self->blocks[i] = self->blocks[--self->block_count];
    mark(self, block, 0);
}

static void give_random(contract *self)
{
    if (self->block_count != 0) {
        give(self, below(self, self->block_count));
    }
}

static bool may_come_in_pieces(const contract *self, gp_span block)
{
    return block.bytes > self->large_bytes && block.base % GP_PIECE_BYTES == 0 &&
           block.bytes % GP_PIECE_BYTES == 0;
}

static void give_span(contract *self, gp_span span)
{
    size_t calls = malloc_fault_calls();

    self->ops->give(self->state, span);
    cr_assert(eq(sz, malloc_fault_calls(), calls), "give() allocated host memory");
    mark(self, span, 0);
}

/* Every other piece of a block first, so that as many free spans as can be are apart. */
static void give_in_pieces(contract *self, size_t i)
{
    gp_span block = self->blocks[i];

    self->blocks[i] = self->blocks[--self->block_count];
    for (size_t first = 0; first < 2; first++) {
        for (size_t at = first * GP_PIECE_BYTES; at < block.bytes; at += 2 * GP_PIECE_BYTES) {
            give_span(self, (gp_span){block.base + at, GP_PIECE_BYTES});
        }
        cr_assert(is_valid(self));
    }
}

/* Two neighbours, both of which may come in pieces, in one. */
static bool give_with_neighbour(contract *self, size_t i)
{
    gp_span block = self->blocks[i];

    for (size_t next = 0; next < self->block_count; next++) {
        gp_span other = self->blocks[next];

        if (other.base == block.base + block.bytes && may_come_in_pieces(self, other) &&
            segment_of(self, other) == segment_of(self, block)) {
            size_t last = next > i ? next : i;
            size_t first = next > i ? i : next;

            self->blocks[last] = self->blocks[--self->block_count];
            self->blocks[first] = self->blocks[--self->block_count];
            give_span(self, (gp_span){block.base, block.bytes + other.bytes});
            return true;
        }
    }
    return false;
}

/* A long block that lies on multiples of the piece comes back in another way than it went. */
static void give_otherwise(contract *self)
{
    take(self, self->large_bytes + (1 + below(self, 16)) * GP_PIECE_BYTES, GP_PIECE_BYTES);
    for (size_t i = 0; i < self->block_count; i++) {
        if (may_come_in_pieces(self, self->blocks[i])) {
            if (!give_with_neighbour(self, i)) {
                give_in_pieces(self, i);
            }
            return;
        }
    }
}

static void add_segment(contract *self, size_t i)
{
    arm_faults(self);
    gp_status status = self->ops->add_segment(self->state, segment_spans[i]);
    malloc_fault_off();

    if (status != GP_OK) {
        cr_assert(eq(int, status, GP_ERR_OUT_OF_HOST_MEMORY));
        cr_assert(self->with_faults);
        return;
    }
    self->segments[i].is_present = true;
    self->free_bytes += segment_spans[i].bytes;
}

static void remove_segment(contract *self, size_t i)
{
    bool is_free = self->segments[i].is_present && self->segments[i].taken_granules == 0;

    cr_assert(eq(int, self->ops->segment_is_free(self->state, segment_spans[i].base), is_free));
    cr_assert(eq(int, self->ops->remove_segment(self->state, segment_spans[i].base), is_free));
    if (is_free) {
        self->segments[i].is_present = false;
        self->free_bytes -= segment_spans[i].bytes;
    }
}

static void change_segments(contract *self)
{
    size_t i = below(self, SEGMENT_COUNT);

    if (self->segments[i].is_present) {
        remove_segment(self, i);
    } else {
        add_segment(self, i);
    }
}

static void check_everything(contract *self)
{
    gp_policy_usage usage = usage_of(self);

    cr_assert(is_valid(self));
    cr_assert(le(sz, usage.largest_free_bytes, usage.free_bytes));
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        bool is_free = self->segments[i].is_present && self->segments[i].taken_granules == 0;
        bool inside = self->ops->segment_is_free(self->state, segment_spans[i].base + 512);

        cr_assert(eq(int, self->ops->segment_is_free(self->state, segment_spans[i].base), is_free));
        cr_assert(not(inside), "an address inside a segment is not its start");
    }
    if (usage.largest_free_bytes != 0 && self->block_count < MOST_BLOCKS && !self->with_faults) {
        size_t count = self->block_count;

        take(self, usage.largest_free_bytes, GP_GRANULE_BYTES);
        cr_assert(eq(sz, self->block_count, count + 1), "largest_free_bytes was not met");
        give(self, count);
        cr_assert(is_valid(self));
    }
}

static void walk(contract *self, size_t operations)
{
    size_t take_share = 70;

    for (size_t i = 0; i < operations; i++) {
        size_t kind = below(self, 100);

        if (i % OPERATIONS_A_PHASE == 0) {
            take_share = 30 + below(self, 50);
        }
        if (kind < 2) {
            change_segments(self);
        } else if (kind < 4) {
            give_otherwise(self);
        } else if (kind < take_share) {
            take_random(self);
        } else {
            give_random(self);
        }
        cr_assert(eq(sz, usage_of(self).free_bytes, self->free_bytes));
        if (i % OPERATIONS_A_CHECK == 0) {
            check_everything(self);
        }
    }
}

static void give_all(contract *self)
{
    while (self->block_count != 0) {
        give_random(self);
    }
    check_everything(self);
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        remove_segment(self, i);
    }
    cr_assert(eq(sz, usage_of(self).free_bytes, 0));
    cr_assert(eq(sz, usage_of(self).largest_free_bytes, 0));
    cr_assert(is_valid(self));
}

/* @return The trail of addresses. */
static uint64_t run(const gp_policy_ops *ops, uint64_t seed, size_t operations, bool with_faults)
{
    contract *self = calloc(1, sizeof(*self));
    uint64_t trail;

    cr_assert(ne(ptr, self, NULL));
    cr_log_info("policy %s, seed %llu", ops->name, (unsigned long long)seed);
    self->ops = ops;
    self->random = seed;
    self->with_faults = with_faults;
    set_up(self);
    for (size_t i = 0; i < SEGMENT_COUNT; i += 2) {
        add_segment(self, i);
    }
    walk(self, operations);
    give_all(self);
    trail = self->trail;
    tear_down(self);
    free(self);
    return trail;
}

void policy_contract_holds(const gp_policy_ops *ops, uint64_t seed, size_t operations)
{
    run(ops, seed, operations, false);
}

static void create_without_host_memory(const gp_policy_ops *ops)
{
    gp_policy_params params = {.struct_bytes = sizeof(params), .large_bytes = MIB};
    gp_status status = GP_ERR_OUT_OF_HOST_MEMORY;
    void *state = NULL;

    for (size_t calls = 0; status != GP_OK; calls++) {
        cr_assert(eq(int, status, GP_ERR_OUT_OF_HOST_MEMORY));
        cr_assert(eq(ptr, state, NULL));
        malloc_fault_after(calls);
        status = ops->create(&state, &params);
        malloc_fault_off();
    }
    ops->destroy(state);
}

void policy_contract_holds_without_host_memory(const gp_policy_ops *ops, uint64_t seed,
                                               size_t operations)
{
    create_without_host_memory(ops);
    run(ops, seed, operations, true);
}

void policy_contract_is_deterministic(const gp_policy_ops *ops, uint64_t seed, size_t operations)
{
    uint64_t first = run(ops, seed, operations, false);
    void *shift = malloc(12345); /* Records of the second run lie elsewhere. */
    uint64_t second = run(ops, seed, operations, false);

    free(shift);
    cr_assert(eq(u64, first, second));
}
