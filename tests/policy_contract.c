#include "policy_contract.h"

#include "choices.h"
#include "malloc_fault.h"
#include "span_model.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

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

typedef struct contract {
    const policy_contract_run *run;
    const gp_policy_ops *ops;
    void *state;
    choices choices;
    size_t large_bytes;
    bool is_present[SEGMENT_COUNT];
    gp_span blocks[MOST_BLOCKS];
    size_t block_count;
    span_model model;
    size_t operation;
    jmp_buf broken; /* Where the first broken promise ends the run. */
    policy_verdict verdict;
} contract;

static void require(contract *self, bool holds, const char *promise)
{
    if (!holds) {
        malloc_fault_off();
        self->verdict.holds = false;
        (void)snprintf(self->verdict.text, sizeof(self->verdict.text),
                       "policy %s, seed %llu, operation %zu: broken: %s", self->ops->name,
                       (unsigned long long)self->run->seed, self->operation, promise);
        longjmp(self->broken, 1);
    }
}

static size_t below(contract *self, size_t limit)
{
    return choices_below(&self->choices, limit);
}

static gp_policy_usage usage_of(const contract *self)
{
    gp_policy_usage usage = {0};

    self->ops->usage(self->state, &usage);
    return usage;
}

static void require_valid(contract *self)
{
    bool is_valid = self->ops->is_valid == NULL || self->ops->is_valid(self->state);

    require(self, is_valid, "is_valid() holds");
}

static void create(contract *self)
{
    gp_policy_params params = {
        .struct_bytes = sizeof(params),
        .large_bytes = 64 * KIB << 4 * below(self, 3),
        .policy = self->ops,
    };

    self->large_bytes = params.large_bytes;
    require(self, self->ops->create(&self->state, &params) == GP_OK, "create() succeeds");
}

static size_t segment_of(contract *self, gp_span block)
{
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        size_t offset = block.base - segment_spans[i].base;

        if (self->is_present[i] && offset < segment_spans[i].bytes &&
            block.bytes <= segment_spans[i].bytes - offset) {
            return i;
        }
    }
    require(self, false, "a block lies in one segment");
    return 0;
}

/* ---- take ---- */

static void arm_faults(contract *self)
{
    if (self->run->with_faults && below(self, 3) == 0) {
        malloc_fault_after(below(self, 3));
    }
}

static bool find_by_rule(const contract *self, size_t bytes, size_t alignment, uintptr_t *base)
{
    return self->run->rule == POLICY_RULE_BEST_FIT
               ? span_model_best_fit(&self->model, bytes, alignment, base)
               : span_model_first_fit(&self->model, bytes, alignment, base);
}

static void require_rule(contract *self, gp_span block, size_t alignment)
{
    uintptr_t base = 0;

    if (self->run->rule != POLICY_RULE_ANY) {
        require(self, find_by_rule(self, block.bytes, alignment, &base) && base == block.base,
                "a block lies where the rule of fit puts it");
    }
}

static void keep_block(contract *self, gp_span block, size_t alignment)
{
    require(self, block.base % alignment == 0, "a block is aligned");
    (void)segment_of(self, block);
    require_rule(self, block, alignment);
    require(self, span_model_take(&self->model, block), "a block was free, all of it");
    self->blocks[self->block_count++] = block;
    self->verdict.trail = (self->verdict.trail ^ block.base) * UINT64_C(0x100000001B3);
}

static void require_no_room(contract *self, size_t bytes, size_t alignment, gp_policy_usage before)
{
    gp_policy_usage after = usage_of(self);
    uintptr_t base;

    require(self, after.free_bytes == before.free_bytes, "a take() that fails takes nothing");
    require(self, after.largest_free_bytes == before.largest_free_bytes,
            "a take() that fails changes nothing");
    if (self->run->with_faults) {
        return;
    }
    if (alignment == GP_GRANULE_BYTES) {
        require(self, before.largest_free_bytes < bytes, "take() meets up to largest_free_bytes");
    }
    if (self->run->rule != POLICY_RULE_ANY) {
        require(self, !find_by_rule(self, bytes, alignment, &base), "take() uses all that is free");
    }
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
    } else {
        require(self, base == 1, "a take() that fails writes no output");
        require_no_room(self, bytes, alignment, before);
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

/* ---- give ---- */

static void give_span(contract *self, gp_span span)
{
    size_t segment = segment_of(self, span);
    size_t calls = malloc_fault_calls();

    self->ops->give(self->state, span);
    require(self, malloc_fault_calls() == calls, "give() allocates no host memory");
    require(self, span_model_give(&self->model, span, segment), "no block overlaps another");
}

static gp_span forget_block(contract *self, size_t i)
{
    gp_span block = self->blocks[i];

    self->blocks[i] = self->blocks[--self->block_count];
    return block;
}

static void give_random(contract *self)
{
    if (self->block_count != 0) {
        give_span(self, forget_block(self, below(self, self->block_count)));
    }
}

static bool may_come_in_pieces(const contract *self, gp_span block)
{
    return block.bytes > self->large_bytes && block.base % GP_PIECE_BYTES == 0 &&
           block.bytes % GP_PIECE_BYTES == 0;
}

/* Every other piece of a block first, so that as many free spans as can be are apart. */
static void give_in_pieces(contract *self, gp_span block)
{
    for (size_t first = 0; first < 2; first++) {
        for (size_t at = first * GP_PIECE_BYTES; at < block.bytes; at += 2 * GP_PIECE_BYTES) {
            give_span(self, (gp_span){block.base + at, GP_PIECE_BYTES});
        }
        require_valid(self);
    }
}

/* Two blocks that follow one another: first what lies on both sides of their border. */
static void give_across(contract *self, gp_span block, gp_span next)
{
    size_t before = GP_PIECE_BYTES * (1 + below(self, block.bytes / GP_PIECE_BYTES));
    size_t behind = GP_PIECE_BYTES * (1 + below(self, next.bytes / GP_PIECE_BYTES));
    gp_span parts[] = {
        {next.base - before, before + behind},
        {block.base, block.bytes - before},
        {next.base + behind, next.bytes - behind},
    };

    for (size_t i = 0; i < 3; i++) {
        if (parts[i].bytes != 0) {
            give_span(self, parts[i]);
        }
    }
}

/* The block that begins where this one ends and may come in pieces. @return MOST_BLOCKS: none. */
static size_t find_next_block(contract *self, gp_span block)
{
    size_t segment = segment_of(self, block);

    for (size_t i = 0; i < self->block_count; i++) {
        if (self->blocks[i].base == block.base + block.bytes &&
            may_come_in_pieces(self, self->blocks[i]) &&
            segment_of(self, self->blocks[i]) == segment) {
            return i;
        }
    }
    return MOST_BLOCKS;
}

/* A long block that lies on multiples of the piece comes back in another way than it went. */
static void give_otherwise(contract *self)
{
    size_t i = 0;

    take(self, self->large_bytes + (1 + below(self, 16)) * GP_PIECE_BYTES, GP_PIECE_BYTES);
    while (i < self->block_count && !may_come_in_pieces(self, self->blocks[i])) {
        i++;
    }
    if (i == self->block_count) {
        return;
    }
    gp_span block = forget_block(self, i);
    size_t next = find_next_block(self, block);

    if (next == MOST_BLOCKS) {
        give_in_pieces(self, block);
    } else {
        give_across(self, block, forget_block(self, next));
    }
}

/* ---- segments ---- */

static bool is_free(const contract *self, size_t i)
{
    return self->is_present[i] && span_model_has(&self->model, segment_spans[i]);
}

static void add_segment(contract *self, size_t i)
{
    arm_faults(self);
    gp_status status = self->ops->add_segment(self->state, segment_spans[i]);
    malloc_fault_off();

    if (status != GP_OK) {
        require(self, self->run->with_faults && status == GP_ERR_OUT_OF_HOST_MEMORY,
                "add_segment() fails only for want of host memory");
        return;
    }
    self->is_present[i] = true;
    (void)span_model_give(&self->model, segment_spans[i], i);
}

static void remove_segment(contract *self, size_t i)
{
    bool expected = is_free(self, i);

    require(self, self->ops->segment_is_free(self->state, segment_spans[i].base) == expected,
            "segment_is_free() where nothing is taken, and only there");
    require(self, self->ops->remove_segment(self->state, segment_spans[i].base) == expected,
            "a segment goes when nothing of it is taken, and only then");
    if (expected) {
        self->is_present[i] = false;
        (void)span_model_take(&self->model, segment_spans[i]);
    }
}

static void change_segments(contract *self)
{
    size_t i = below(self, SEGMENT_COUNT);

    if (self->is_present[i]) {
        remove_segment(self, i);
    } else {
        add_segment(self, i);
    }
}

/* ---- the run ---- */

static void require_segments(contract *self)
{
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        uintptr_t base = segment_spans[i].base;

        require(self, self->ops->segment_is_free(self->state, base) == is_free(self, i),
                "a segment is whole as soon as nothing of it is taken");
        require(self, !self->ops->segment_is_free(self->state, base + GP_GRANULE_BYTES),
                "an address inside a segment is not its start");
    }
}

static void require_largest(contract *self)
{
    size_t largest = usage_of(self).largest_free_bytes;
    size_t longest = span_model_longest_bytes(&self->model);
    size_t count = self->block_count;

    require(self, largest <= longest, "largest_free_bytes is no more than there is");
    if (self->run->rule != POLICY_RULE_ANY) {
        require(self, largest == longest, "largest_free_bytes is the longest free span");
    }
    if (largest != 0 && count < MOST_BLOCKS && !self->run->with_faults) {
        take(self, largest, GP_GRANULE_BYTES);
        require(self, self->block_count == count + 1, "take() meets largest_free_bytes");
        give_span(self, forget_block(self, count));
        require_valid(self);
    }
}

static void require_everything(contract *self)
{
    require_valid(self);
    require_segments(self);
    require_largest(self);
}

static void operate(contract *self, size_t take_share)
{
    size_t kind = below(self, 100);

    if (kind < 2) {
        change_segments(self);
    } else if (kind < 4) {
        give_otherwise(self);
    } else if (kind < take_share) {
        take_random(self);
    } else {
        give_random(self);
    }
}

static void give_all(contract *self)
{
    while (self->block_count != 0) {
        give_random(self);
    }
    require_everything(self);
}

static void walk(contract *self)
{
    size_t take_share = 70;

    for (self->operation = 0;
         self->operation < self->run->operations && !choices_are_over(&self->choices);
         self->operation++) {
        if (self->operation % OPERATIONS_A_PHASE == 0) {
            take_share = 30 + below(self, 50);
            if (below(self, 16) == 0) {
                give_all(self);
            }
        }
        operate(self, take_share);
        require(self, usage_of(self).free_bytes == self->model.free_bytes,
                "free_bytes is what was not taken");
        if (self->operation % OPERATIONS_A_CHECK == 0) {
            require_everything(self);
        }
    }
}

static void remove_all(contract *self)
{
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        remove_segment(self, i);
    }
    gp_policy_usage usage = usage_of(self);

    require(self, usage.free_bytes == 0 && usage.largest_free_bytes == 0,
            "without segments nothing is free");
    require_valid(self);
}

static void run_all(contract *self)
{
    if (setjmp(self->broken) != 0) {
        return;
    }
    create(self);
    for (size_t i = 0; i < SEGMENT_COUNT; i += 2) {
        add_segment(self, i);
    }
    walk(self);
    give_all(self);
    remove_all(self);
}

policy_verdict policy_contract_check(const policy_contract_run *run)
{
    contract *self = calloc(1, sizeof(*self));
    policy_verdict verdict = {.text = "no host memory for the test itself"};

    if (self == NULL) {
        return verdict;
    }
    self->run = run;
    self->ops = run->ops;
    self->choices =
        (choices){.random = run->seed, .bytes = run->bytes, .bytes_left = run->byte_count};
    self->verdict.holds = true;
    run_all(self);
    verdict = self->verdict;
    if (self->state != NULL) {
        self->ops->destroy(self->state);
    }
    free(self);
    return verdict;
}
