/* Allocation: what comes back, and from which tier. */
#include "pool_fixture.h"

#include <string.h>

TestSuite(alloc, .init = pool_open, .fini = pool_close);

/* ---- zero bytes: C33 ---- */

Test(alloc, of_zero_bytes_gives_null_and_counts_nothing)
{
    cudaStream_t stream = pool_attached_stream();
    void *held = pool_alloc(512, stream);
    gp_pool_stats before = pool_stats();

    for (int i = 0; i < 3; i++) {
        void *none = (void *)(uintptr_t)0xdead;
        GP(gp_alloc_from_pool_async(&none, 0, pool, stream));
        cr_assert(eq(ptr, none, NULL));
        GP(gp_free_async(none, stream));
    }
    void *aligned = held;
    GP(gp_alloc_aligned_from_pool_async(&aligned, 0, KIB(64), pool, stream));

    cr_assert(eq(ptr, aligned, NULL));
    pool_expect_unchanged(&before);
}

/* ---- sizes ---- */

Test(alloc, gives_at_least_what_was_asked_and_wastes_at_most_an_eighth)
{
    cudaStream_t stream = pool_attached_stream();

    for (size_t bytes = 1; bytes < MIB(64); bytes += 1 + bytes / 7) {
        void *block = pool_alloc(bytes, stream);
        size_t usable = 0;
        GP(gp_usable_size(block, &usable));
        cr_assert(ge(sz, usable, bytes));
        if (bytes > KIB(4))
            cr_assert(le(sz, usable, bytes + bytes / 8), "%zu bytes", bytes);
        pool_write(block, usable, stream);
        pool_free(block, stream);
    }
}

/* C31: a 32-bit shift gave 1 GiB to a request of 4 GiB. */
Test(alloc, of_sizes_around_two_to_the_32nd)
{
    static const size_t sizes[] = {GIB(2) - 1, GIB(2),     GIB(2) + 1, GIB(4) - 1,
                                   GIB(4),     GIB(4) + 1, GIB(5)};
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_bytes = GIB(64);
    pool_reopen(&machine, &config);
    cudaStream_t stream = pool_attached_stream();

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *block = pool_alloc(sizes[i], stream);
        size_t usable = 0;
        GP(gp_usable_size(block, &usable));
        cr_assert(ge(sz, usable, sizes[i]));
        pool_write(block, 1, stream);
        pool_write(block + sizes[i] - 1, 1, stream);
        cr_assert(eq(u64, pool_stats().live_bytes, usable));
        FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + sizes[i] - 1, stream));
        pool_free(block, stream);
    }
}

/* C31, second part: sizes whose class was looked up out of range after a clean-up. */
Test(alloc, of_a_thousand_sizes_before_and_after_a_trim)
{
    cudaStream_t stream = pool_attached_stream();
    static void *blocks[1024];
    for (size_t i = 0; i < 1024; i++)
        blocks[i] = pool_alloc(512 * (i + 1), stream);
    for (size_t i = 0; i < 1024; i++)
        pool_free(blocks[i], stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));

    for (size_t i = 0; i < 1024; i += 3)
        pool_use(512 * i + 1, stream);

    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

/* ---- alignment: C32 ---- */

static void split_and_align(void)
{
    static const size_t alignments[] = {1, 256, 512, KIB(4), KIB(64), KIB(256), MIB(2)};
    cudaStream_t stream = pool_attached_stream();
    void *blocks[30];
    for (int i = 0; i < 30; i++)
        blocks[i] = pool_alloc(i % 3 == 0 ? 1 : i % 3 == 1 ? 257 : 511, stream);
    for (int i = 0; i < 30; i += 2)
        pool_free(blocks[i], stream);

    for (size_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]); i++) {
        for (size_t bytes = 100; bytes < MIB(8); bytes *= 9) {
            void *block = NULL;
            GP(gp_alloc_aligned_from_pool_async(&block, bytes, alignments[i], pool, stream));
            cr_assert(eq(u64, (uintptr_t)block % alignments[i], 0));
            cr_assert(eq(u64, (uintptr_t)block % 512, 0));
            pool_write(block, bytes, stream);
            if (i % 2 == 0)
                pool_free(block, stream);
        }
    }
}

Test(alloc, honours_every_alignment_also_out_of_split_blocks)
{
    split_and_align();
}

Test(alloc, honours_alignments_over_a_driver_that_aligns_to_256_bytes)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.base_offset = 256;
    pool_reopen(&machine, &config);

    split_and_align();
}

/* ---- tiers ---- */

/* C78: a free cost an event record, and a pair a trip through one mutex. */
Test(alloc, hands_out_the_block_freed_last_without_a_native_call)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(KIB(64), stream);
    void *first = pool_alloc(KIB(64), stream);
    void *second = pool_alloc(KIB(64), stream);
    pool_free(second, stream);
    pool_free(first, stream);
    uint64_t calls = 0;
    for (int i = 0; i < GP_SIM_FN_COUNT; i++)
        calls += gp_sim_call_count((gp_sim_function)i);

    void *third = pool_alloc(KIB(64), stream);
    void *fourth = pool_alloc(KIB(64), stream);

    for (int i = 0; i < GP_SIM_FN_COUNT; i++)
        calls -= gp_sim_call_count((gp_sim_function)i);
    cr_assert(eq(u64, calls, 0));
    cr_assert(eq(ptr, third, first));
    cr_assert(eq(ptr, fourth, second));
}

Test(alloc, asks_a_checked_stream_who_it_is_on_each_hit)
{
    cudaStream_t stream = pool_stream();
    for (int i = 0; i < 100; i++)
        pool_use(KIB(64), stream); /* until its thread keeps blocks */
    uint64_t ids = gp_sim_call_count(GP_SIM_FN_STREAM_GET_ID);
    uint64_t allocs = gp_sim_call_count(GP_SIM_FN_MALLOC);

    void *block = pool_alloc(KIB(64), stream);

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_STREAM_GET_ID), ids + 1));
    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_MALLOC), allocs));
    pool_free(block, stream);
}

Test(alloc, refills_the_thread_cache_before_it_is_dry)
{
    gp_pool_config config = pool_config();
    config.l1_refill_percent = 50;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    void *blocks[400];
    for (int i = 0; i < 400; i++)
        blocks[i] = pool_alloc(KIB(1), stream);
    for (int i = 0; i < 400; i++)
        pool_free(blocks[i], stream);
    gp_pool_stats before = pool_stats();

    for (int i = 0; i < 300; i++)
        blocks[i] = pool_alloc(KIB(1), stream);

    gp_pool_stats after = pool_stats();
    cr_assert(eq(u64, after.l1_hits - before.l1_hits, 300), "a class ran dry although L2 was full");
    cr_assert(lt(u64, before.l1_refills, after.l1_refills));
}

/* C34: each request was a little larger than every cached block, while the device was
 * still busy with all of them. Segments of the usual size: tiny ones cannot be joined. */
/* The pool is one chunk, which is full of small blocks at first. */
Test(alloc, joins_what_its_thread_keeps_in_other_classes_before_the_pool_grows)
{
    enum { SMALL = 32, LARGE = 4 };
    cudaStream_t stream = pool_attached_stream();
    void *blocks[SMALL];
    for (size_t i = 0; i < SMALL; i++)
        blocks[i] = pool_alloc(KIB(64), stream);
    for (size_t i = 0; i < SMALL; i++)
        pool_free(blocks[i], stream);
    const gp_pool_stats before = pool_stats();

    for (size_t i = 0; i < LARGE; i++)
        blocks[i] = pool_alloc(KIB(512), stream);

    cr_assert(gt(u64, before.l1_cached_bytes, 0), "the thread kept none of them");
    cr_assert(eq(u64, pool_stats().native_allocs, before.native_allocs));
    for (size_t i = 0; i < LARGE; i++)
        pool_free(blocks[i], stream);
}

Test(alloc, of_slowly_growing_sizes_does_not_pile_up)
{
    gp_pool_config config = pool_config();
    config.max_bytes = GIB(2);
    config.segment_bytes = MIB(32);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    size_t largest = 0;

    for (size_t i = 0; i < 4000; i++) {
        largest = MIB(1) + i * KIB(4);
        pool_use(largest, stream);
    }

    cr_assert(le(u64, pool_stats().reserved_bytes_high, 2 * largest + 2 * config.segment_bytes));
}

Test(alloc, of_slowly_shrinking_sizes_does_not_pile_up)
{
    cudaStream_t stream = pool_attached_stream();

    for (size_t i = 4000; i > 0; i--)
        pool_use(MIB(1) + i * KIB(4), stream);

    cr_assert(le(u64, pool_stats().reserved_bytes_high,
                 2 * (MIB(1) + 4000 * KIB(4)) + 2 * pool_config().segment_bytes));
}

/* ---- reserving ahead ---- */

Test(alloc, of_what_was_reserved_does_not_grow_the_pool)
{
    cudaStream_t stream = pool_attached_stream();
    const gp_reserve_entry plan[] = {{.bytes = 100, .count = 100},
                                     {.bytes = KIB(70), .count = 20},
                                     {.bytes = MIB(3), .count = 7}};
    GP(gp_pool_reserve(pool, stream, plan, 3));
    gp_pool_stats ready = pool_stats();
    cr_assert(eq(u64, ready.live_bytes, 0));

    for (int round = 0; round < 3; round++) {
        void *blocks[127];
        int held = 0;
        for (int p = 0; p < 3; p++) {
            for (size_t i = 0; i < plan[p].count; i++)
                blocks[held++] = pool_alloc(plan[p].bytes, stream);
        }
        while (held > 0)
            pool_free(blocks[--held], stream);
    }

    cr_assert(eq(u64, pool_stats().native_allocs, ready.native_allocs));
    cr_assert(eq(u64, pool_stats().reserved_bytes, ready.reserved_bytes));
}

Test(alloc, reserving_more_than_there_is_keeps_what_was_reserved)
{
    cudaStream_t stream = pool_attached_stream();
    const gp_reserve_entry plan = {.bytes = MIB(256), .count = 17};

    FAILS(GP_ERR_OUT_OF_MEMORY, gp_pool_reserve(pool, stream, &plan, 1));

    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    cr_assert(eq(u64, pool_stats().cached_bytes, GIB(4)));
    pool_use(GIB(1), stream);
}

/* Nobody else knows the blocks of a plan: one that is not given back is lost. */
Test(alloc, reserving_gives_everything_back_when_the_stream_cannot_be_asked_any_more)
{
    static const size_t sizes[] = {KIB(4), MIB(4)};
    for (uint64_t call = 1; call < 20; call++) {
        cudaStream_t stream = pool_stream();
        const gp_reserve_entry plan = {.bytes = sizes[call % 2], .count = 4};
        gp_sim_fail(GP_SIM_FN_STREAM_GET_ID, call, UINT64_MAX, 999);

        gp_status status = gp_pool_reserve(pool, stream, &plan, 1);

        gp_sim_fail(GP_SIM_FN_STREAM_GET_ID, 0, 0, 0);
        cr_assert(status == GP_OK || status == GP_ERR_CUDA);
        cr_assert(eq(u64, pool_stats().live_bytes, 0));
    }
}

Test(alloc, cannot_be_reserved_on_a_stream_that_captures)
{
    cudaStream_t stream = pool_stream();
    const gp_reserve_entry plan = {.bytes = 512, .count = 1};
    gp_sim_graph graph = NULL;
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));

    FAILS(GP_ERR_CAPTURE, gp_pool_reserve(pool, stream, &plan, 1));

    SIM(gp_sim_end_capture(stream, &graph));
    SIM(gp_sim_graph_destroy(graph));
    cr_assert(eq(u64, pool_stats().captured, 0));
}
