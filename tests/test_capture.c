/*
 * Captures: what gp does on a stream that captures becomes part of the graph, and
 * what it does anywhere else leaves the capture alone.
 */
#include "pool_fixture.h"

TestSuite(capture, .init = pool_open, .fini = pool_close);

static const gp_sim_capture_mode modes[] = {GP_SIM_CAPTURE_GLOBAL, GP_SIM_CAPTURE_THREAD_LOCAL,
                                            GP_SIM_CAPTURE_RELAXED};

static void begin(cudaStream_t stream, gp_sim_capture_mode mode)
{
    SIM(gp_sim_begin_capture(stream, mode));
}

static void expect_capturing(cudaStream_t stream)
{
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    SIM(gp_sim_stream_is_capturing(stream, &status));
    cr_assert(eq(int, (int)status, (int)GP_SIM_CAPTURE_ACTIVE));
}

/* The capture survived: it ends in a graph, which runs. */
static void finish(cudaStream_t stream, int launches)
{
    gp_sim_graph graph = NULL;
    expect_capturing(stream);
    SIM(gp_sim_end_capture(stream, &graph));
    for (int i = 0; i < launches; i++)
        SIM(gp_sim_graph_launch(graph, stream));
    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
}

/* ---- on the stream that captures ---- */

Test(capture, allocations_and_frees_become_nodes_of_the_graph)
{
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = pool_stream();
        pool_use(MIB(1), stream); /* a cached block that would fit */
        gp_pool_stats before = pool_stats();

        begin(stream, modes[i]);
        pool_use(MIB(1), stream);
        pool_use(KIB(1), stream);
        finish(stream, 3);

        gp_pool_stats after = pool_stats();
        cr_assert(eq(u64, after.captured, before.captured + 4));
        cr_assert(eq(u64, after.requests, before.requests));
        cr_assert(eq(u64, after.live_bytes, 0));
        cr_assert(eq(u64, after.reserved_bytes, before.reserved_bytes));
    }
}

Test(capture, of_zero_bytes_and_null_stays_out_of_the_graph)
{
    cudaStream_t stream = pool_stream();
    void *none = (void *)(uintptr_t)1;
    begin(stream, GP_SIM_CAPTURE_GLOBAL);

    GP(gp_alloc_from_pool_async(&none, 0, pool, stream));
    GP(gp_free_async(none, stream));

    cr_assert(eq(ptr, none, NULL));
    finish(stream, 1);
    cr_assert(eq(u64, pool_stats().captured, 0));
}

Test(capture, announced_on_an_attached_stream_passes_through)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(1), stream);

    GP(gp_capture_begin(pool, stream));
    begin(stream, GP_SIM_CAPTURE_GLOBAL);
    pool_use(MIB(1), stream);
    finish(stream, 3);
    GP(gp_capture_end(pool, stream));
    pool_use(MIB(1), stream);

    cr_assert(eq(u64, pool_stats().captured, 2));
}

/* C23: the library thought that the capture was over, or not begun, a moment too soon. */
Test(capture, announced_early_or_late_is_asked_of_the_driver_meanwhile)
{
    cudaStream_t stream = pool_attached_stream();

    GP(gp_capture_begin(pool, stream));
    pool_use(KIB(4), stream); /* announced, not begun: eager */
    begin(stream, GP_SIM_CAPTURE_GLOBAL);
    pool_use(KIB(4), stream);
    finish(stream, 1);
    pool_use(KIB(4), stream); /* over, not announced: eager */
    GP(gp_capture_end(pool, stream));

    cr_assert(eq(u64, pool_stats().requests, 2));
    cr_assert(eq(u64, pool_stats().captured, 2));
}

Test(capture, cannot_be_announced_on_a_stream_that_is_not_attached)
{
    cudaStream_t stream = pool_stream();

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_capture_begin(pool, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_capture_end(pool, stream));
    FAILS(GP_ERR_INVALID_POOL, gp_capture_begin((gp_pool *)(uintptr_t)0x1000, stream));
}

Test(capture, free_of_a_graphs_block_outside_the_capture_is_the_drivers_to_judge)
{
    cudaStream_t stream = pool_stream();
    gp_sim_graph graph = NULL;
    begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *block = pool_alloc(MIB(2), stream);
    pool_write(block, MIB(2), stream);
    SIM(gp_sim_end_capture(stream, &graph));

    /* C26: not launched, so there is nothing to free. */
    cr_assert(ne(int, (int)gp_free_async(block, stream), (int)GP_OK));
    SIM(gp_sim_graph_launch(graph, stream));
    GP(gp_free_async(block, stream));
    cr_assert(ne(int, (int)gp_free_async(block, stream), (int)GP_OK));

    SIM(gp_sim_graph_launch(graph, stream));
    GP(gp_free_async(block, stream));
    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

/* C22: the request cannot be met, which must not cost the user the capture. */
Test(capture, survives_an_allocation_that_fails)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t other = pool_stream();
    void *held = pool_alloc(GIB(3), other);
    pool_use(MIB(256), other);
    begin(stream, GP_SIM_CAPTURE_GLOBAL);
    gp_sim_fail(GP_SIM_FN_MALLOC, 1, 1, 2);

    void *none = NULL;
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, MIB(512), pool, stream));
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(3), pool, other));
    pool_use(KIB(4), stream);

    finish(stream, 2);
    pool_free(held, other);
}

Test(capture, refuses_to_record_a_use_on_the_stream_that_captures)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t home = pool_stream();
    void *block = pool_alloc(MIB(1), home);
    begin(stream, GP_SIM_CAPTURE_THREAD_LOCAL);

    FAILS(GP_ERR_CAPTURE, gp_record_use(block, stream));

    pool_free(block, home); /* C21: and nothing recorded in a capture is ever queried */
    pool_use(MIB(1), home);
    finish(stream, 1);
    pool_use(MIB(1), home);
}

/* While other work is held back, so that nothing may be waited for. */
static void finish_now(cudaStream_t stream)
{
    gp_sim_graph graph = NULL;
    expect_capturing(stream);
    SIM(gp_sim_end_capture(stream, &graph));
    SIM(gp_sim_graph_destroy(graph));
}

/* The capture's end frees the block, behind the uses that were recorded before. */
static void reuse_after_capture(size_t bytes)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t user = pool_stream();
    void *block = pool_alloc(bytes, stream);
    pool_write(block, bytes, stream);
    pool_order(stream, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_read(block, bytes, user);
    GP(gp_record_use(block, user));
    begin(stream, GP_SIM_CAPTURE_THREAD_LOCAL);
    GP(gp_free_async(block, stream));
    finish_now(stream);

    void *next = pool_alloc(bytes, stream);
    pool_write(next, bytes, stream);

    pool_open_gate(gate);
    pool_settle();
    pool_free(next, stream);
    GP(gp_pool_check(pool));
}

Test(capture, that_frees_a_used_block_hands_it_out_behind_its_uses_only)
{
    reuse_after_capture(KIB(4));
    reuse_after_capture(MIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

/* It stays parked while its uses cannot be waited for, and is freed with the next call. */
Test(capture, that_frees_a_used_block_keeps_it_while_a_wait_fails)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t user = pool_stream();
    void *block = pool_alloc(MIB(4), stream);
    pool_order(stream, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_read(block, MIB(4), user);
    GP(gp_record_use(block, user));
    begin(stream, GP_SIM_CAPTURE_THREAD_LOCAL);
    GP(gp_free_async(block, stream));
    finish_now(stream);
    gp_sim_fail(GP_SIM_FN_STREAM_WAIT, 1, 1, 999);

    void *other = pool_alloc(MIB(4), stream);
    cr_assert(ne(ptr, other, block));
    pool_write(other, MIB(4), stream);
    pool_free(other, stream);
    pool_open_gate(gate);
    pool_settle();
    pool_use(MIB(4), stream);

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    GP(gp_pool_check(pool));
}

/* The driver issues the handle of a destroyed stream again. */
/* The free waits for a call on the stream after the capture, and the pool ends before one. What
 * used the block may still be under way on its own stream. */
Test(capture, that_frees_a_block_leaves_its_pool_to_end_behind_the_work_on_it)
{
    cudaStream_t capturing = pool_stream();
    cudaStream_t user = pool_stream();
    pool_use(MIB(4), capturing);
    void *block = pool_alloc(MIB(4), user);
    pool_write(block, MIB(4), user);
    GP(gp_record_use(block, user));
    gp_sim_graph graph = NULL;
    begin(capturing, GP_SIM_CAPTURE_RELAXED);
    pool_free(block, capturing);
    SIM(gp_sim_end_capture(capturing, &graph));
    SIM(gp_sim_graph_destroy(graph));

    GP(gp_pool_destroy(pool));
    pool = NULL;
}

Test(capture, that_frees_a_block_gives_it_back_though_another_stream_had_the_handle)
{
    cudaStream_t first = pool_stream();
    pool_use(KIB(4), first);
    pool_drop_stream(first);
    cudaStream_t second = pool_stream();
    cr_assert(eq(ptr, second, first));
    void *block = pool_alloc(MIB(4), second);
    begin(second, GP_SIM_CAPTURE_THREAD_LOCAL);
    GP(gp_free_async(block, second));
    finish(second, 1);

    pool_use(KIB(4), second);

    cr_assert(eq(u64, pool_stats().pending_bytes, 0));
    cr_assert(eq(ptr, pool_alloc(MIB(4), second), block));
    pool_free(block, second);
}

/* ---- beside a stream that captures ---- */

static void do_everything(cudaStream_t stream, cudaStream_t user)
{
    void *shared = pool_alloc(MIB(3), stream);
    pool_order(stream, user);
    pool_read(shared, MIB(3), user);
    GP(gp_record_use(shared, user));
    pool_free(shared, stream);
    for (size_t bytes = 512; bytes <= MIB(64); bytes *= 4) {
        pool_use(bytes, stream);
        void *block = pool_alloc(bytes, stream);
        pool_order(stream, user);
        pool_write(block, bytes, user);
        pool_free(block, user);
    }
    void *none = NULL;
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(8), pool, user));
    GP(gp_pool_trim_to(pool, 0));
    (void)pool_stats();
    GP(gp_pool_check(pool));
}

typedef struct pair {
    cudaStream_t stream, user;
} pair;

static void do_everything_elsewhere(void *argument)
{
    const pair *streams = argument;
    do_everything(streams->stream, streams->user);
}

/* C22, C29: a query, a growth or a trim from anywhere would invalidate the capture. */
Test(capture, survives_everything_that_gp_does_on_other_streams)
{
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = pool_stream();
        pair checked = {pool_stream(), pool_stream()};
        pair attached = {pool_attached_stream(), pool_attached_stream()};
        begin(stream, modes[i]);

        pool_use(MIB(1), stream);
        do_everything(checked.stream, checked.user);
        do_everything(attached.stream, attached.user);
        pool_in_thread(do_everything_elsewhere, &checked);
        pool_in_thread(do_everything_elsewhere, &attached);
        pool_use(MIB(1), stream);

        finish(stream, 2);
    }
}

/* What lies idle on the stream that captures is wanted elsewhere; its handle must not be
 * used for a fence now. */
Test(capture, survives_others_that_want_the_idle_memory_of_its_stream)
{
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = pool_attached_stream();
        cudaStream_t other = pool_attached_stream();
        void *held = pool_alloc(MIB(16), stream);
        pool_use(MIB(24), stream);
        pool_write(held, MIB(16), stream);
        pool_free(held, stream);
        GP(gp_capture_begin(pool, stream));
        begin(stream, modes[i]);

        pool_use(MIB(16), other);
        pool_use(KIB(4), other);
        GP(gp_pool_trim_to(pool, 0));
        pool_in_thread(do_everything_elsewhere, &(pair){other, other});

        finish(stream, 1);
        GP(gp_capture_end(pool, stream));
        pool_use(MIB(16), stream);
    }
}

Test(capture, survives_streams_and_pools_that_come_and_go)
{
    cudaStream_t stream = pool_stream();
    gp_pool_config config = pool_config();
    begin(stream, GP_SIM_CAPTURE_GLOBAL);

    for (int i = 0; i < 5; i++) {
        gp_pool *second = NULL;
        GP(gp_pool_create(&second, &config));
        cudaStream_t passing = pool_attached_stream();
        void *block = NULL;
        GP(gp_stream_attach(second, passing));
        GP(gp_alloc_from_pool_async(&block, MIB(3), second, passing));
        GP(gp_free_async(block, passing));
        pool_use(MIB(3), passing);
        GP(gp_stream_detach(pool, passing));
        GP(gp_stream_detach(second, passing));
        GP(gp_pool_destroy(second));
        pool_drop_stream(passing);
    }

    finish(stream, 1);
}

/* C28: the legacy stream cannot even be asked while a blocking stream captures. */
Test(capture, of_a_blocking_stream_keeps_the_legacy_stream_out)
{
    cudaStream_t blocking = NULL;
    SIM(gp_sim_stream_create(&blocking, false));
    void *held = pool_alloc(KIB(4), NULL);
    void *none = NULL;
    for (int i = 0; i < 3; i++) {
        begin(blocking, modes[i]);

        FAILS(GP_ERR_CAPTURE, gp_alloc_from_pool_async(&none, KIB(4), pool, NULL));
        FAILS(GP_ERR_CAPTURE, gp_free_async(held, NULL));
        FAILS(GP_ERR_CAPTURE, gp_record_use(held, NULL));

        finish(blocking, 1);
    }
    SIM(gp_sim_stream_destroy(blocking));
    pool_free(held, NULL);
    cr_assert(eq(ptr, none, NULL));
}

Test(capture, of_a_non_blocking_stream_leaves_the_legacy_stream_alone)
{
    cudaStream_t stream = pool_stream();
    begin(stream, GP_SIM_CAPTURE_GLOBAL);

    pool_use(KIB(4), NULL);

    finish(stream, 1);
    cr_assert(eq(u64, pool_stats().requests, 1));
}
