/* Trace sinks: what a pool tells, at which level, and that nobody is told afterwards. */
#include "arena_fixture.h"
#include "sink_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static hearer ear;

static void attach(gp_trace_level level)
{
    GP(gp_trace_attach(pool, &hearing_sink, &ear, level));
}

/* A tool that the tests themselves run under has no part in this. */
static void open_alone(void)
{
    setenv("GP_TRACE_LEVEL", "0", 1);
    pool_open();
}

static void close_all(void)
{
    pool_close();
    hearer_free(&ear);
}

TestSuite(trace_sink, .init = open_alone, .fini = close_all);

/* ---- coming and going ---- */

Test(trace_sink, is_opened_with_its_pool_and_closed_when_it_is_detached)
{
    attach(GP_TRACE_SLOW);

    cr_assert(eq(sz, ear.opened, 1));
    cr_assert(eq(int, ear.pool.device, 0));
    cr_assert(eq(str, (char *)(uintptr_t)ear.pool.policy, "cache_first"));
    cr_assert(lt(u32, 0, ear.pool.number));
    GP(gp_trace_detach(pool, &hearing_sink, &ear));
    cr_assert(eq(sz, ear.closed, 1));

    pool_use(MIB(8), pool_stream());
    cr_assert(eq(sz, ear.count, 0));
}

Test(trace_sink, is_closed_by_the_end_of_the_pool_after_hearing_of_it)
{
    attach(GP_TRACE_SLOW);

    GP(gp_pool_destroy(pool));
    pool = NULL;

    cr_assert(eq(sz, ear.closed, 1));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_END, GP_TRACE_POOL_DESTROY), 1));
    hearer_expect_balance(&ear);
}

Test(trace_sink, attached_twice_or_unknown_is_refused)
{
    static hearer others[GP_TRACE_MOST_SINKS];
    attach(GP_TRACE_SLOW);

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_attach(pool, &hearing_sink, &ear, GP_TRACE_ALL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_detach(pool, &hearing_sink, &others[0]));
    FAILS(GP_ERR_INVALID_ARGUMENT,
          gp_trace_set_level(pool, &hearing_sink, &others[0], GP_TRACE_OFF));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_attach(pool, NULL, NULL, GP_TRACE_ALL));
    FAILS(GP_ERR_INVALID_ARGUMENT,
          gp_trace_attach(pool, &hearing_sink, &others[0], (gp_trace_level)3));
    FAILS(GP_ERR_INVALID_POOL, gp_trace_attach(NULL, &hearing_sink, &ear, GP_TRACE_ALL));
    for (int i = 1; i < GP_TRACE_MOST_SINKS; i++)
        GP(gp_trace_attach(pool, &hearing_sink, &others[i], GP_TRACE_ALL));
    FAILS(GP_ERR_BUSY, gp_trace_attach(pool, &hearing_sink, &others[0], GP_TRACE_ALL));

    cr_assert(eq(sz, ear.opened, 2)); /* once in vain, */
    cr_assert(eq(sz, ear.closed, 1)); /* and then closed */
}

static gp_status refuse(void **state, const gp_trace_pool *from, void *user)
{
    (void)state;
    (void)from;
    (void)user;
    return GP_ERR_UNSUPPORTED;
}

Test(trace_sink, that_cannot_be_opened_is_not_attached)
{
    gp_trace_sink sink = hearing_sink;
    sink.open = refuse;

    FAILS(GP_ERR_UNSUPPORTED, gp_trace_attach(pool, &sink, &ear, GP_TRACE_ALL));
    pool_use(MIB(8), pool_stream());

    cr_assert(eq(sz, ear.count, 0));
    cr_assert(eq(sz, ear.closed, 0));
}

Test(trace_sink, of_another_version_or_without_a_name_is_refused)
{
    gp_trace_sink older = hearing_sink;
    gp_trace_sink newer = hearing_sink;
    gp_trace_sink nameless = hearing_sink;
    older.struct_bytes = 8;
    newer.struct_bytes += 8;
    nameless.name = NULL;

    FAILS(GP_ERR_VERSION_MISMATCH, gp_trace_attach(pool, &older, &ear, GP_TRACE_ALL));
    FAILS(GP_ERR_VERSION_MISMATCH, gp_trace_attach(pool, &newer, &ear, GP_TRACE_ALL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_attach(pool, &nameless, &ear, GP_TRACE_ALL));
}

Test(trace_sink, may_leave_every_slot_empty)
{
    const gp_trace_sink empty = {.struct_bytes = sizeof(empty), .name = "empty"};
    cudaStream_t stream = pool_stream();

    GP(gp_trace_attach(pool, &empty, NULL, GP_TRACE_ALL));
    pool_use(KIB(1), stream);
    pool_use(KIB(1), stream);
    pool_use(MIB(8), stream);
    GP(gp_pool_trim_to(pool, 0));

    GP(gp_trace_detach(pool, &empty, NULL));
}

/* ---- levels ---- */

Test(trace_sink, hears_nothing_but_names_when_off)
{
    attach(GP_TRACE_OFF);

    pool_use(KIB(1), pool_stream());
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(sz, ear.count, hearer_count(&ear, HEARD_NAME)));
    cr_assert(eq(sz, ear.samples, 0));
}

Test(trace_sink, hears_the_slow_path_without_blocks_at_the_middle_level)
{
    cudaStream_t stream = pool_attached_stream();
    attach(GP_TRACE_SLOW);

    for (int i = 0; i < 20; i++)
        pool_use(KIB(1), stream);

    cr_assert(eq(sz, hearer_count(&ear, HEARD_ALLOC), 0));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_FREE), 0));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_BEGIN, GP_TRACE_ALLOC), 0));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_BEGIN, GP_TRACE_MISS), 1));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_BEGIN, GP_TRACE_GROW), 1));
    hearer_expect_balance(&ear);
}

Test(trace_sink, hears_each_alloc_and_free_at_the_highest_level_hits_too)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(KIB(1), stream);
    attach(GP_TRACE_ALL);

    for (int i = 0; i < 20; i++)
        pool_use(KIB(1), stream);

    cr_assert(eq(sz, hearer_count(&ear, HEARD_ALLOC), 20));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_FREE), 20));
    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_ALLOC, 19)->tier, (int)GP_TIER_L1));
    cr_assert(eq(int, (int)hearer_block(&ear, HEARD_FREE, 19)->tier, (int)GP_TIER_L1));
    hearer_expect_balance(&ear);
}

Test(trace_sink, hears_no_more_of_hits_once_the_level_is_lowered)
{
    cudaStream_t stream = pool_attached_stream();
    attach(GP_TRACE_ALL);
    pool_use(KIB(1), stream);
    hearer_clear(&ear);

    GP(gp_trace_set_level(pool, &hearing_sink, &ear, GP_TRACE_SLOW));
    for (int i = 0; i < 20; i++)
        pool_use(KIB(1), stream);

    cr_assert(eq(sz, ear.count, 0));
}

Test(trace_sink, of_each_level_hears_its_own)
{
    static hearer slow;
    cudaStream_t stream = pool_attached_stream();
    attach(GP_TRACE_ALL);
    GP(gp_trace_attach(pool, &hearing_sink, &slow, GP_TRACE_SLOW));

    pool_use(KIB(1), stream);

    cr_assert(eq(sz, hearer_count(&ear, HEARD_ALLOC), 1));
    cr_assert(eq(sz, hearer_count(&slow, HEARD_ALLOC), 0));
    cr_assert(eq(sz, hearer_count_kind(&slow, HEARD_BEGIN, GP_TRACE_MISS), 1));
    GP(gp_trace_detach(pool, &hearing_sink, &slow));
    hearer_free(&slow);
}

/* Lowers the level in the middle of a range: the caller's on_pressure is inside two. */
static bool lower(void *user, gp_pool *from, size_t bytes)
{
    (void)user;
    (void)bytes;
    GP(gp_trace_set_level(from, &hearing_sink, &ear, GP_TRACE_OFF));
    return false;
}

Test(trace_sink, hears_the_end_of_what_it_heard_begin_whatever_the_level_is_then)
{
    gp_pool_config config = pool_config();
    void *block = NULL;
    config.max_bytes = MIB(4);
    config.on_pressure = lower;
    pool_reopen(NULL, &config);
    attach(GP_TRACE_ALL);

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, pool_stream()));

    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_END, GP_TRACE_PRESSURE), 1));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_END, GP_TRACE_ALLOC), 1));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_ALLOC), 0));
    hearer_expect_balance(&ear);
}

/* ---- blocks ---- */

Test(trace_sink, hears_where_a_block_is_and_how_much_was_asked)
{
    cudaStream_t stream = pool_attached_stream();
    attach(GP_TRACE_ALL);

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

Test(trace_sink, hears_which_tier_served)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    attach(GP_TRACE_ALL);

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

Test(trace_sink, hears_of_an_allocation_that_fails)
{
    gp_pool_config config = pool_config();
    void *block = NULL;
    config.max_bytes = MIB(4);
    pool_reopen(NULL, &config);
    attach(GP_TRACE_ALL);

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

Test(trace_sink, hears_nothing_of_zero_bytes_and_of_refused_frees)
{
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(KIB(1), stream);
    void *none = &none;
    attach(GP_TRACE_ALL);

    GP(gp_alloc_from_pool_async(&none, 0, pool, stream));
    GP(gp_free_async(none, stream));
    FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async((char *)block + 1, stream));

    cr_assert(eq(sz, hearer_count(&ear, HEARD_ALLOC) + hearer_count(&ear, HEARD_FREE), 0));
    pool_free(block, stream);
    hearer_clear(&ear);
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, stream));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_FREE), 0));
}

Test(trace_sink, hears_of_recorded_uses_and_of_the_free_behind_them)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    attach(GP_TRACE_ALL);
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

/* ---- captures ---- */

Test(trace_sink, hears_of_the_nodes_of_a_capture_once_and_of_what_is_parked)
{
    cudaStream_t stream = pool_stream();
    void *eager = pool_alloc(KIB(1), stream);
    gp_sim_graph graph = NULL;
    attach(GP_TRACE_ALL);

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

Test(trace_sink, hears_of_an_arena_and_its_blocks)
{
    gp_pool_config config = pool_config();
    config.capture = GP_CAPTURE_ARENA;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    attach(GP_TRACE_ALL);

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

/* ---- the slow path ---- */

static void expect_range(gp_trace_kind kind)
{
    cr_assert(ge(sz, hearer_count_kind(&ear, HEARD_BEGIN, kind), 1), "no range of kind %d",
              (int)kind);
}

Test(trace_sink, hears_growth_with_its_bytes_and_the_native_calls_inside)
{
    attach(GP_TRACE_SLOW);

    pool_use(MIB(7), pool_attached_stream());

    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_MISS)->value, MIB(7)));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_GROW)->value, MIB(8)));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_NATIVE_ALLOC)->value, MIB(8)));
    expect_range(GP_TRACE_NATIVE_WAIT);
    expect_range(GP_TRACE_JOIN);
    expect_range(GP_TRACE_SHARE);
    hearer_expect_balance(&ear);
}

Test(trace_sink, hears_each_step_of_a_trim)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(8), stream);
    pool_settle();
    attach(GP_TRACE_SLOW);

    GP(gp_pool_trim_to(pool, MIB(1)));

    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_TRIM)->value, MIB(1)));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_NATIVE_FREE)->value, MIB(8)));
    expect_range(GP_TRACE_FLUSH_ALL);
    expect_range(GP_TRACE_RELEASE);
    expect_range(GP_TRACE_NATIVE_TRIM);
    hearer_expect_balance(&ear);
}

static bool decline(void *user, gp_pool *from, size_t bytes)
{
    (void)user;
    (void)from;
    (void)bytes;
    return false;
}

Test(trace_sink, hears_each_step_of_the_ladder_when_memory_is_out)
{
    gp_pool_config config = pool_config();
    void *block = NULL;
    config.max_bytes = MIB(4);
    config.on_pressure = decline;
    pool_reopen(NULL, &config);
    pool_use(KIB(1), pool_attached_stream());
    attach(GP_TRACE_SLOW);

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, pool_attached_stream()));

    expect_range(GP_TRACE_SQUEEZE);
    expect_range(GP_TRACE_OOM);
    expect_range(GP_TRACE_OOM_WAIT);
    expect_range(GP_TRACE_RELEASE);
    expect_range(GP_TRACE_PRESSURE);
    hearer_expect_balance(&ear);
}

Test(trace_sink, hears_refills_flushes_reservations_and_queued_waits)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    const gp_reserve_entry plan = {.bytes = KIB(1), .count = 200};
    attach(GP_TRACE_SLOW);

    GP(gp_pool_reserve(pool, stream, &plan, 1));
    void *block = pool_alloc(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_free(block, stream);
    pool_use(MIB(8), other);
    pool_open_gate(gate);

    expect_range(GP_TRACE_RESERVE);
    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_REFILL)->value, KIB(1)));
    cr_assert(lt(u64, 0, hearer_event(&ear, HEARD_MARK, GP_TRACE_FLUSH)->value));
    cr_assert(eq(ptr, hearer_event(&ear, HEARD_MARK, GP_TRACE_STREAM_WAIT)->stream, other));
    hearer_expect_balance(&ear);
}

Test(trace_sink, gets_no_more_samples_than_the_config_says)
{
    gp_pool_config config = pool_config();
    config.trace_sample_us = 1000000;
    pool_reopen(NULL, &config);
    attach(GP_TRACE_ALL);

    for (int i = 0; i < 100; i++)
        pool_use(KIB(1), pool_attached_stream());

    cr_assert(lt(sz, 0, ear.samples));
    cr_assert(le(sz, ear.samples, 5)); /* on a machine that takes seconds for this */
}

Test(trace_sink, gets_samples_that_agree_with_the_statistics)
{
    cudaStream_t stream = pool_attached_stream();
    attach(GP_TRACE_SLOW);
    for (int i = 0; i < 10; i++)
        pool_use(KIB(1), stream);
    void *block = pool_alloc(MIB(8), stream);

    ear.samples = 0;
    while (ear.samples == 0)
        GP(gp_pool_trim_to(pool, SIZE_MAX));

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, ear.sample.live_bytes, stats.live_bytes));
    cr_assert(eq(u64, ear.sample.cached_bytes, stats.cached_bytes));
    cr_assert(eq(u64, ear.sample.reserved_bytes, stats.reserved_bytes));
    cr_assert(eq(u64, ear.sample.requests, stats.requests));
    cr_assert(eq(u64, ear.sample.l1_hits, stats.l1_hits));
    cr_assert(eq(u64, ear.sample.l2_hits, stats.l2_hits));
    pool_free(block, stream);
}

/* ---- names ---- */

static void expect_name(const char *expected, const char *name)
{
    cr_assert(eq(str, (char *)(uintptr_t)name, (char *)(uintptr_t)expected));
}

Test(trace_sink, hears_the_name_of_a_stream_and_with_each_of_its_events)
{
    cudaStream_t stream = pool_attached_stream();
    attach(GP_TRACE_ALL);

    GP(gp_stream_set_name(pool, stream, "decoder"));
    pool_use(KIB(1), stream);

    cr_assert(eq(ptr, hearer_name(&ear, 0)->stream.stream, stream));
    cr_assert(eq(u64, hearer_name(&ear, 0)->stream.stream_id, pool_stream_id(stream)));
    expect_name("decoder", hearer_name(&ear, 0)->name);
    expect_name("decoder", hearer_event(&ear, HEARD_BEGIN, GP_TRACE_MISS)->stream_name);
    expect_name("decoder", hearer_block(&ear, HEARD_ALLOC, 0)->stream_name);
    expect_name("decoder", hearer_block(&ear, HEARD_FREE, 0)->stream_name);
}

Test(trace_sink, hears_no_name_of_a_stream_that_lost_it_or_of_another)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    GP(gp_stream_set_name(pool, stream, "decoder"));
    attach(GP_TRACE_ALL);

    GP(gp_stream_set_name(pool, stream, NULL));
    pool_use(KIB(1), stream);
    pool_use(KIB(1), other);

    cr_assert(eq(ptr, (void *)(uintptr_t)hearer_block(&ear, HEARD_ALLOC, 0)->stream_name, NULL));
    cr_assert(eq(ptr, (void *)(uintptr_t)hearer_block(&ear, HEARD_ALLOC, 1)->stream_name, NULL));
}

Test(trace_sink, hears_no_name_of_a_stream_that_inherits_a_cache)
{
    cudaStream_t first = pool_attached_stream();
    GP(gp_stream_set_name(pool, first, "first"));
    pool_use(KIB(1), first);
    GP(gp_stream_detach(pool, first));
    pool_drop_stream(first);
    pool_settle();
    attach(GP_TRACE_ALL);

    pool_use(KIB(1), pool_attached_stream());

    cr_assert(eq(u32, pool_stats().streams, 1));
    cr_assert(eq(ptr, (void *)(uintptr_t)hearer_block(&ear, HEARD_ALLOC, 0)->stream_name, NULL));
}

Test(trace_sink, hears_the_name_of_the_pools_own_stream_early_and_late)
{
    static hearer late;
    attach(GP_TRACE_SLOW);
    pool_use(MIB(2), pool_attached_stream());
    GP(gp_trace_attach(pool, &hearing_sink, &late, GP_TRACE_OFF));

    expect_name("gp: native pool", hearer_name(&ear, 0)->name);
    expect_name("gp: native pool", hearer_name(&late, 0)->name);
    cr_assert(eq(u64, hearer_name(&late, 0)->stream.stream_id, 0));
    GP(gp_trace_detach(pool, &hearing_sink, &late));
    hearer_free(&late);
}

Test(trace_sink, names_that_no_report_could_show_are_refused)
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

/* ---- threads ---- */

static atomic_bool stop;
static atomic_size_t pairs;
static atomic_bool gone;
static atomic_size_t heard_when_gone;

static void *churn(void *argument)
{
    cudaStream_t stream = argument;
    size_t sizes[] = {KIB(1), KIB(40), MIB(1)};
    for (size_t i = 0; !atomic_load(&stop); i++) {
        void *block = NULL;
        if (gp_alloc_from_pool_async(&block, sizes[i % 3], pool, stream) != GP_OK ||
            gp_free_async(block, stream) != GP_OK)
            return argument;
        atomic_fetch_add(&pairs, 1);
    }
    return NULL;
}

/* Stays inside for a while, so that a detach has something to wait for. */
static void linger(void)
{
    const struct timespec while_inside = {.tv_nsec = 20000};
    (void)nanosleep(&while_inside, NULL);
    if (atomic_load(&gone))
        atomic_fetch_add(&heard_when_gone, 1);
}

static void linger_for_block(void *state, const gp_trace_block *block)
{
    (void)state;
    (void)block;
    linger();
}

static void linger_for_event(void *state, const gp_trace_event *event)
{
    (void)state;
    (void)event;
    linger();
}

Test(trace_sink, is_left_by_every_thread_before_it_counts_as_detached)
{
    const gp_trace_sink sink = {
        .struct_bytes = sizeof(sink),
        .name = "lingering",
        .begin = linger_for_event,
        .end = linger_for_event,
        .alloc = linger_for_block,
        .free = linger_for_block,
    };
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, churn, pool_attached_stream()), 0));

    for (int round = 0; round < 100; round++) {
        GP(gp_trace_attach(pool, &sink, NULL, GP_TRACE_ALL));
        size_t before = atomic_load(&pairs);
        while (atomic_load(&pairs) < before + 10)
            continue;
        GP(gp_trace_detach(pool, &sink, NULL));
        atomic_store(&gone, true);
        before = atomic_load(&pairs);
        while (atomic_load(&pairs) < before + 10)
            continue;
        atomic_store(&gone, false);
    }
    atomic_store(&stop, true);

    for (int i = 0; i < 3; i++) {
        void *failed = NULL;
        cr_assert(eq(int, pthread_join(threads[i], &failed), 0));
        cr_assert(eq(ptr, failed, NULL));
    }
    cr_assert(eq(sz, heard_when_gone, 0));
}

Test(trace_sink, hears_balanced_ranges_of_many_threads_whose_level_changes)
{
    pthread_t threads[3];
    attach(GP_TRACE_OFF);
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, churn, pool_attached_stream()), 0));

    for (int round = 0; round < 60; round++) {
        GP(gp_trace_set_level(pool, &hearing_sink, &ear, (gp_trace_level)(round % 3)));
        size_t before = atomic_load(&pairs);
        while (atomic_load(&pairs) < before + 10)
            continue;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    cr_assert(lt(sz, 0, hearer_count(&ear, HEARD_ALLOC)));
    hearer_expect_balance(&ear);
}

#if GP_CHECKS >= 2
static void call_gp(void *state, const gp_trace_event *range)
{
    (void)state;
    (void)range;
    GP(gp_pool_trim_to(pool, 0));
}

Test(trace_sink, that_calls_gp_is_found_out, .signal = SIGABRT)
{
    const gp_trace_sink sink = {.struct_bytes = sizeof(sink), .name = "bad", .begin = call_gp};
    GP(gp_trace_attach(pool, &sink, NULL, GP_TRACE_SLOW));

    pool_use(MIB(8), pool_stream());
}
#endif
