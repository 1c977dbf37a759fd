/* What a tool hears of each block, of the counters, and of streams' names. */
#include "nvtx_fixture.h"

#include <pthread.h>

TestSuite(nvtx_blocks, .init = nvtx_open, .fini = nvtx_close);

/* ---- level 2 ---- */

static uint64_t field(const recorded *event, const char *name)
{
    uint64_t value = 0;
    cr_assert(recorder_field(event, name, &value), "%s has no %s", event->text, name);
    return value;
}

static void expect_text_field(const char *expected, const recorded *event, const char *name)
{
    char text[RECORDED_PAYLOAD_BYTES] = "";
    cr_assert(recorder_text_field(event, name, text));
    nvtx_expect_text(expected, text);
}

Test(nvtx_blocks, tells_of_each_block_what_there_is_to_tell)
{
    nvtx_reopen(GP_TRACE_ALL);
    cudaStream_t stream = pool_attached_stream();
    GP(gp_stream_set_name(pool, stream, "decoder"));

    void *block = pool_alloc(1000, stream);
    pool_free(block, stream);

    const recorded *came = nvtx_said("alloc.native");
    cr_assert(eq(u64, field(came, "bytes"), 1000));
    cr_assert(eq(u64, field(came, "block_bytes"), 1024));
    cr_assert(eq(u64, field(came, "address"), (uint64_t)(uintptr_t)block));
    cr_assert(eq(u64, field(came, "stream_id"), pool_stream_id(stream)));
    cr_assert(eq(u64, field(came, "tier"), GP_TIER_NATIVE));
    nvtx_expect_text("native", recorder_enum_field(came, "tier"));
    expect_text_field("cache_first", came, "policy");
    expect_text_field("decoder", came, "tag");
    const recorded *went = nvtx_said("free.l1");
    cr_assert(eq(u64, field(went, "bytes"), 1024));
    cr_assert(eq(u64, field(went, "address"), (uint64_t)(uintptr_t)block));
    nvtx_expect_text("l1", recorder_enum_field(went, "tier"));
}

Test(nvtx_blocks, shows_each_alloc_and_free_at_level_2_the_slow_ones_around_what_they_do)
{
    nvtx_reopen(GP_TRACE_ALL);
    cudaStream_t stream = pool_attached_stream();

    pool_use(KIB(1), stream);
    nvtx_expect_value("alloc", KIB(1));
    nvtx_expect_inside("miss", "alloc");
    nvtx_expect_inside("alloc.native", "alloc");
    for (int i = 0; i < 19; i++)
        pool_use(KIB(1), stream);
    pool_use(MIB(8), stream);

    cr_assert(eq(sz, recorder_count_text("alloc.native"), 2));
    cr_assert(eq(sz, recorder_count_text("alloc.l1"), 19));
    cr_assert(eq(sz, recorder_count_text("free.l1"), 20));
    cr_assert(eq(sz, recorder_count_text("alloc"), 2));
    nvtx_expect_value("free", MIB(8));
    nvtx_expect_inside("free.l2", "free");
    cr_assert(eq(int, (int)nvtx_said("alloc.l1")->as, (int)RECORDED_PUSH));
}

Test(nvtx_blocks, names_the_tier_that_served)
{
    nvtx_reopen(GP_TRACE_ALL);
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    void *block = NULL;

    pool_use(MIB(8), stream);
    pool_use(MIB(8), stream);
    (void)nvtx_said("alloc.l2");
    block = pool_alloc(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_free(block, stream);
    pool_use(MIB(8), other);
    (void)nvtx_said("alloc.waited");
    pool_open_gate(gate);
    pool_settle();
    pool_use(MIB(8), stream);
    (void)nvtx_said("alloc.shared");
}

Test(nvtx_blocks, tells_of_blocks_that_are_native_allocations_each)
{
    gp_pool_config config = nvtx_config(GP_TRACE_ALL);
    config.pass_through = true;
    pool_reopen(NULL, &config);

    pool_use(1000, pool_stream());

    cr_assert(eq(u64, field(nvtx_said("alloc.native"), "block_bytes"), 1000));
    cr_assert(eq(u64, field(nvtx_said("free.native"), "bytes"), 1000));
    nvtx_expect_value("native.alloc", 1000);
    nvtx_expect_value("native.free", 1000);
    nvtx_expect_inside("native.alloc", "alloc");
    nvtx_expect_inside("native.free", "free");
}

Test(nvtx_blocks, names_where_a_freed_block_goes_and_what_is_used)
{
    nvtx_reopen(GP_TRACE_ALL);
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(KIB(1), stream);
    gp_sim_gate gate = pool_close_gate(user);

    GP(gp_record_use(block, user));
    pool_free(block, stream);
    pool_open_gate(gate);

    cr_assert(eq(int, (int)nvtx_said("use")->as, (int)RECORDED_MARK));
    cr_assert(eq(u64, field(nvtx_said("use"), "stream_id"), pool_stream_id(user)));
    (void)nvtx_said("free.waited");
}

Test(nvtx_blocks, tells_of_blocks_of_a_capture_and_of_an_allocation_that_fails)
{
    gp_pool_config config = nvtx_config(GP_TRACE_ALL);
    config.max_bytes = MIB(4);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    void *eager = pool_alloc(KIB(1), stream);
    void *none = NULL;
    gp_sim_graph graph = NULL;

    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    pool_use(MIB(1), stream);
    pool_free(eager, stream);
    SIM(gp_sim_end_capture(stream, &graph));
    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(8), pool, stream));
    SIM(gp_sim_graph_destroy(graph));

    cr_assert(eq(u64, field(nvtx_said("alloc.node"), "bytes"), MIB(1)));
    (void)nvtx_said("free.node");
    cr_assert(eq(u64, field(nvtx_said("free.parked"), "bytes"), KIB(1)));
    cr_assert(eq(u64, field(nvtx_said("alloc.failed"), "bytes"), MIB(8)));
    cr_assert(eq(u64, field(nvtx_said("alloc.failed"), "address"), 0));
}

static void *churn(void *stream)
{
    for (int i = 0; i < 300; i++) {
        pool_use(KIB(1), stream);
        pool_use(KIB(700), stream);
    }
    return NULL;
}

Test(nvtx_blocks, keeps_the_ranges_of_each_thread_apart)
{
    nvtx_reopen(GP_TRACE_ALL);
    pthread_t threads[4];
    bool seen[64] = {false};
    int count = 0;

    for (int i = 0; i < 4; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, churn, pool_attached_stream()), 0));
    for (int i = 0; i < 100; i++)
        GP(gp_pool_set_trace_level(pool, i % 2 == 0 ? GP_TRACE_SLOW : GP_TRACE_ALL));
    for (int i = 0; i < 4; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    for (size_t i = 0; i < recorder_count(); i++)
        seen[recorder_at(i)->thread] = true;
    for (int i = 0; i < 64; i++)
        count += seen[i];
    cr_assert(le(int, 4, count));
}

/* ---- counters ---- */

static double value_of(const char *end)
{
    const recorded_counter *counter = recorder_counter(end);
    cr_assert(ne(ptr, (void *)(uintptr_t)counter, NULL), "no counter %s", end);
    return counter->value;
}

Test(nvtx_blocks, shows_counters_that_agree_with_the_statistics)
{
    cudaStream_t stream = pool_attached_stream();
    void *block = pool_alloc(MIB(8), stream);
    pool_use(MIB(2), stream);

    const size_t before = recorder_counter(": live")->samples;
    while (recorder_counter(": live")->samples == before)
        GP(gp_pool_trim_to(pool, SIZE_MAX));

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(dbl, value_of(": live"), (double)stats.live_bytes));
    cr_assert(eq(dbl, value_of(": cached"), (double)stats.cached_bytes));
    cr_assert(eq(dbl, value_of(": reserved"), (double)stats.reserved_bytes));
    cr_assert(epsilon_eq(dbl, value_of(": idle share"),
                         100.0 * (double)stats.cached_bytes / (double)stats.reserved_bytes, 1e-9));
    nvtx_expect_text("bytes", recorder_counter(": live")->unit);
    nvtx_expect_text("bytes", recorder_counter(": cached")->unit);
    nvtx_expect_text("bytes", recorder_counter(": reserved")->unit);
    nvtx_expect_text("%", recorder_counter(": idle share")->unit);
    pool_free(block, stream);
}

Test(nvtx_blocks, shows_hit_rates_of_what_came_since_the_last_sample)
{
    const gp_trace_sink *sink = gp_trace_nvtx();
    const gp_trace_pool from = {
        .struct_bytes = sizeof(from), .number = 77, .policy = "a policy with a name that is long"};
    const gp_trace_sample first = {.requests = 100, .l1_hits = 60, .l2_hits = 30};
    const gp_trace_sample second = {.requests = 200, .l1_hits = 150, .l2_hits = 35};
    void *state = NULL;

    GP(sink->open(&state, &from, NULL));
    sink->sample(state, &first);
    cr_assert(eq(dbl, value_of("pool 77: L1 hit rate"), 60.0));
    cr_assert(eq(dbl, value_of("pool 77: L2 hit rate"), 75.0));
    sink->sample(state, &second);
    sink->sample(state, &second);
    sink->close(state);

    cr_assert(eq(dbl, value_of("pool 77: L1 hit rate"), 90.0));
    cr_assert(eq(dbl, value_of("pool 77: L2 hit rate"), 50.0));
    nvtx_expect_text("%", recorder_counter("pool 77: L1 hit rate")->unit);
    nvtx_expect_text("%", recorder_counter("pool 77: L2 hit rate")->unit);
    cr_assert(eq(sz, recorder_counter("pool 77: L1 hit rate")->samples, 3));
}

/* ---- names ---- */

#if GP_NAMES_STREAMS
Test(nvtx_blocks, names_its_own_stream_and_the_users_only_when_asked)
{
    cudaStream_t named = pool_attached_stream();
    cudaStream_t unnamed = pool_attached_stream();
    pool_use(MIB(1), named);
    pool_use(MIB(1), unnamed);
    cr_assert(eq(sz, recorder_stream_names(), 1)); /* gp's own */

    GP(gp_stream_set_name(pool, named, "decoder"));

    cr_assert(eq(sz, recorder_stream_names(), 2));
    nvtx_expect_text("decoder", recorder_stream_name(named));
    cr_assert(eq(ptr, (void *)(uintptr_t)recorder_stream_name(unnamed), NULL));
}
#endif
