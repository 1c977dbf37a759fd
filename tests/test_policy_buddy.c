/* The buddy system on its own. */
#include "buddy.h"
#include "malloc_fault.h"
#include "seeded_random.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static const uintptr_t first_base = 0x7f0000000000;

static gp_buddy buddy;

static void set_up(void)
{
    cr_assert(eq(int, gp_buddy_init(&buddy), GP_OK));
}

static void tear_down(void)
{
    gp_buddy_fini(&buddy);
}

TestSuite(policy_buddy, .init = set_up, .fini = tear_down);

static void add_chunk(uintptr_t base, size_t bytes)
{
    cr_assert(eq(int, gp_buddy_add_chunk(&buddy, (gp_span){base, bytes}), GP_OK));
}

static uintptr_t take(size_t granules)
{
    uintptr_t base = 0;

    cr_assert(gp_buddy_take(&buddy, granules * GP_GRANULE_BYTES, GP_GRANULE_BYTES, &base));
    return base;
}

static void give(uintptr_t base, size_t granules)
{
    gp_buddy_give(&buddy, gp_buddy_find(&buddy, base),
                  (gp_span){base, granules * GP_GRANULE_BYTES});
}

Test(policy_buddy, returns_the_tail_of_a_piece_at_once)
{
    add_chunk(first_base, 2 * MIB);

    uintptr_t block = take(11);
    uintptr_t one_behind = take(1);
    uintptr_t four_behind = take(4);

    cr_assert(eq(sz, block, first_base));
    cr_assert(eq(sz, one_behind, first_base + (size_t)11 * GP_GRANULE_BYTES));
    cr_assert(eq(sz, four_behind, first_base + (size_t)12 * GP_GRANULE_BYTES));
    cr_assert(eq(sz, buddy.free_bytes, 2 * MIB - (size_t)16 * GP_GRANULE_BYTES));
}

Test(policy_buddy, wastes_nothing_on_any_size)
{
    for (size_t granules = 1; granules <= 2048; granules++) {
        size_t in_use = granules;
        add_chunk(first_base, 2 * MIB);
        uintptr_t block = take(granules);

        /* What is left is met to the last granule, as the powers of two it is a sum of. */
        for (size_t rest = 4096 - granules; rest != 0; rest &= rest - 1) {
            take(rest & -rest);
            in_use += rest & -rest;
        }

        cr_assert(eq(sz, block, first_base));
        cr_assert(eq(sz, in_use, 4096));
        cr_assert(eq(sz, buddy.free_bytes, 0));
        tear_down();
        set_up();
    }
}

Test(policy_buddy, becomes_whole_again_in_any_order_of_frees)
{
    enum { COUNT = 5, ORDERS = 120 };
    const size_t granules[COUNT] = {3, 64, 200, 1, 1025};
    add_chunk(first_base, 2 * MIB);

    for (size_t permutation = 0; permutation < ORDERS; permutation++) {
        struct {
            uintptr_t base;
            size_t granules;
        } blocks[COUNT];
        size_t digits = permutation;
        for (size_t i = 0; i < COUNT; i++) {
            blocks[i].base = take(granules[i]);
            blocks[i].granules = granules[i];
        }

        for (size_t left = COUNT; left > 0; left--) {
            size_t i = digits % left;
            digits /= left;
            give(blocks[i].base, blocks[i].granules);
            blocks[i] = blocks[left - 1];
            cr_assert(gp_buddy_is_valid(&buddy));
        }

        cr_assert(gp_buddy_chunk_is_free(gp_buddy_find(&buddy, first_base)));
        cr_assert(eq(sz, gp_buddy_largest_bytes(&buddy), 2 * MIB));
    }
}

Test(policy_buddy, aligns_a_block_as_far_as_the_base_of_its_chunk_is)
{
    uintptr_t base = 0;
    add_chunk(first_base + 512, 2 * MIB);
    add_chunk(first_base + 4 * MIB, 2 * MIB);
    add_chunk(first_base + 8 * MIB, 2 * MIB);
    give(take(1), 1);

    bool is_met = gp_buddy_take(&buddy, 512, 64 * KIB, &base);
    cr_assert(is_met);
    cr_assert(eq(sz, base, first_base + 4 * MIB));

    is_met = gp_buddy_take(&buddy, 512, 64 * KIB, &base);
    cr_assert(is_met);
    cr_assert(eq(sz, base, first_base + 4 * MIB + 64 * KIB));
    cr_assert(eq(sz, buddy.free_bytes, 6 * MIB - 1024));

    is_met = gp_buddy_take(&buddy, 512, 16 * MIB, &base);
    cr_assert(not(is_met));
}

Test(policy_buddy, tells_what_a_block_would_be_joined_to)
{
    add_chunk(first_base, 2 * MIB);
    take(128);
    uintptr_t block = take(128);
    gp_buddy_chunk *chunk = gp_buddy_find(&buddy, block);

    uintptr_t granule = take(1);
    unsigned beside_a_taken_one = gp_buddy_chunk_joined_order(chunk, 128, 7);
    unsigned granule_beside_it = gp_buddy_chunk_joined_order(chunk, 256, 0);
    give(first_base, 128);
    unsigned beside_a_free_one = gp_buddy_chunk_joined_order(chunk, 128, 7);
    give(granule, 1);
    unsigned alone = gp_buddy_chunk_joined_order(chunk, 128, 7);

    cr_assert(eq(sz, granule, first_base + (size_t)256 * GP_GRANULE_BYTES));
    cr_assert(eq(uint, beside_a_taken_one, 7));
    cr_assert(eq(uint, granule_beside_it, 8));
    cr_assert(eq(uint, beside_a_free_one, 8));
    cr_assert(eq(uint, alone, 12));
}

Test(policy_buddy, fills_chunks_in_order_of_address_however_many_there_are)
{
    enum { CHUNKS = 500 };
    static bool is_added[CHUNKS];
    uint64_t seed = 51;
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t chosen = seeded_random_below(&seed, CHUNKS);
        while (is_added[chosen]) {
            chosen = (chosen + 1) % CHUNKS;
        }
        is_added[chosen] = true;
        add_chunk(first_base + chosen * 2 * MIB, 2 * MIB);
    }
    cr_assert(gp_buddy_is_valid(&buddy));

    for (size_t i = 0; i < CHUNKS; i++) {
        cr_assert(eq(sz, take(4096), first_base + i * 2 * MIB));
    }
    cr_assert(eq(sz, buddy.free_bytes, 0));
    for (size_t i = 0; i < CHUNKS; i++) {
        give(first_base + i * 2 * MIB, 4096);
        cr_assert(eq(sz, take(4096), first_base + i * 2 * MIB), "the only free one");
    }
    cr_assert(gp_buddy_is_valid(&buddy));
}

Test(policy_buddy, tells_the_halves_of_a_group_apart_after_a_split)
{
    for (size_t i = 0; i <= GP_BUDDY_GROUP_CHUNKS; i++) {
        size_t bytes = i < GP_BUDDY_GROUP_CHUNKS / 2 ? 32 * KIB : 2 * MIB;
        add_chunk(first_base + i * 2 * MIB, bytes);
    }

    cr_assert(gp_buddy_is_valid(&buddy));
    cr_assert(eq(sz, take(4096), first_base + GP_BUDDY_GROUP_CHUNKS * MIB));
    cr_assert(eq(sz, take(64), first_base));
}

Test(policy_buddy, stays_in_order_while_chunks_come_and_go)
{
    enum { CHUNKS = 300 };
    static bool is_there[CHUNKS];
    uint64_t seed = 52;
    size_t bytes = 0;
    cr_log_info("seed %llu", (unsigned long long)seed);

    for (size_t i = 0; i < 5000; i++) {
        size_t chosen = seeded_random_below(&seed, CHUNKS);
        uintptr_t base = first_base + chosen * 4 * MIB + chosen % 7 * 512;
        size_t chunk_bytes = (32 * KIB) << chosen % 7;

        if (is_there[chosen]) {
            gp_buddy_remove_chunk(&buddy, gp_buddy_find(&buddy, base));
            bytes -= chunk_bytes;
        } else {
            add_chunk(base, chunk_bytes);
            bytes += chunk_bytes;
        }
        is_there[chosen] = !is_there[chosen];
        cr_assert(eq(sz, buddy.free_bytes, bytes));
        if (i % 50 == 0) {
            cr_assert(gp_buddy_is_valid(&buddy));
        }
    }
}

Test(policy_buddy, adds_no_chunk_when_host_memory_runs_out)
{
    size_t failures = 0;

    for (size_t i = 0; i < 200; i++) {
        gp_span span = {first_base + i * 2 * MIB, 2 * MIB};
        gp_status status = GP_ERR_OUT_OF_HOST_MEMORY;

        for (size_t calls = 0; status != GP_OK; calls++) {
            malloc_fault_after(calls);
            status = gp_buddy_add_chunk(&buddy, span);
            malloc_fault_off();
            cr_assert(eq(sz, buddy.free_bytes, (i + (status == GP_OK)) * 2 * MIB));
            cr_assert(gp_buddy_is_valid(&buddy));
            failures += status != GP_OK;
        }
    }

    cr_assert(lt(sz, 200, failures), "the chunk, now and then a group or a larger table");
}

Test(policy_buddy, needs_little_host_memory)
{
    for (size_t i = 0; i < 64; i++) {
        add_chunk(first_base + i * 2 * MIB + 512, 2 * MIB);
    }

    cr_assert(lt(sz, gp_buddy_metadata_bytes(&buddy), 128 * MIB / 1000));
}

Test(policy_buddy, notices_a_broken_record)
{
    add_chunk(first_base, 2 * MIB);
    add_chunk(first_base + 2 * MIB, 2 * MIB);
    take(5);
    gp_buddy_chunk *chunk = gp_buddy_find(&buddy, first_base);
    cr_assert(gp_buddy_is_valid(&buddy));

    chunk->granules[0] |= 1;
    cr_assert(not(gp_buddy_is_valid(&buddy)), "a taken granule marked free");
    chunk->granules[0] &= ~(uint64_t)1;
    chunk->whole &= ~((uint64_t)1 << 20);
    cr_assert(not(gp_buddy_is_valid(&buddy)), "a word that is free after all");
    chunk->whole |= (uint64_t)1 << 20;
    chunk->having[0] = 0;
    cr_assert(not(gp_buddy_is_valid(&buddy)), "a lost piece");
    chunk->having[0] = 1;
    chunk->free_granules--;
    cr_assert(not(gp_buddy_is_valid(&buddy)), "a count");
    chunk->free_granules++;
    chunk->group->subtree_orders = 0;
    cr_assert(not(gp_buddy_is_valid(&buddy)), "a group nobody would find");
    chunk->group->subtree_orders = chunk->group->free_orders;
    chunk->group->having[3] ^= 2;
    cr_assert(not(gp_buddy_is_valid(&buddy)), "a chunk nobody would find");
    chunk->group->having[3] ^= 2;
    buddy.free_bytes += 512;
    cr_assert(not(gp_buddy_is_valid(&buddy)), "the total");
    buddy.free_bytes -= 512;
    cr_assert(gp_buddy_is_valid(&buddy));
}

/* The rule, as simple as can be: one byte a granule. */
enum { MODEL_CHUNKS = 4, MODEL_GRANULES = 4096 };

typedef struct model_chunk {
    uintptr_t base;
    unsigned order;
    bool is_taken[MODEL_GRANULES];
} model_chunk;

static bool is_free_run(const model_chunk *chunk, size_t first, size_t granules)
{
    for (size_t i = first; i < first + granules; i++) {
        if (chunk->is_taken[i]) {
            return false;
        }
    }
    return true;
}

/* A free run of 2^order granules whose buddy is not free too. */
static bool is_piece(const model_chunk *chunk, size_t first, unsigned order)
{
    size_t granules = (size_t)1 << order;

    return is_free_run(chunk, first, granules) &&
           (order == chunk->order || !is_free_run(chunk, first ^ granules, granules));
}

static void mark(model_chunk *chunk, uintptr_t base, size_t granules, bool is_taken)
{
    size_t first = (base - chunk->base) / GP_GRANULE_BYTES;

    for (size_t i = first; i < first + granules; i++) {
        cr_assert(ne(int, chunk->is_taken[i], is_taken));
        chunk->is_taken[i] = is_taken;
    }
}

static bool find_piece(const model_chunk *chunk, unsigned order, uintptr_t *base)
{
    if (order > chunk->order) {
        return false;
    }
    for (size_t first = 0; first >> chunk->order == 0; first += (size_t)1 << order) {
        if (is_piece(chunk, first, order)) {
            *base = chunk->base + first * GP_GRANULE_BYTES;
            return true;
        }
    }
    return false;
}

static bool model_find(const model_chunk *chunks, size_t granules, size_t alignment,
                       uintptr_t *base)
{
    size_t aligned_granules = alignment / GP_GRANULE_BYTES;
    size_t longest = granules > aligned_granules ? granules : aligned_granules;

    for (unsigned order = 0; order <= GP_BUDDY_MAX_ORDER; order++) {
        if ((size_t)1 << order < longest) {
            continue;
        }
        for (size_t i = 0; i < MODEL_CHUNKS; i++) {
            if (chunks[i].base % alignment == 0 && find_piece(&chunks[i], order, base)) {
                return true;
            }
        }
    }
    return false;
}

static model_chunk *model_chunk_of(model_chunk *chunks, uintptr_t base)
{
    size_t i = MODEL_CHUNKS - 1;

    while (chunks[i].base > base) {
        i--;
    }
    return &chunks[i];
}

static void compare_with_model(uint64_t seed)
{
    enum { MOST_BLOCKS = 300 };
    model_chunk *chunks = calloc(MODEL_CHUNKS, sizeof(*chunks));
    const unsigned orders[MODEL_CHUNKS] = {12, 8, 12, 10};
    gp_span blocks[MOST_BLOCKS];
    size_t count = 0;

    cr_log_info("seed %llu", (unsigned long long)seed);
    for (size_t i = 0; i < MODEL_CHUNKS; i++) {
        chunks[i].base = first_base + i * 4 * MIB + (i == 2 ? 512 : 0);
        chunks[i].order = orders[i];
        add_chunk(chunks[i].base, (size_t)GP_GRANULE_BYTES << orders[i]);
    }
    for (size_t i = 0; i < 2500; i++) {
        if (count == MOST_BLOCKS || (count > 0 && seeded_random_below(&seed, 100) < 45)) {
            size_t chosen = seeded_random_below(&seed, count);
            gp_span block = blocks[chosen];

            give(block.base, block.bytes / GP_GRANULE_BYTES);
            mark(model_chunk_of(chunks, block.base), block.base, block.bytes / GP_GRANULE_BYTES,
                 false);
            blocks[chosen] = blocks[--count];
        } else {
            size_t granules =
                1 + seeded_random_below(&seed, (size_t)1 << seeded_random_below(&seed, 10));
            size_t alignment =
                (size_t)GP_GRANULE_BYTES
                << (seeded_random_below(&seed, 4) == 0 ? seeded_random_below(&seed, 9) : 0);
            uintptr_t ours = 0;
            uintptr_t theirs = 0;
            bool is_met = gp_buddy_take(&buddy, granules * GP_GRANULE_BYTES, alignment, &ours);

            cr_assert(eq(int, is_met, model_find(chunks, granules, alignment, &theirs)));
            cr_assert(eq(sz, ours, theirs));
            if (is_met) {
                mark(model_chunk_of(chunks, ours), ours, granules, true);
                blocks[count++] = (gp_span){ours, granules * GP_GRANULE_BYTES};
            }
        }
    }
    cr_assert(gp_buddy_is_valid(&buddy));
    free(chunks);
}

Test(policy_buddy, places_every_request_as_a_plain_search_for_the_lowest_piece_would)
{
    for (uint64_t seed = 53; seed < 56; seed++) {
        compare_with_model(seed);
        tear_down();
        set_up();
    }
}
