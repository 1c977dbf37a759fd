/*
 * A stream that has the pool to itself: what it frees is joined for its next request without a
 * question to the device, and for nobody else before the device is past it.
 */
#include "pool_fixture.h"

TestSuite(alone, .init = pool_open, .fini = pool_close);

static void share_in_mode(gp_share_mode mode)
{
    gp_pool_config config = pool_config();
    config.share = mode;
    pool_reopen(NULL, &config);
}

/* Blocks of so many bytes beside each other, written to and freed. */
static void use_many(size_t count, size_t bytes, cudaStream_t stream)
{
    void *blocks[64];
    for (size_t i = 0; i < count; i++) {
        blocks[i] = pool_alloc(bytes, stream);
        pool_write(blocks[i], bytes, stream);
    }
    for (size_t i = 0; i < count; i++)
        pool_free(blocks[i], stream);
}

/* A stream that is alone leaves 24 MiB to the commons, and is busy until the gate opens. */
static cudaStream_t leave_memory(gp_sim_gate *gate)
{
    cudaStream_t stream = pool_attached_stream();
    *gate = pool_close_gate(stream);
    pool_use(MIB(24), stream);
    return stream;
}

Test(alone, a_busy_stream_gets_what_it_freed_joined_without_a_question)
{
    cudaStream_t stream = pool_attached_stream();
    void *first = pool_alloc(MIB(128), stream);
    pool_free(first, stream);
    gp_sim_gate gate = pool_close_gate(stream);

    for (size_t mib = 1; mib <= 8; mib++)
        use_many(64 / mib, MIB(mib), stream);
    pool_use(MIB(128), stream);

    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    cr_assert(eq(u64, pool_stats().event_queries, 0));
    cr_assert(eq(u64, pool_stats().event_records, 0));
    pool_open_gate(gate);
}

Test(alone, a_checked_stream_is_asked_since_nobody_else_could)
{
    cudaStream_t stream = pool_stream();

    use_many(16, MIB(4), stream);

    cr_assert(lt(u64, 0, pool_stats().event_queries));
}

Test(alone, no_more_is_a_stream_once_there_is_another)
{
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();

    use_many(16, MIB(4), first);

    cr_assert(lt(u64, 0, pool_stats().event_queries));
    pool_use(MIB(1), second);
}

Test(alone, what_it_left_is_for_nobody_else_while_it_is_busy)
{
    share_in_mode(GP_SHARE_COMPLETED);
    gp_sim_gate gate;
    (void)leave_memory(&gate);
    cudaStream_t second = pool_attached_stream();

    pool_use(MIB(24), second);

    cr_assert(eq(u64, pool_stats().native_allocs, 2));
    cr_assert(eq(u64, pool_stats().shared_hits, 0));
    pool_open_gate(gate);
}

Test(alone, what_it_left_is_for_nobody_else_while_the_device_is_past_a_part)
{
    share_in_mode(GP_SHARE_COMPLETED);
    cudaStream_t first = pool_attached_stream();
    gp_sim_gate early = pool_close_gate(first);
    pool_use(MIB(24), first);
    GP(gp_pool_trim_to(pool, GIB(1))); /* It leaves a fence behind what came back so far. */
    gp_sim_gate late = pool_close_gate(first);
    pool_use(MIB(24), first);
    pool_open_gate(early);
    gp_sim_advance(1000000);
    cudaStream_t second = pool_attached_stream();

    pool_use(MIB(24), second);

    cr_assert(eq(u64, pool_stats().native_allocs, 2));
    pool_open_gate(late);
}

Test(alone, what_it_left_serves_another_once_the_device_is_past_it)
{
    share_in_mode(GP_SHARE_COMPLETED);
    cudaStream_t first = pool_attached_stream();
    pool_use(MIB(24), first);
    cudaStream_t second = pool_attached_stream();
    pool_settle();

    pool_use(MIB(24), second);

    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    cr_assert(eq(u64, pool_stats().stream_waits, 0));
}

Test(alone, what_it_left_serves_another_behind_a_wait)
{
    gp_sim_gate gate;
    (void)leave_memory(&gate);
    cudaStream_t second = pool_attached_stream();

    pool_use(MIB(24), second);

    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    cr_assert(eq(u64, pool_stats().shared_waits, 1));
    pool_open_gate(gate);
}

Test(alone, what_it_left_stays_if_the_wait_cannot_be_queued)
{
    gp_sim_gate gate;
    cudaStream_t first = leave_memory(&gate);
    cudaStream_t second = pool_attached_stream();
    gp_sim_fail(GP_SIM_FN_STREAM_WAIT, 1, 3, 999);

    void *grown = pool_alloc(MIB(24), second);

    pool_write(grown, MIB(24), second);
    cr_assert(eq(u64, pool_stats().native_allocs, 2));
    cr_assert(eq(u64, pool_stats().shared_waits, 0));
    GP(gp_pool_check(pool));
    pool_use(MIB(24), first);
    cr_assert(eq(u64, pool_stats().native_allocs, 2), "the first stream still has its own");
    pool_free(grown, second);
    pool_open_gate(gate);
}

/* A segment that was grown meanwhile is the second stream's alone, but not for one block. */
Test(alone, growth_for_another_meanwhile_serves_several_of_its_requests)
{
    gp_pool_config config = pool_config();
    config.share = GP_SHARE_COMPLETED;
    config.segment_bytes = MIB(32);
    pool_reopen(NULL, &config);
    gp_sim_gate gate;
    (void)leave_memory(&gate);
    cudaStream_t second = pool_attached_stream();
    void *blocks[4];

    for (size_t i = 0; i < 4; i++) {
        blocks[i] = pool_alloc(MIB(8), second);
        pool_write(blocks[i], MIB(8), second);
        size_t bytes;
        GP(gp_usable_size(blocks[i], &bytes));
        cr_assert(eq(sz, bytes, MIB(8)));
    }

    cr_assert(eq(u64, pool_stats().native_allocs, 2));
    GP(gp_pool_check(pool));
    for (size_t i = 0; i < 4; i++)
        pool_free(blocks[i], second);
    pool_open_gate(gate);
}

Test(alone, small_blocks_of_another_do_not_come_from_chunks_it_left)
{
    share_in_mode(GP_SHARE_COMPLETED);
    cudaStream_t first = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(first);
    use_many(64, KIB(256), first);
    pool_use(MIB(24), first);
    cudaStream_t second = pool_attached_stream();

    use_many(64, KIB(256), second);

    GP(gp_pool_check(pool));
    pool_open_gate(gate);
}

Test(alone, a_trim_gives_back_what_it_left_only_once_the_device_is_past_it)
{
    gp_sim_gate gate;
    (void)leave_memory(&gate);

    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(24)));
    pool_open_gate(gate);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(alone, its_successor_has_what_it_left)
{
    gp_sim_gate gate;
    cudaStream_t first = leave_memory(&gate);
    GP(gp_stream_detach(pool, first));

    cudaStream_t second = pool_attached_stream();
    pool_use(MIB(24), second);

    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    pool_open_gate(gate);
}

Test(alone, an_allocation_that_would_fail_waits_for_what_it_left)
{
    gp_pool_config config = pool_config();
    config.share = GP_SHARE_COMPLETED;
    config.max_bytes = MIB(32);
    pool_reopen(NULL, &config);
    cudaStream_t first = pool_attached_stream();
    pool_use(MIB(24), first);
    cudaStream_t second = pool_attached_stream();
    pool_settle();

    pool_use(MIB(30), second);

    cr_assert(eq(u64, pool_stats().failures, 0));
}
