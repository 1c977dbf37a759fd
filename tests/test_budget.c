/* Budgets: what one stream may hold of a pool. */
#include "pool_fixture.h"

#include <string.h>

TestSuite(budget, .init = pool_open, .fini = pool_close);

static cudaStream_t stream_with(size_t budget_bytes)
{
    cudaStream_t stream = pool_attached_stream();
    GP(gp_stream_set_budget(pool, stream, budget_bytes));
    return stream;
}

static void expect_past_budget(size_t bytes, cudaStream_t stream)
{
    void *none = NULL;
    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, bytes, pool, stream));
    cr_assert(eq(ptr, none, NULL));
    GP(gp_pool_check(pool));
}

/* ---- what counts ---- */

Test(budget, live_blocks_of_one_stream_pass_it_and_those_of_others_do_not)
{
    cudaStream_t bounded = stream_with(MIB(64));
    cudaStream_t free_stream = pool_attached_stream();
    void *held = pool_alloc(MIB(40), bounded);

    expect_past_budget(MIB(25), bounded);

    pool_use(MIB(100), free_stream);
    void *rest = pool_alloc(MIB(24), bounded);
    pool_free(rest, bounded);
    pool_free(held, bounded);
}

Test(budget, is_not_met_from_idle_memory_of_the_pool_either)
{
    cudaStream_t other = pool_attached_stream();
    cudaStream_t bounded = stream_with(MIB(64));
    pool_use(MIB(100), other);
    pool_settle();
    GP(gp_pool_trim_to(pool, GIB(4))); /* nothing goes, but all of it is anybody's */
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(100)));

    expect_past_budget(MIB(65), bounded);
}

Test(budget, is_named_with_what_the_stream_holds)
{
    cudaStream_t stream = stream_with(MIB(64));
    void *held = pool_alloc(MIB(40), stream);

    expect_past_budget(MIB(25), stream);

    const char *figures = "the stream holds 41943040 of a budget of 67108864";
    cr_assert(strstr(gp_last_error(), figures) != NULL, "%s", gp_last_error());
    pool_free(held, stream);
}

Test(budget, block_freed_on_another_stream_counts_there)
{
    cudaStream_t bounded = stream_with(MIB(64));
    cudaStream_t other = pool_attached_stream();
    for (int i = 0; i < 8; i++) {
        void *block = pool_alloc(MIB(40), bounded);
        pool_order(bounded, other);
        pool_free(block, other);
    }

    pool_use(MIB(64), bounded);
    pool_settle();
}

Test(budget, block_with_recorded_uses_counts_until_it_is_freed)
{
    cudaStream_t bounded = stream_with(MIB(64));
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(MIB(40), bounded);
    pool_order(bounded, user);
    pool_read(block, MIB(40), user);
    GP(gp_record_use(block, user));

    expect_past_budget(MIB(30), bounded);
    pool_free(block, bounded);
    pool_settle();

    pool_use(MIB(30), bounded);
}

Test(budget, block_freed_in_a_capture_counts_until_that_has_ended)
{
    cudaStream_t bounded = pool_stream();
    GP(gp_stream_set_budget(pool, bounded, MIB(64)));
    gp_sim_graph graph = NULL;
    void *block = pool_alloc(MIB(40), bounded);
    SIM(gp_sim_begin_capture(bounded, GP_SIM_CAPTURE_RELAXED));
    FAILS(GP_ERR_CAPTURE, gp_stream_set_budget(pool, bounded, 0));
    pool_free(block, bounded);
    SIM(gp_sim_end_capture(bounded, &graph));

    pool_use(MIB(60), bounded);

    SIM(gp_sim_graph_destroy(graph));
}

Test(budget, small_blocks_count_by_the_chunks_they_are_cut_from)
{
    cudaStream_t stream = stream_with(MIB(8));
    gp_status status = GP_OK;
    size_t bytes = 0;
    for (; status == GP_OK; bytes += KIB(128)) {
        void *block = NULL;
        status = gp_alloc_from_pool_async(&block, KIB(128), pool, stream);
    }

    cr_assert(eq(int, (int)status, (int)GP_ERR_LIMIT));
    cr_assert(eq(sz, bytes - KIB(128), MIB(8)));
}

Test(budget, chunks_that_are_free_again_do_not_count)
{
    cudaStream_t stream = stream_with(MIB(8));
    void *blocks[32];
    for (int i = 0; i < 32; i++)
        blocks[i] = pool_alloc(KIB(256), stream);
    for (int i = 0; i < 32; i++)
        pool_free(blocks[i], stream);
    pool_settle();

    pool_use(MIB(8), stream);
}

Test(budget, below_a_chunk_still_serves_small_blocks)
{
    cudaStream_t stream = stream_with(KIB(256));

    void *first = pool_alloc(KIB(1), stream);
    void *second = pool_alloc(KIB(100), stream);

    pool_free(first, stream);
    pool_free(second, stream);
}

/* ---- what makes room ---- */

Test(budget, memory_that_the_stream_keeps_serves_it)
{
    cudaStream_t stream = stream_with(MIB(64));
    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(MIB(48), stream);

    pool_use(MIB(48), stream);
    pool_use(MIB(20), stream);

    pool_open_gate(gate);
}

Test(budget, memory_that_the_stream_keeps_goes_to_others_for_a_request_of_another_size)
{
    cudaStream_t stream = stream_with(MIB(64));
    pool_use(MIB(48), stream);
    SIM(gp_sim_stream_synchronize(stream));

    pool_use(MIB(60), stream);
}

static bool lift(void *user, gp_pool *from, size_t bytes)
{
    (void)bytes;
    GP(gp_stream_set_budget(from, *(cudaStream_t *)user, 0));
    return true;
}

Test(budget, may_be_lifted_by_the_callers_callback)
{
    cudaStream_t stream = NULL;
    gp_pool_config config = pool_config();
    config.on_pressure = lift;
    config.pressure_user = &stream;
    pool_reopen(NULL, &config);
    stream = stream_with(MIB(8));

    pool_use(MIB(30), stream);
}

/* ---- whose it is ---- */

Test(budget, of_the_config_is_every_streams_until_it_gets_its_own)
{
    gp_pool_config config = pool_config();
    config.stream_budget_bytes = MIB(16);
    pool_reopen(NULL, &config);
    cudaStream_t streams[3] = {pool_attached_stream(), pool_stream(), pool_attached_stream()};

    for (int i = 0; i < 3; i++) {
        pool_use(MIB(16), streams[i]);
        SIM(gp_sim_stream_synchronize(streams[i]));
        expect_past_budget(MIB(17), streams[i]);
    }
    GP(gp_stream_set_budget(pool, streams[1], MIB(32)));
    GP(gp_stream_set_budget(pool, streams[2], 0));

    expect_past_budget(MIB(17), streams[0]);
    pool_use(MIB(32), streams[1]);
    expect_past_budget(MIB(33), streams[1]);
    pool_use(MIB(100), streams[2]);
}

Test(budget, does_not_pass_to_the_stream_that_inherits)
{
    cudaStream_t first = stream_with(MIB(8));
    pool_use(MIB(8), first);
    GP(gp_stream_detach(pool, first));
    cudaStream_t heir = pool_attached_stream();
    cr_assert(eq(u32, pool_stats().streams, 1));

    pool_use(MIB(30), heir);
}
