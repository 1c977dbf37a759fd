/* One arena by itself: what it cuts never overlaps, and goes to the right lane. */
#include "arena.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "seeded_random.h"

#define KIB(n) ((size_t)1024 * (n))
#define MIB(n) ((size_t)1024 * 1024 * (n))
#define BASE ((uintptr_t)0x700000000000)

static gp_arena *arena;

static void open_arena(void)
{
    arena = gp_arena_make(1);
    cr_assert(gp_arena_add(arena, (gp_span){.base = BASE, .bytes = MIB(2)}));
}

static void close_arena(void)
{
    gp_arena_drop(arena);
}

TestSuite(arena, .init = open_arena, .fini = close_arena);

static cudaStream_t stream_of(uintptr_t number)
{
    return (cudaStream_t)(0x1000 * number);
}

static gp_arena_span *take(uint32_t lane, size_t bytes, size_t alignment)
{
    const gp_request request = {.bytes = bytes, .alignment = alignment};
    gp_arena_span *block = NULL;
    cr_assert(eq(int, (int)gp_arena_take(arena, lane, &request, &block), (int)GP_OK));
    return block;
}

Test(arena, knows_its_lanes_again)
{
    uint32_t first = gp_arena_lane_of(arena, stream_of(1));
    uint32_t second = gp_arena_lane_of(arena, stream_of(2));

    cr_assert(ne(u32, first, GP_ARENA_ANY_LANE));
    cr_assert(ne(u32, first, second));
    cr_assert(eq(u32, gp_arena_lane_of(arena, stream_of(1)), first));
    cr_assert(eq(u32, gp_arena_lane_of(arena, stream_of(2)), second));
}

Test(arena, gives_what_was_freed_on_a_lane_to_that_lane_first_and_to_no_other)
{
    gp_arena_span *block = take(1, KIB(64), 512);
    uintptr_t base = block->base;
    (void)take(1, KIB(64), 512);
    gp_arena_give(arena, block, 2);

    cr_assert(ne(u64, take(1, KIB(64), 512)->base, base));
    cr_assert(eq(u64, take(2, KIB(4), 512)->base, base));
}

Test(arena, has_no_room_for_what_only_other_lanes_freed)
{
    gp_arena_give(arena, take(1, MIB(2), 512), 1);

    cr_assert(eq(ptr, (void *)take(2, 512, 512), NULL));
    cr_assert(ne(ptr, (void *)take(1, MIB(2), 512), NULL));
}

Test(arena, joins_nothing_across_pieces)
{
    cr_assert(gp_arena_add(arena, (gp_span){.base = BASE + MIB(2), .bytes = MIB(2)}));
    gp_arena_span *blocks[2] = {take(1, MIB(2), 512), take(1, MIB(2), 512)};
    for (int i = 0; i < 2; i++)
        gp_arena_give(arena, blocks[i], 1);

    cr_assert(eq(ptr, (void *)take(1, MIB(4), 512), NULL));

    gp_span piece = {.base = 0, .bytes = 0};
    for (size_t i = 0; i < 2; i++) {
        cr_assert(gp_arena_next_piece(arena, piece.base + piece.bytes, &piece));
        cr_assert(eq(u64, piece.base, BASE + MIB(2) * i));
        cr_assert(eq(sz, piece.bytes, MIB(2)));
    }
    cr_assert(not(gp_arena_next_piece(arena, piece.base + piece.bytes, &piece)));
}

Test(arena, aligns_blocks_and_keeps_what_lies_before_them)
{
    (void)take(1, 512, 512);
    gp_arena_span *block = take(1, KIB(4), KIB(64));

    cr_assert(eq(u64, block->base, BASE + KIB(64)));
    cr_assert(eq(u64, take(1, KIB(63), 512)->base, BASE + 512));
    cr_assert(eq(ptr, (void *)take(1, KIB(4), MIB(4)), NULL));
}

Test(arena, finds_the_part_that_contains_an_address_and_no_other)
{
    gp_arena_span *block = take(1, KIB(4), 512);

    cr_assert(eq(ptr, (void *)gp_arena_find(arena, block->base + KIB(4) - 1), (void *)block));
    cr_assert(ne(ptr, (void *)gp_arena_find(arena, block->base + KIB(4)), (void *)block));
    cr_assert(eq(ptr, (void *)gp_arena_find(arena, BASE - 1), NULL));
    cr_assert(eq(ptr, (void *)gp_arena_find(arena, BASE + MIB(2)), NULL));
}

/* Who has each granule: 0 nobody, else the block that was handed out. */
enum { GRANULES = 4096, BLOCKS = 200, STEPS = 20000 };

static void mark(uint8_t *owner, uintptr_t base, size_t bytes, uint8_t was, uint8_t is)
{
    for (size_t i = (base - BASE) / 512; i < (base - BASE + bytes) / 512; i++) {
        cr_assert(eq(u8, owner[i], was));
        owner[i] = is;
    }
}

Test(arena, hands_out_no_byte_twice_and_loses_none)
{
    static uint8_t owner[GRANULES];
    gp_arena_span *blocks[BLOCKS] = {NULL};
    uint64_t state = 1;
    for (int step = 0; step < STEPS; step++) {
        size_t i = (size_t)(seeded_random(&state) % BLOCKS);
        uint32_t lane = 1 + (uint32_t)(seeded_random(&state) % 2);
        size_t bytes = 512 * (1 + (size_t)(seeded_random(&state) % 64));
        if (blocks[i] == NULL) {
            blocks[i] = take(lane, bytes, (size_t)512 << seeded_random(&state) % 4);
            if (blocks[i] != NULL)
                mark(owner, blocks[i]->base, bytes, 0, 1);
        } else {
            mark(owner, blocks[i]->base, blocks[i]->bytes, 1, 0);
            gp_arena_give(arena, blocks[i], lane);
            blocks[i] = NULL;
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i] != NULL)
            gp_arena_give(arena, blocks[i], 1);
    }

    gp_span piece;
    cr_assert(gp_arena_next_piece(arena, 0, &piece));
    cr_assert(eq(sz, piece.bytes, MIB(2)));
}
