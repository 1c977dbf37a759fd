/* What trace sinks hear of the slow path, and of the counters on it. */
#include "sink_fixture.h"

TestSuite(trace_slow_path, .init = ear_open, .fini = ear_close);

/* ---- the slow path ---- */

static void expect_range(gp_trace_kind kind)
{
    cr_assert(ge(sz, hearer_count_kind(&ear, HEARD_BEGIN, kind), 1), "no range of kind %d",
              (int)kind);
}

Test(trace_slow_path, hears_growth_with_its_bytes_and_the_native_calls_inside)
{
    ear_attach(GP_TRACE_SLOW);

    pool_use(MIB(7), pool_attached_stream());

    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_MISS)->value, MIB(7)));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_GROW)->value, MIB(8)));
    cr_assert(eq(u64, hearer_event(&ear, HEARD_BEGIN, GP_TRACE_NATIVE_ALLOC)->value, MIB(8)));
    expect_range(GP_TRACE_NATIVE_WAIT);
    expect_range(GP_TRACE_JOIN);
    expect_range(GP_TRACE_SHARE);
    hearer_expect_balance(&ear);
}

Test(trace_slow_path, hears_each_step_of_a_trim)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(8), stream);
    pool_settle();
    ear_attach(GP_TRACE_SLOW);

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

Test(trace_slow_path, hears_each_step_of_the_ladder_when_memory_is_out)
{
    gp_pool_config config = pool_config();
    void *block = NULL;
    config.max_bytes = MIB(4);
    config.on_pressure = decline;
    pool_reopen(NULL, &config);
    pool_use(KIB(1), pool_attached_stream());
    ear_attach(GP_TRACE_SLOW);

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, pool_attached_stream()));

    expect_range(GP_TRACE_SQUEEZE);
    expect_range(GP_TRACE_OOM);
    expect_range(GP_TRACE_OOM_WAIT);
    expect_range(GP_TRACE_RELEASE);
    expect_range(GP_TRACE_PRESSURE);
    hearer_expect_balance(&ear);
}

Test(trace_slow_path, hears_refills_flushes_reservations_and_queued_waits)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    const gp_reserve_entry plan = {.bytes = KIB(1), .count = 200};
    ear_attach(GP_TRACE_SLOW);

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

Test(trace_slow_path, gets_no_more_samples_than_the_config_says)
{
    gp_pool_config config = pool_config();
    config.trace_sample_us = 1000000;
    pool_reopen(NULL, &config);
    ear_attach(GP_TRACE_ALL);

    for (int i = 0; i < 100; i++)
        pool_use(KIB(1), pool_attached_stream());

    cr_assert(lt(sz, 0, ear.samples));
    cr_assert(le(sz, ear.samples, 5)); /* on a machine that takes seconds for this */
}

Test(trace_slow_path, gets_samples_that_agree_with_the_statistics)
{
    cudaStream_t stream = pool_attached_stream();
    ear_attach(GP_TRACE_SLOW);
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
