/* Trim: idle memory goes back to the device when the caller says so, and only idle memory. */
#include "pool_fixture.h"

TestSuite(trim, .init = pool_open, .fini = pool_close);

static size_t device_free_bytes(void)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    SIM(gp_sim_mem_get_info(&free_bytes, &total_bytes));
    return free_bytes;
}

/* C37: release when nothing can be released, and at the boundary itself. */
Test(trim, of_an_empty_pool_does_nothing)
{
    GP(gp_pool_trim_to(pool, 0));
    GP(gp_pool_trim_to(pool, SIZE_MAX));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    cr_assert(eq(u64, pool_stats().native_frees, 0));
}

Test(trim, keeps_what_it_was_told_to_keep)
{
    cudaStream_t stream = pool_attached_stream();
    void *blocks[10];
    for (int i = 0; i < 10; i++)
        blocks[i] = pool_alloc(MIB(16), stream);
    for (int i = 0; i < 10; i++)
        pool_free(blocks[i], stream);
    pool_settle();
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(160)));

    GP(gp_pool_trim_to(pool, MIB(161)));
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(160)));
    GP(gp_pool_trim_to(pool, MIB(160)));
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(160)));
    GP(gp_pool_trim_to(pool, MIB(159)));
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(144)));
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(trim, gives_the_bytes_to_the_device)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(512), stream);
    pool_settle();
    cr_assert(eq(sz, device_free_bytes(), GIB(4) - MIB(512)));

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(sz, device_free_bytes(), GIB(4)));
    cr_assert(eq(u64, pool_stats().native_reserved_bytes, 0));
}

Test(trim, leaves_live_blocks_alone)
{
    cudaStream_t stream = pool_attached_stream();
    void *small = pool_alloc(KIB(1), stream);
    void *large = pool_alloc(MIB(20), stream);
    pool_use(MIB(30), stream);
    pool_settle();

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(2) + MIB(20)));
    pool_write(small, KIB(1), stream);
    pool_write(large, MIB(20), stream);
    pool_free(small, stream);
    pool_free(large, stream);
}

Test(trim, flushes_what_threads_keep)
{
    cudaStream_t stream = pool_attached_stream();
    for (size_t bytes = 512; bytes <= KIB(512); bytes *= 2)
        pool_use(bytes, stream);
    cr_assert(lt(u64, 0, pool_stats().l1_cached_bytes));
    pool_settle();

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().l1_cached_bytes, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

/* C09, C45: the host gives back only what it has seen complete; it does not wait. */
Test(trim, skips_memory_that_is_still_used_and_takes_it_later)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(MIB(256), stream);

    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(256)));

    pool_open_gate(gate);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(trim, takes_memory_of_a_stream_whose_work_is_done_beside_one_whose_is_not)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t done = pool_attached_stream();
    void *used = pool_alloc(MIB(64), busy);
    void *idle = pool_alloc(MIB(32), done);
    gp_sim_gate gate = pool_close_gate(busy);
    pool_write(used, MIB(64), busy);
    pool_free(used, busy);
    pool_write(idle, MIB(32), done);
    pool_free(idle, done);
    SIM(gp_sim_stream_synchronize(done));

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(64)));
    pool_open_gate(gate);
}

Test(trim, returns_loans_so_that_their_segments_can_go)
{
    cudaStream_t lender = pool_attached_stream();
    cudaStream_t borrower = pool_attached_stream();
    pool_use(MIB(64), lender);
    pool_settle();
    pool_use(MIB(8), borrower);
    cr_assert(eq(u64, pool_stats().native_allocs, 1), "nothing was lent");
    pool_settle();

    GP(gp_pool_trim_to(pool, 0));
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

/* Whole blocks, joined ones and chunks of a stream, and what another cut out of them. */
static void leave_memory_in_every_place(cudaStream_t busy, cudaStream_t other)
{
    static const size_t sizes[] = {MIB(6), MIB(3), MIB(5), MIB(2), MIB(9), MIB(3), KIB(512)};
    void *blocks[35];
    for (int i = 0; i < 35; i++) {
        blocks[i] = pool_alloc(sizes[i % 7], busy);
        pool_write(blocks[i], sizes[i % 7], busy);
    }
    pool_order(busy, other);
    pool_read(blocks[2], sizes[2], other);
    GP(gp_record_use(blocks[2], other));
    for (int i = 0; i < 35; i++)
        pool_free(blocks[i], busy);
    for (int i = 0; i < 5; i++)
        pool_use(MIB(20) - MIB(3) * (size_t)i, other);
    for (int i = 0; i < 8; i++)
        pool_use(KIB(256), other);
}

Test(trim, gives_back_everything_once_the_streams_are_idle)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(32);
    pool_reopen(NULL, &config);
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(busy);
    leave_memory_in_every_place(busy, other);
    cr_assert(lt(u64, 0, pool_stats().shared_waits));
    GP(gp_pool_trim_to(pool, 0));
    GP(gp_pool_check(pool));
    cr_assert(lt(u64, MIB(100), pool_stats().reserved_bytes));

    pool_open_gate(gate);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    cr_assert(eq(u64, pool_stats().cached_bytes, 0));
    cr_assert(eq(sz, device_free_bytes(), GIB(4)));
}

Test(trim, works_on_memory_of_streams_that_are_gone)
{
    cudaStream_t detached = pool_attached_stream();
    cudaStream_t dead = pool_stream();
    pool_use(MIB(8), detached);
    pool_use(MIB(16), dead);
    GP(gp_stream_detach(pool, detached));
    pool_drop_stream(detached);
    pool_drop_stream(dead);
    pool_settle();

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(trim, on_a_callers_native_pool_trims_that)
{
    cudaMemPool_t native = NULL;
    gp_pool_config config = pool_config();
    SIM(gp_sim_pool_create(&native));
    SIM(gp_sim_pool_set_threshold(native, UINT64_MAX));
    config.native_pool = native;
    GP(gp_pool_destroy(pool));
    GP(gp_pool_create(&pool, &config));
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(128), stream);
    pool_settle();

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(sz, device_free_bytes(), GIB(4)));
    GP(gp_pool_destroy(pool));
    pool = NULL;
    SIM(gp_sim_pool_destroy(native));
}

Test(trim, that_fails_natively_says_so_and_loses_nothing)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(64), stream);
    pool_settle();
    gp_sim_fail(GP_SIM_FN_FREE, 1, UINT64_MAX, 999);

    (void)!gp_pool_trim_to(pool, 0);
    GP(gp_pool_check(pool));
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(64)));
    gp_sim_fail(GP_SIM_FN_FREE, 0, 0, 0);
    gp_sim_fail(GP_SIM_FN_POOL_TRIM, 1, 1, 999);
    FAILS(GP_ERR_CUDA, gp_pool_trim_to(pool, 0));

    GP(gp_pool_check(pool));
    pool_use(MIB(64), stream);
}

/* Too few to have gone home by themselves. */
Test(trim, sends_blocks_home_that_were_freed_on_other_streams)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    void *block = pool_alloc(KIB(4), home);
    pool_write(block, KIB(4), home);
    pool_order(home, other);
    pool_free(block, other);
    pool_settle();

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    GP(gp_pool_check(pool));
}

Test(trim, leaves_blocks_away_from_home_whose_stream_is_busy)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    void *block = pool_alloc(KIB(4), home);
    pool_order(home, other);
    gp_sim_gate gate = pool_close_gate(other);
    pool_write(block, KIB(4), other);
    pool_free(block, other);

    GP(gp_pool_trim_to(pool, 0));
    cr_assert(lt(u64, 0, pool_stats().reserved_bytes));

    pool_open_gate(gate);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}
