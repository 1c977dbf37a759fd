/* What a pool does otherwise once it is near its limit: with less than a quarter of it left. */
#include "pool_fixture.h"

TestSuite(near_limit, .init = pool_open, .fini = pool_close);

/* Segments as they are unless somebody says otherwise: 32 MiB. */
static gp_pool_config limited_config(size_t max_bytes)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(32);
    config.growth_bytes = MIB(32);
    config.max_bytes = max_bytes;
    return config;
}

static void limit_pool(size_t max_bytes)
{
    const gp_pool_config config = limited_config(max_bytes);
    pool_reopen(NULL, &config);
}

static uint64_t reserved(void)
{
    return pool_stats().reserved_bytes;
}

/* ---- growth ---- */

Test(near_limit, pool_grows_by_just_what_is_asked_for)
{
    limit_pool(MIB(64));
    cudaStream_t stream = pool_attached_stream();
    (void)pool_alloc(MIB(49), stream);
    const uint64_t before = reserved();

    (void)pool_alloc(MIB(5) + KIB(64), stream);

    cr_assert(eq(u64, reserved() - before, MIB(5) + KIB(64)));
}

Test(near_limit, step_is_a_small_part_of_the_room_that_is_left)
{
    limit_pool(GIB(1));
    cudaStream_t stream = pool_attached_stream();

    (void)pool_alloc(KIB(1536), stream);

    cr_assert(eq(u64, reserved(), MIB(16)));
}

Test(near_limit, limit_that_is_far_changes_nothing)
{
    uint64_t held[2];
    for (int limited = 0; limited < 2; limited++) {
        limit_pool(limited ? GIB(3) : 0);
        cudaStream_t stream = pool_attached_stream();
        for (size_t i = 0; i < 40; i++) {
            (void)pool_alloc(MIB(7) + i * KIB(64), stream);
            (void)pool_alloc(KIB(1) * (i + 1), stream);
            pool_use(MIB(20), stream);
        }
        held[limited] = reserved();
        pool_settle();
    }

    cr_assert(eq(u64, held[1], held[0]));
}

Test(near_limit, pool_grows_in_steps_again_once_little_is_left)
{
    limit_pool(GIB(3));
    cudaStream_t stream = pool_attached_stream();
    void *most = pool_alloc(GIB(2) + MIB(512), stream);
    pool_free(most, stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, reserved(), 0));

    (void)pool_alloc(KIB(1536), stream);

    cr_assert(eq(u64, reserved(), MIB(32)));
}

Test(near_limit, refused_request_changes_nothing_for_the_others)
{
    limit_pool(GIB(3));
    cudaStream_t stream = pool_attached_stream();
    void *none = NULL;
    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, GIB(3) + 1, pool, stream));

    (void)pool_alloc(KIB(1536), stream);

    cr_assert(eq(u64, reserved(), MIB(32)));
}

/* A native block of less than 2 MiB may begin between two pages, which costs a page. */
static void expect_growth_for(size_t bytes, size_t least)
{
    const uint64_t before = reserved();
    (void)pool_alloc(bytes, pool_attached_stream());
    cr_assert(ge(u64, reserved() - before, least));
    cr_assert(le(u64, reserved() - before, least + KIB(64)));
}

Test(near_limit, chunk_is_no_longer_than_it_has_to_be)
{
    limit_pool(GIB(3));
    (void)pool_alloc(GIB(2) + MIB(512), pool_attached_stream());

    expect_growth_for(KIB(1), KIB(128));
    expect_growth_for(KIB(320), KIB(320));
}

/* ---- what is free ---- */

/* One stream leaves its memory without asking the device, so that it cannot go back before it was
 * asked: the way is another one. */
Test(near_limit, free_segment_goes_back_before_less_is_cut_out_of_it)
{
    for (int streams = 1; streams <= 2; streams++) {
        limit_pool(MIB(64));
        cudaStream_t stream = pool_attached_stream();
        if (streams == 2)
            (void)pool_attached_stream();
        (void)pool_alloc(MIB(34), stream);
        pool_use(MIB(20), stream);
        pool_settle();

        (void)pool_alloc(MIB(4), stream);

        cr_assert(eq(u64, reserved(), MIB(38)), "%d streams", streams);
        pool_settle();
    }
}

Test(near_limit, free_segment_serves_what_takes_nearly_all_of_it)
{
    limit_pool(MIB(64));
    cudaStream_t stream = pool_attached_stream();
    (void)pool_alloc(MIB(34), stream);
    pool_use(MIB(20), stream);
    pool_settle();
    const uint64_t native_calls = pool_stats().native_allocs + pool_stats().native_frees;

    (void)pool_alloc(MIB(19), stream);

    cr_assert(eq(u64, pool_stats().native_allocs + pool_stats().native_frees, native_calls));
}

/* With segments of 32 MiB each of them would be held by one of the small blocks. */
Test(near_limit, long_request_finds_the_room_of_many_freed_blocks)
{
    limit_pool(MIB(96));
    cudaStream_t stream = pool_attached_stream();
    void *freed[16];
    for (int i = 0; i < 16; i++) {
        freed[i] = pool_alloc(MIB(3), stream);
        (void)pool_alloc(MIB(2), stream);
    }
    for (int i = 0; i < 16; i++)
        pool_free(freed[i], stream);
    pool_settle();

    void *block = pool_alloc(MIB(60), stream);

    pool_write(block, MIB(60), stream);
    cr_assert(le(u64, reserved(), MIB(96)));
}

Test(near_limit, memory_that_was_set_aside_is_used_and_kept)
{
    gp_pool_config config = limited_config(MIB(96));
    config.initial_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    void *first = pool_alloc(MIB(40), stream);
    (void)pool_alloc(MIB(20), stream);
    pool_free(first, stream);
    pool_settle();
    const gp_pool_stats before = pool_stats();

    (void)pool_alloc(MIB(4), stream);

    cr_assert(eq(u64, pool_stats().native_allocs, before.native_allocs));
    cr_assert(eq(u64, pool_stats().native_frees, before.native_frees));
}

/* What a stream left for itself alone cannot go back while the device is busy. */
Test(near_limit, free_segment_is_cut_when_nothing_else_is_left)
{
    limit_pool(MIB(64));
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(MIB(20), stream);
    (void)pool_alloc(MIB(21), stream);
    (void)pool_alloc(MIB(22), stream);

    void *block = pool_alloc(MIB(4), stream);

    pool_write(block, MIB(4), stream);
    pool_open_gate(gate);
}

/* ---- at the limit ---- */

Test(near_limit, only_what_has_no_room_is_refused)
{
    limit_pool(MIB(64));
    cudaStream_t stream = pool_attached_stream();
    void *blocks[32];
    for (int i = 0; i < 32; i++)
        blocks[i] = pool_alloc(MIB(2), stream);
    void *none = NULL;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(2), pool, stream));

    pool_free(blocks[5], stream);
    blocks[5] = pool_alloc(MIB(2), stream);
    pool_write(blocks[5], MIB(2), stream);
    cr_assert(eq(u64, reserved(), MIB(64)));
}

/* The native pool maps more than it is asked for, in steps, and what lies between two segments is
 * of no use to it: a third of what the limit allows here. */
Test(near_limit, native_pool_does_not_refuse_what_the_limit_allows)
{
    gp_sim_config machine = pool_machine();
    machine.granularity = MIB(32);
    const gp_pool_config config = limited_config(MIB(512));
    pool_reopen(&machine, &config);
    cudaStream_t stream = pool_attached_stream();
    void *freed[16];
    for (int i = 0; i < 16; i++) {
        freed[i] = pool_alloc(MIB(15), stream);
        (void)pool_alloc(MIB(16), stream);
    }
    for (int i = 0; i < 16; i++)
        pool_free(freed[i], stream);
    pool_settle();

    void *block = pool_alloc(MIB(240), stream);

    pool_write(block, MIB(240), stream);
}
