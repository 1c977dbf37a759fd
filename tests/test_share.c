/* Sharing: what one stream may do with memory that lies idle on another. */
#include "pool_fixture.h"

TestSuite(share, .init = pool_open, .fini = pool_close);

static void share_in_mode(gp_share_mode mode)
{
    gp_pool_config config = pool_config();
    config.share = mode;
    pool_reopen(NULL, &config);
}

Test(share, completed_memory_serves_another_stream_before_the_pool_grows)
{
    for (int mode = GP_SHARE_WAIT; mode <= GP_SHARE_COMPLETED; mode++) {
        share_in_mode((gp_share_mode)mode);
        cudaStream_t first = pool_attached_stream();
        cudaStream_t second = pool_attached_stream();
        pool_use(MIB(24), first);
        SIM(gp_sim_stream_synchronize(first));

        pool_use(MIB(24), second);

        gp_pool_stats stats = pool_stats();
        cr_assert(eq(u64, stats.native_allocs, 1));
        cr_assert(eq(u64, stats.shared_hits, 1));
        cr_assert(eq(u64, stats.stream_waits, 0), "completed memory needs no wait");
    }
}

Test(share, pending_memory_serves_another_stream_behind_a_wait)
{
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(first);
    pool_use(MIB(24), first);

    pool_use(MIB(24), second);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.native_allocs, 1));
    cr_assert(eq(u64, stats.shared_waits, 1));
    pool_open_gate(gate);
}

Test(share, pending_memory_is_left_alone_where_waits_are_not_allowed)
{
    share_in_mode(GP_SHARE_COMPLETED);
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(first);
    pool_use(MIB(24), first);

    pool_use(MIB(24), second);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.native_allocs, 2));
    cr_assert(eq(u64, stats.stream_waits, 0));
    pool_open_gate(gate);
}

Test(share, completed_memory_comes_before_pending_memory)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t done = pool_attached_stream();
    cudaStream_t third = pool_attached_stream();
    void *used = pool_alloc(MIB(24), busy);
    void *idle = pool_alloc(MIB(24), done);
    gp_sim_gate gate = pool_close_gate(busy);
    pool_write(used, MIB(24), busy);
    pool_free(used, busy);
    pool_write(idle, MIB(24), done);
    pool_free(idle, done);
    SIM(gp_sim_stream_synchronize(done));

    void *block = pool_alloc(MIB(24), third);

    cr_assert(eq(ptr, block, idle));
    cr_assert(eq(u64, pool_stats().shared_waits, 0));
    pool_open_gate(gate);
    pool_free(block, third);
}

Test(share, never_means_that_each_stream_keeps_what_it_used)
{
    share_in_mode(GP_SHARE_NEVER);
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    pool_use(MIB(24), first);
    pool_settle();

    pool_use(MIB(24), second);
    pool_use(KIB(4), first);
    pool_use(KIB(4), second);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.shared_hits, 0));
    cr_assert(eq(u64, stats.native_allocs, 4));
}

/* C81: with fresh memory at hand a fast stream need not wait for a slow one; the order
 * of gp is to share first, so the wait is at least counted. */
Test(share, every_wait_is_counted)
{
    cudaStream_t slow = pool_attached_stream();
    cudaStream_t fast = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(slow);
    for (int i = 0; i < 6; i++)
        pool_use(MIB(8) << (i % 3), slow);

    for (int i = 0; i < 6; i++)
        pool_use(MIB(8) << (i % 3), fast);

    cr_assert(eq(u64, pool_stats().stream_waits, gp_sim_call_count(GP_SIM_FN_STREAM_WAIT)));
    pool_open_gate(gate);
}

Test(share, small_blocks_of_a_quiet_stream_make_room_for_a_large_one_elsewhere)
{
    gp_pool_config config = pool_config();
    config.max_bytes = MIB(32);
    pool_reopen(NULL, &config);
    cudaStream_t quiet = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    static void *blocks[480];
    for (int i = 0; i < 480; i++)
        blocks[i] = pool_alloc(KIB(64), quiet);
    for (int i = 0; i < 480; i++)
        pool_free(blocks[i], quiet);
    SIM(gp_sim_stream_synchronize(quiet));

    pool_use(MIB(28), other);

    cr_assert(le(u64, pool_stats().reserved_bytes_high, MIB(32)));
}
