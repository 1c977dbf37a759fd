/* What trace sinks hear of each block, inside of captures and outside, and of streams' names. */
#include "arena_fixture.h"
#include "sink_fixture.h"

TestSuite(trace_blocks, .init = ear_open, .fini = ear_close);

/* ---- blocks ---- */

Test(trace_blocks, hears_where_a_block_is_and_how_much_was_asked)
{
    cudaStream_t stream = pool_attached_stream();
    ear_attach(GP_TRACE_ALL);

    void *block = pool_alloc(1000, stream);
    pool_free(block, stream);

    const gp_trace_block *came = hearer_block(&ear, HEARD_ALLOC, 0);
    const gp_trace_block *went = hearer_block(&ear, HEARD_FREE, 0);
    cr_assert(eq(int, (int)came->status, (int)GP_OK));
    cr_assert(eq(ptr, (void *)(uintptr_t)came->address, block));
    cr_assert(eq(ptr, (void *)(uintptr_t)went->address, block));
    cr_assert(eq(sz, came->asked_bytes, 1000));
    cr_assert(eq(sz, came->block_bytes, 1024));
    cr_assert(eq(sz, went->block_bytes, 1024));
    cr_assert(eq(ptr, came->stream, stream));
    cr_assert(eq(u64, came->stream_id, pool_stream_id(stream)));
    cr_assert(eq(u64, went->stream_id, pool_stream_id(stream)));
    cr_assert(eq(u32, came->thread, went->thread));
    cr_assert(lt(u32, 0, came->thread));
}

static void expect_tier(gp_tier tier)
{
    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_ALLOC, 0)->tier, (int)tier));
    hearer_clear(&ear);
}

Test(trace_blocks, hears_which_tier_served)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    ear_attach(GP_TRACE_ALL);

    void *block = pool_alloc(MIB(8), stream);
    expect_tier(GP_TIER_NATIVE);
    pool_write(block, MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_free(block, stream);
    block = pool_alloc(MIB(8), stream);
    expect_tier(GP_TIER_L2);
    pool_free(block, stream);
    block = pool_alloc(MIB(8), other);
    expect_tier(GP_TIER_WAITED);
    pool_open_gate(gate);
    pool_settle();
    pool_free(block, other);
    block = pool_alloc(MIB(8), stream);
    expect_tier(GP_TIER_SHARED);
    pool_free(block, stream);
}

Test(trace_blocks, hears_of_an_allocation_that_fails)
{
    gp_pool_config config = pool_config();
    void *block = NULL;
    config.max_bytes = MIB(4);
    pool_reopen(NULL, &config);
    ear_attach(GP_TRACE_ALL);

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, pool_stream()));

    const gp_trace_block *failed = hearer_block(&ear, HEARD_ALLOC, 0);
    cr_assert(eq(int, (int)failed->status, (int)GP_ERR_LIMIT));
    cr_assert(eq(ptr, (void *)(uintptr_t)failed->address, NULL));
    cr_assert(eq(sz, failed->asked_bytes, MIB(8)));
    cr_assert(eq(sz, failed->block_bytes, 0));
    cr_assert(eq(int, (int)failed->tier, (int)GP_TIER_NONE));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_MARK, GP_TRACE_ALLOC_FAILED)->value, MIB(8)));
    hearer_expect_balance(&ear);
}

Test(trace_blocks, hears_nothing_of_zero_bytes_and_of_refused_frees)
{
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(KIB(1), stream);
    void *none = &none;
    ear_attach(GP_TRACE_ALL);

    GP(gp_alloc_from_pool_async(&none, 0, pool, stream));
    GP(gp_free_async(none, stream));
    FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async((char *)block + 1, stream));

    cr_assert(eq(sz, hearer_count(&ear, HEARD_ALLOC) + hearer_count(&ear, HEARD_FREE), 0));
    pool_free(block, stream);
    hearer_clear(&ear);
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, stream));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_FREE), 0));
}

Test(trace_blocks, hears_of_recorded_uses_and_of_the_free_behind_them)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    ear_attach(GP_TRACE_ALL);
    void *block = pool_alloc(KIB(1), stream);

    gp_sim_gate gate = pool_close_gate(user);
    GP(gp_record_use(block, user));
    pool_free(block, stream);

    const gp_trace_block *use = hearer_block(&ear, HEARD_USE, 0);
    cr_assert(eq(ptr, (void *)(uintptr_t)use->address, block));
    cr_assert(eq(u64, use->stream_id, pool_stream_id(user)));
    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_FREE, 0)->tier, (int)GP_TIER_WAITED));
    pool_open_gate(gate);
}

Test(trace_blocks, hears_of_blocks_that_are_native_allocations_each)
{
    gp_pool_config config = pool_config();
    config.pass_through = true;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_sim_graph graph = NULL;
    ear_attach(GP_TRACE_ALL);

    pool_use(1000, stream);
    void *parked = pool_alloc(KIB(1), stream);
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    pool_free(parked, stream);
    SIM(gp_sim_end_capture(stream, &graph));
    pool_use(KIB(2), stream);

    const gp_trace_block *came = hearer_block(&ear, HEARD_ALLOC, 0);
    const gp_trace_block *went = hearer_block(&ear, HEARD_FREE, 0);
    cr_assert(eq(int, (int)came->tier, (int)GP_TIER_NATIVE));
    cr_assert(eq(sz, came->asked_bytes, 1000));
    cr_assert(eq(sz, came->block_bytes, 1000));
    cr_assert(eq(ptr, (void *)(uintptr_t)went->address, (void *)(uintptr_t)came->address));
    cr_assert(eq(int, (int)went->tier, (int)GP_TIER_NATIVE));
    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_FREE, 1)->tier, (int)GP_TIER_PARKED));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_FREE), 3));
    hearer_expect_balance(&ear);
    SIM(gp_sim_graph_destroy(graph));
}

/* ---- captures ---- */

Test(trace_blocks, hears_of_the_nodes_of_a_capture_once_and_of_what_is_parked)
{
    cudaStream_t stream = pool_stream();
    void *eager = pool_alloc(KIB(1), stream);
    gp_sim_graph graph = NULL;
    ear_attach(GP_TRACE_ALL);

    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    pool_use(MIB(1), stream);
    pool_free(eager, stream);
    SIM(gp_sim_end_capture(stream, &graph));
    SIM(gp_sim_graph_launch(graph, stream));

    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_ALLOC, 0)->tier, (int)GP_TIER_NODE));
    cr_assert(eq(u64, hearer_block(&ear, HEARD_ALLOC, 0)->stream_id, 0));
    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_FREE, 0)->tier, (int)GP_TIER_NODE));
    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_FREE, 1)->tier, (int)GP_TIER_PARKED));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_MARK, GP_TRACE_PARK)->value, KIB(1)));
    pool_use(KIB(2), stream);
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_MARK, GP_TRACE_UNPARK), 1));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_FREE), 3));
    SIM(gp_sim_graph_destroy(graph));
}

Test(trace_blocks, hears_of_an_arena_and_its_blocks)
{
    gp_pool_config config = pool_config();
    config.capture = GP_CAPTURE_ARENA;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    ear_attach(GP_TRACE_ALL);

    GP(gp_capture_begin(pool, stream));
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    pool_use(KIB(1), stream);
    gp_sim_graph graph = arena_finish(stream);
    GP(gp_capture_end(pool, stream));
    GP(gp_arena_release(arena, stream));

    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_ALLOC, 0)->tier, (int)GP_TIER_ARENA));
    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_FREE, 0)->tier, (int)GP_TIER_ARENA));
    cr_assert(eq(sz, hearer_block(&ear, HEARD_FREE, 0)->block_bytes, KIB(1)));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_FREE), 1));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_MARK, GP_TRACE_CAPTURE_BEGIN), 1));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_MARK, GP_TRACE_CAPTURE_END), 1));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_MARK, GP_TRACE_ARENA_TAKE)->value, MIB(2)));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_MARK, GP_TRACE_ARENA_GIVE)->value, MIB(2)));
    SIM(gp_sim_graph_destroy(graph));
}

/* ---- names ---- */

static void expect_name(const char *expected, const char *name)
{
    cr_assert(eq(str, (char *)(uintptr_t)name, (char *)(uintptr_t)expected));
}

Test(trace_blocks, hears_the_name_of_a_stream_and_with_each_of_its_events)
{
    cudaStream_t stream = pool_attached_stream();
    ear_attach(GP_TRACE_ALL);

    GP(gp_stream_set_name(pool, stream, "decoder"));
    pool_use(KIB(1), stream);

    cr_assert(eq(ptr, hearer_name(&ear, 0)->stream.stream, stream));
    cr_assert(eq(u64, hearer_name(&ear, 0)->stream.stream_id, pool_stream_id(stream)));
    expect_name("decoder", hearer_name(&ear, 0)->name);
    expect_name("decoder", hearer_event(&ear, HEARD_BEGIN, GP_TRACE_MISS)->stream_name);
    expect_name("decoder", hearer_block(&ear, HEARD_ALLOC, 0)->stream_name);
    expect_name("decoder", hearer_block(&ear, HEARD_FREE, 0)->stream_name);
}

Test(trace_blocks, hears_no_name_of_a_stream_that_lost_it_or_of_another)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    GP(gp_stream_set_name(pool, stream, "decoder"));
    ear_attach(GP_TRACE_ALL);

    GP(gp_stream_set_name(pool, stream, NULL));
    pool_use(KIB(1), stream);
    pool_use(KIB(1), other);

    cr_assert(eq(ptr, (void *)(uintptr_t)hearer_block(&ear, HEARD_ALLOC, 0)->stream_name, NULL));
    cr_assert(eq(ptr, (void *)(uintptr_t)hearer_block(&ear, HEARD_ALLOC, 1)->stream_name, NULL));
}

Test(trace_blocks, hears_no_name_of_a_stream_that_inherits_a_cache)
{
    cudaStream_t first = pool_attached_stream();
    GP(gp_stream_set_name(pool, first, "first"));
    pool_use(KIB(1), first);
    GP(gp_stream_detach(pool, first));
    pool_drop_stream(first);
    pool_settle();
    ear_attach(GP_TRACE_ALL);

    pool_use(KIB(1), pool_attached_stream());

    cr_assert(eq(u32, pool_stats().streams, 1));
    cr_assert(eq(ptr, (void *)(uintptr_t)hearer_block(&ear, HEARD_ALLOC, 0)->stream_name, NULL));
}

Test(trace_blocks, hears_the_name_of_the_pools_own_stream_early_and_late)
{
    static hearer late;
    ear_attach(GP_TRACE_SLOW);
    pool_use(MIB(2), pool_attached_stream());
    GP(gp_trace_attach(pool, &hearing_sink, &late, GP_TRACE_OFF));

    expect_name("gp: native pool", hearer_name(&ear, 0)->name);
    expect_name("gp: native pool", hearer_name(&late, 0)->name);
    cr_assert(eq(u64, hearer_name(&late, 0)->stream.stream_id, 0));
    GP(gp_trace_detach(pool, &hearing_sink, &late));
    hearer_free(&late);
}

Test(trace_blocks, names_that_no_report_could_show_are_refused)
{
    cudaStream_t stream = pool_stream();

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_stream_set_name(pool, stream, ""));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_stream_set_name(pool, stream, "a\nb"));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_stream_set_name(pool, stream, "24 bytes and no end of it"));
    GP(gp_stream_set_name(pool, stream, "23 bytes and one for it"));
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    FAILS(GP_ERR_CAPTURE, gp_stream_set_name(pool, stream, "captured"));
    gp_sim_graph graph = NULL;
    SIM(gp_sim_end_capture(stream, &graph));
    SIM(gp_sim_graph_destroy(graph));
}
