/* The stream heap: what a stream freed serves its own requests of other sizes while it is busy. */
#include "pool_fixture.h"

static void open(void)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(16);
    pool_open();
    pool_reopen(NULL, &config);
}

TestSuite(stream_heap, .init = open, .fini = pool_close);

/* A segment full of blocks of 4 MiB, all written to. */
static void fill_segment(void *blocks[4], cudaStream_t stream)
{
    for (int i = 0; i < 4; i++) {
        blocks[i] = pool_alloc(MIB(4), stream);
        pool_write(blocks[i], MIB(4), stream);
    }
}

static void free_and_check(void *block, cudaStream_t stream)
{
    pool_free(block, stream);
    GP(gp_pool_check(pool));
}

static void *alloc_and_check(size_t bytes, cudaStream_t stream)
{
    void *block = pool_alloc(bytes, stream);
    pool_write(block, bytes, stream);
    GP(gp_pool_check(pool));
    return block;
}

Test(stream_heap, joins_neighbours_that_the_device_still_uses)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *blocks[4];
    fill_segment(blocks, stream);
    free_and_check(blocks[1], stream);
    free_and_check(blocks[2], stream);

    void *joined = alloc_and_check(MIB(8), stream);

    cr_assert(eq(ptr, joined, blocks[1]));
    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    cr_assert(eq(u64, pool_stats().stream_waits, 0));
    pool_open_gate(gate);
    free_and_check(joined, stream);
    free_and_check(blocks[0], stream);
    free_and_check(blocks[3], stream);
}

Test(stream_heap, cuts_a_block_and_keeps_what_is_left_over)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *all = alloc_and_check(MIB(16), stream);
    free_and_check(all, stream);

    void *first = alloc_and_check(MIB(5), stream);
    void *second = alloc_and_check(MIB(6), stream);
    void *third = alloc_and_check(MIB(5), stream);

    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    pool_open_gate(gate);
    free_and_check(second, stream);
    free_and_check(first, stream);
    free_and_check(third, stream);
    free_and_check(alloc_and_check(MIB(16), stream), stream);
    cr_assert(eq(u64, pool_stats().native_allocs, 1));
}

Test(stream_heap, serves_an_aligned_request_from_the_middle)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *head = alloc_and_check(MIB(1) + KIB(64), stream);
    void *rest = alloc_and_check(MIB(16) - MIB(1) - KIB(64), stream);
    free_and_check(rest, stream);

    void *aligned;
    GP(gp_alloc_aligned_from_pool_async(&aligned, MIB(4), MIB(2), pool, stream));
    GP(gp_pool_check(pool));

    cr_assert(eq(u64, (uintptr_t)aligned % MIB(2), 0));
    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    pool_open_gate(gate);
    free_and_check(aligned, stream);
    free_and_check(head, stream);
}

/* What is left over is as pending for others as the block was. */
Test(stream_heap, leaves_nothing_to_another_stream_before_it_is_complete)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(16);
    config.share = GP_SHARE_COMPLETED;
    pool_reopen(NULL, &config);
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(busy);
    free_and_check(alloc_and_check(MIB(16), busy), busy);
    void *cut = alloc_and_check(MIB(5), busy);

    void *elsewhere = alloc_and_check(MIB(5), other);
    cr_assert(eq(u64, pool_stats().native_allocs, 2));
    free_and_check(cut, busy);
    pool_open_gate(gate);
    pool_settle();
    void *shared = alloc_and_check(MIB(12), other);

    cr_assert(eq(u64, pool_stats().native_allocs, 2));
    free_and_check(elsewhere, other);
    free_and_check(shared, other);
}

Test(stream_heap, that_finds_no_room_changes_nothing)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *blocks[4];
    fill_segment(blocks, stream);
    free_and_check(blocks[0], stream);
    free_and_check(blocks[2], stream);

    void *grown = alloc_and_check(MIB(8), stream);
    void *again[2] = {alloc_and_check(MIB(4), stream), alloc_and_check(MIB(4), stream)};

    cr_assert(eq(u64, pool_stats().native_allocs, 2));
    cr_assert(eq(ptr, again[0], blocks[0]));
    cr_assert(eq(ptr, again[1], blocks[2]));
    pool_open_gate(gate);
    free_and_check(grown, stream);
    for (int i = 0; i < 4; i++)
        free_and_check(blocks[i], stream);
}

/* ---- what it leaves to the commons of its own accord ---- */

/* Each block has a segment of its own, and what is not in the commons serves no other stream. */
static void reopen_without_sharing(void)
{
    gp_pool_config config = pool_config();
    config.share = GP_SHARE_NEVER;
    pool_reopen(NULL, &config);
}

static void *make_block(cudaStream_t stream)
{
    void *block = pool_alloc(MIB(6), stream);
    pool_write(block, MIB(6), stream);
    return block;
}

/* Can a stream have the block without growth? */
static bool serves(cudaStream_t stream)
{
    uint64_t before = pool_stats().native_allocs;
    (void)alloc_and_check(MIB(6), stream);
    return pool_stats().native_allocs == before;
}

Test(stream_heap, leaves_to_all_the_older_ones_of_more_than_16_mib_of_an_idle_stream)
{
    reopen_without_sharing();
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    void *blocks[3] = {make_block(stream), make_block(stream), make_block(stream)};
    SIM(gp_sim_stream_synchronize(stream));

    free_and_check(blocks[0], stream);
    free_and_check(blocks[1], stream);
    cr_assert(not(serves(other)), "too little to ask for");
    free_and_check(blocks[2], stream);

    cr_assert(serves(other));
    cr_assert(serves(other));
    cr_assert(not(serves(other)));
}

Test(stream_heap, keeps_what_a_busy_stream_freed_until_that_is_idle)
{
    reopen_without_sharing();
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    void *blocks[6];
    for (int i = 0; i < 6; i++)
        blocks[i] = make_block(stream);
    gp_sim_gate gate = pool_close_gate(stream);
    for (int i = 0; i < 3; i++) {
        pool_write(blocks[i], MIB(6), stream);
        free_and_check(blocks[i], stream);
    }

    cr_assert(not(serves(other)));
    pool_open_gate(gate);
    pool_settle();
    for (int i = 3; i < 6; i++)
        free_and_check(blocks[i], stream);

    for (int i = 0; i < 4; i++)
        cr_assert(serves(other));
}

/* A peak while it was busy is no reason not to ask later, when less is kept. */
Test(stream_heap, is_asked_about_again_after_a_busy_peak)
{
    enum { BLOCKS = 4 };
    reopen_without_sharing();
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_and_check(MIB(12), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    for (int i = 0; i < BLOCKS; i++) {
        pool_write(blocks[i], MIB(12), stream);
        free_and_check(blocks[i], stream);
    }
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_and_check(MIB(12), stream);
    pool_open_gate(gate);
    pool_settle();

    free_and_check(blocks[0], stream);

    cr_assert(serves(other));
}

/* ---- in the long run ---- */

static uint32_t below(uint32_t *state, uint32_t limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

Test(stream_heap, loses_nothing_when_two_busy_streams_ask_for_varied_sizes)
{
    enum { LIVE = 24 };
    cudaStream_t streams[2] = {pool_attached_stream(), pool_attached_stream()};
    void *blocks[LIVE] = {NULL};
    cudaStream_t owners[LIVE] = {NULL};
    uint32_t state = 7;

    for (int i = 0; i < 2000; i++) {
        uint32_t place = below(&state, LIVE);
        if (blocks[place] != NULL)
            free_and_check(blocks[place], owners[place]);
        owners[place] = streams[below(&state, 2)];
        blocks[place] = alloc_and_check(MIB(1) + KIB(64) * (1 + below(&state, 120)), owners[place]);
        if (below(&state, 50) == 0)
            pool_settle();
    }

    for (int i = 0; i < LIVE; i++) {
        if (blocks[i] != NULL)
            free_and_check(blocks[i], owners[i]);
    }
}

/* A question to the driver costs more than a request. */
Test(stream_heap, serves_a_busy_stream_without_asking_about_it_each_time)
{
    enum { REQUESTS = 64 };
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *block = pool_alloc(MIB(12), stream);
    pool_write(block, MIB(12), stream);
    free_and_check(block, stream);
    uint64_t before = pool_stats().event_queries;

    for (int i = 0; i < REQUESTS; i++) {
        block = alloc_and_check(MIB(1) + KIB(64) * (size_t)(1 + i), stream);
        free_and_check(block, stream);
    }

    cr_assert(lt(u64, pool_stats().event_queries - before, REQUESTS / 4));
    cr_assert(eq(u64, pool_stats().event_records, 0));
    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    pool_open_gate(gate);
}

/* What it freed while it was not asked is not lost to it. */
Test(stream_heap, finds_its_stream_idle_before_it_grows)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *blocks[2] = {make_block(stream), make_block(stream)};
    free_and_check(blocks[0], stream);
    void *other = alloc_and_check(MIB(5), stream); /* Finds it busy. */
    free_and_check(other, stream);
    pool_open_gate(gate);
    pool_settle();
    free_and_check(blocks[1], stream);

    void *all = alloc_and_check(MIB(16), stream);

    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    free_and_check(all, stream);
}
