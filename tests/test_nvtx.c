/*
 * What a tool hears of a pool, by a tool of the tests' own. Each test is a process of its own, for
 * a tool is attached once and for all. Built twice: with gp and the tool linked in, and with both
 * as shared libraries.
 */
#include "arena_fixture.h"
#include "nvtx_recorder.h"
#include "nvtx_user.h"
#include "pool_fixture.h"
#include "seeded_random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- what may be said, and how ---- */

static const struct {
    const char *category;
    uint32_t argb;
} colours[] = {
    {"L1", 0xff76b900u},     {"L2", 0xff1f77b4u},
    {"shared", 0xff17becfu}, {"wait", 0xffff7f0eu},
    {"native", 0xffd62728u}, {"capture", 0xff9467bdu},
    {"pool", 0xff7f7f7fu},   {"out of memory", 0xff8c1515u},
};

static const struct {
    const char *text;
    const char *category;
} words[] = {
    {"alloc", "pool"},
    {"free", "pool"},
    {"alloc.l1", "L1"},
    {"alloc.l2", "L2"},
    {"alloc.shared", "shared"},
    {"alloc.waited", "wait"},
    {"alloc.native", "native"},
    {"alloc.node", "capture"},
    {"alloc.arena", "capture"},
    {"alloc.failed", "out of memory"},
    {"free.l1", "L1"},
    {"free.l2", "L2"},
    {"free.waited", "wait"},
    {"free.node", "capture"},
    {"free.arena", "capture"},
    {"free.parked", "capture"},
    {"use", "pool"},
    {"miss", "pool"},
    {"refill", "L2"},
    {"join", "L2"},
    {"share", "shared"},
    {"grow", "native"},
    {"grow.wait", "wait"},
    {"native.alloc", "native"},
    {"native.free", "native"},
    {"native.wait", "wait"},
    {"native.trim", "native"},
    {"squeeze", "shared"},
    {"release", "native"},
    {"flush.all", "L2"},
    {"trim", "pool"},
    {"reserve", "pool"},
    {"oom", "out of memory"},
    {"oom.wait", "wait"},
    {"pressure", "out of memory"},
    {"pool.create", "pool"},
    {"pool.destroy", "pool"},
    {"flush", "L2"},
    {"stream.wait", "wait"},
    {"capture.begin", "capture"},
    {"capture.end", "capture"},
    {"node.alloc", "capture"},
    {"node.free", "capture"},
    {"park", "capture"},
    {"unpark", "capture"},
    {"arena.take", "capture"},
    {"arena.give", "capture"},
    {"alloc.fails", "out of memory"},
};

static const char *category_of(const char *text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].text, text) == 0)
            return words[i].category;
    }
    cr_fatal("gp says %s, which no documentation mentions", text);
    return NULL;
}

static uint32_t colour_of(const char *category)
{
    size_t i = 0;
    while (strcmp(colours[i].category, category) != 0)
        i++;
    return colours[i].argb;
}

static void expect_text(const char *expected, const char *text)
{
    cr_assert(eq(str, (char *)(uintptr_t)text, (char *)(uintptr_t)expected));
}

/* All that gp said is in the table, with its category and colour; and ranges are closed. */
static void expect_known_words(void)
{
    for (size_t i = 0; i < recorder_count(); i++) {
        const recorded *event = recorder_at(i);
        if (strcmp(event->domain, "gp") != 0)
            continue;
        const char *category = category_of(event->text);
        cr_assert(event->is_registered, "%s", event->text);
        cr_assert(ne(int, (int)event->as, (int)RECORDED_START_END));
        expect_text(category, event->category_name);
        cr_assert(eq(u32, event->argb, colour_of(category)), "%s", event->text);
    }
    cr_assert(recorder_is_balanced());
}

/* ---- set up ---- */

static void open_with_tool(void)
{
    unsetenv("GP_TRACE_LEVEL");
#ifdef NVTX_RECORDER_FILE
    setenv("NVTX_INJECTION64_PATH", NVTX_RECORDER_FILE, 1);
#else
    unsetenv("NVTX_INJECTION64_PATH"); /* It would come before the tool that is linked in. */
#endif
    pool_open();
}

static void close_with_tool(void)
{
    pool_close();
    expect_known_words();
}

TestSuite(nvtx, .init = open_with_tool, .fini = close_with_tool);

static gp_pool_config config_at(gp_trace_level level)
{
    gp_pool_config config = pool_config();
    config.trace_level = level;
    return config;
}

static void reopen_at(gp_trace_level level)
{
    gp_pool_config config = config_at(level);
    pool_reopen(NULL, &config);
    recorder_clear();
}

static const recorded *said(const char *text)
{
    const recorded *event = recorder_find(text, 0);
    cr_assert(ne(ptr, (void *)(uintptr_t)event, NULL), "gp did not say %s", text);
    return event;
}

static void expect_value(const char *text, uint64_t value)
{
    const recorded *event = said(text);
    cr_assert(event->has_value, "%s", text);
    cr_assert(eq(u64, event->value, value), "%s", text);
}

static void expect_no_value(const char *text)
{
    cr_assert(not(said(text)->has_value), "%s", text);
}

/* The first range of this name lies in one of the other. */
static void expect_inside(const char *inner, const char *outer)
{
    const recorded *in = said(inner);
    const recorded *out = said(outer);
    cr_assert(lt(ptr, (void *)(uintptr_t)out, (void *)(uintptr_t)in));
    cr_assert(lt(int, out->depth, in->depth), "%s in %s", inner, outer);
}

/* ---- level 1 ---- */

Test(nvtx, says_that_a_pool_comes_and_goes)
{
    expect_no_value("pool.create");

    GP(gp_pool_destroy(pool));
    pool = NULL;

    expect_no_value("pool.destroy");
    cr_assert(eq(int, (int)said("pool.create")->as, (int)RECORDED_PUSH));
}

Test(nvtx, says_what_growth_takes_and_what_is_inside)
{
    pool_use(MIB(7), pool_attached_stream());

    expect_value("miss", MIB(7));
    expect_value("join", MIB(7));
    expect_value("share", MIB(7));
    expect_value("grow", MIB(8));
    expect_value("native.alloc", MIB(8));
    expect_no_value("native.wait");
    expect_inside("join", "miss");
    expect_inside("share", "miss");
    expect_inside("grow", "miss");
    expect_inside("native.alloc", "grow");
    expect_inside("native.wait", "grow");
}

Test(nvtx, says_what_moves_between_l1_and_l2)
{
    const gp_reserve_entry plan = {.bytes = KIB(1), .count = 200};

    GP(gp_pool_reserve(pool, pool_attached_stream(), &plan, 1));

    expect_value("reserve", 1);
    expect_value("refill", KIB(1));
    expect_inside("refill", "reserve");
    cr_assert(eq(int, (int)said("flush")->as, (int)RECORDED_MARK));
    cr_assert(eq(u64, said("flush")->value % KIB(1), 0));
    cr_assert(lt(u64, 0, said("flush")->value));
}

Test(nvtx, says_what_a_trim_does)
{
    pool_use(MIB(8), pool_attached_stream());
    pool_settle();
    recorder_clear();

    GP(gp_pool_trim_to(pool, MIB(1)));

    expect_value("trim", MIB(1));
    expect_no_value("flush.all");
    expect_value("release", MIB(1));
    expect_value("native.free", MIB(8));
    expect_value("native.trim", MIB(1));
    expect_inside("flush.all", "trim");
    expect_inside("release", "trim");
    expect_inside("native.free", "release");
}

static bool decline(void *user, gp_pool *from, size_t bytes)
{
    (void)user;
    (void)from;
    (void)bytes;
    return false;
}

Test(nvtx, says_each_step_when_memory_is_out)
{
    gp_pool_config config = config_at(GP_TRACE_SLOW);
    void *block = NULL;
    config.max_bytes = MIB(4);
    config.on_pressure = decline;
    pool_reopen(NULL, &config);
    pool_use(KIB(1), pool_attached_stream());
    recorder_clear();

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, pool_attached_stream()));

    expect_value("squeeze", MIB(8));
    expect_value("oom", MIB(8));
    expect_value("oom.wait", MIB(8));
    expect_value("pressure", MIB(8));
    expect_value("alloc.fails", MIB(8));
    expect_inside("oom.wait", "oom");
    expect_inside("pressure", "oom");
    cr_assert(eq(int, (int)said("alloc.fails")->as, (int)RECORDED_MARK));
}

Test(nvtx, says_that_a_stream_waits_for_anothers_block)
{
    cudaStream_t stream = pool_attached_stream();
    void *block = pool_alloc(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_free(block, stream);

    pool_use(MIB(8), pool_attached_stream());
    pool_open_gate(gate);

    expect_no_value("stream.wait");
    cr_assert(eq(int, (int)said("stream.wait")->as, (int)RECORDED_MARK));
}

Test(nvtx, says_what_a_capture_does)
{
    cudaStream_t stream = pool_attached_stream();
    void *eager = pool_alloc(KIB(1), stream);
    gp_sim_graph graph = NULL;

    GP(gp_capture_begin(pool, stream));
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    pool_use(MIB(1), stream);
    pool_free(eager, stream);
    SIM(gp_sim_end_capture(stream, &graph));
    GP(gp_capture_end(pool, stream));
    pool_use(KIB(2), stream);
    SIM(gp_sim_graph_destroy(graph));

    expect_no_value("capture.begin");
    expect_no_value("capture.end");
    expect_value("node.alloc", MIB(1));
    expect_no_value("node.free");
    expect_value("park", KIB(1));
    expect_value("unpark", KIB(1));
}

Test(nvtx, says_what_an_arena_takes_and_gives)
{
    gp_pool_config config = config_at(GP_TRACE_ALL);
    config.capture = GP_CAPTURE_ARENA;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();

    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    pool_use(KIB(1), stream);
    gp_sim_graph graph = arena_finish(stream);
    GP(gp_arena_release(arena, stream));
    SIM(gp_sim_graph_destroy(graph));

    expect_value("arena.take", MIB(2));
    expect_value("arena.give", MIB(2));
    expect_inside("grow", "miss");
    expect_inside("native.alloc", "grow");
    (void)said("alloc.arena");
    (void)said("free.arena");
}

Test(nvtx, says_each_step_when_memory_for_an_arena_is_out)
{
    gp_pool_config config = config_at(GP_TRACE_ALL);
    void *block = NULL;
    config.capture = GP_CAPTURE_ARENA;
    config.max_bytes = MIB(4);
    config.on_pressure = decline;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, stream));

    expect_value("miss", MIB(8));
    expect_inside("oom", "miss");
    expect_inside("oom.wait", "oom");
    expect_inside("pressure", "oom");
    expect_value("alloc.fails", MIB(8));
    (void)said("alloc.failed");
    gp_sim_graph graph = arena_finish(stream);
    GP(gp_arena_release(arena, stream));
    SIM(gp_sim_graph_destroy(graph));
}

/* A sink, after NVTX's, that keeps one thread inside of its growth until another waits for it. */
static atomic_bool waits;

static void hold_growth(void *state, const gp_trace_event *range)
{
    (void)state;
    if (range->kind == GP_TRACE_GROW_WAIT)
        atomic_store(&waits, true);
    while (range->kind == GP_TRACE_GROW && !atomic_load(&waits))
        continue;
}

static void *use_8_mib(void *stream)
{
    pool_use(MIB(8), stream);
    return NULL;
}

Test(nvtx, says_that_a_thread_waits_for_anothers_growth)
{
    const gp_trace_sink sink = {
        .struct_bytes = sizeof(sink), .name = "holding", .begin = hold_growth};
    pthread_t threads[2];
    GP(gp_trace_attach(pool, &sink, NULL, GP_TRACE_SLOW));

    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, use_8_mib, pool_attached_stream()), 0));
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    expect_no_value("grow.wait");
    expect_inside("grow.wait", "miss");
}

Test(nvtx, says_nothing_of_single_blocks_at_level_1)
{
    cudaStream_t stream = pool_attached_stream();
    for (int i = 0; i < 20; i++)
        pool_use(KIB(1), stream);

    for (size_t i = 0; i < recorder_count(); i++) {
        cr_assert(ne(int, strncmp(recorder_at(i)->text, "alloc", 5), 0));
        cr_assert(ne(int, strncmp(recorder_at(i)->text, "free", 4), 0));
    }
}

/* A capture of minutes has to stay readable. An operation is a free and an allocation. */
Test(nvtx, says_little_once_warm)
{
    enum { SLOTS = 64, OPERATIONS = 100000 };
    void *blocks[SLOTS] = {NULL};
    cudaStream_t streams[4];
    uint64_t random = 1;
    size_t ranges = 0;
    gp_pool_config config = config_at(GP_TRACE_SLOW);
    gp_sim_config machine = pool_machine();
    machine.check_hazards = false;
    config.segment_bytes = MIB(32);
    pool_reopen(&machine, &config);
    for (int i = 0; i < 4; i++)
        streams[i] = pool_attached_stream();

    for (int i = 0; i < 2 * OPERATIONS; i++) {
        if (i == OPERATIONS)
            recorder_clear();
        const uint64_t drawn = seeded_random(&random);
        const size_t slot = drawn % SLOTS;
        if (blocks[slot] != NULL)
            pool_free(blocks[slot], streams[slot % 4]);
        blocks[slot] = pool_alloc((size_t)64 << (drawn >> 32) % 15, streams[slot % 4]);
    }

    for (size_t i = 0; i < recorder_count(); i++)
        ranges += recorder_at(i)->as == RECORDED_PUSH;
    cr_assert(lt(sz, ranges, 2000));
    for (size_t slot = 0; slot < SLOTS; slot++)
        pool_free(blocks[slot], streams[slot % 4]);
}

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
    expect_text(expected, text);
}

Test(nvtx, tells_of_each_block_what_there_is_to_tell)
{
    reopen_at(GP_TRACE_ALL);
    cudaStream_t stream = pool_attached_stream();
    GP(gp_stream_set_name(pool, stream, "decoder"));

    void *block = pool_alloc(1000, stream);
    pool_free(block, stream);

    const recorded *came = said("alloc.native");
    cr_assert(eq(u64, field(came, "bytes"), 1000));
    cr_assert(eq(u64, field(came, "block_bytes"), 1024));
    cr_assert(eq(u64, field(came, "address"), (uint64_t)(uintptr_t)block));
    cr_assert(eq(u64, field(came, "stream_id"), pool_stream_id(stream)));
    cr_assert(eq(u64, field(came, "tier"), GP_TIER_NATIVE));
    expect_text("native", recorder_enum_field(came, "tier"));
    expect_text_field("cache_first", came, "policy");
    expect_text_field("decoder", came, "tag");
    const recorded *went = said("free.l1");
    cr_assert(eq(u64, field(went, "bytes"), 1024));
    cr_assert(eq(u64, field(went, "address"), (uint64_t)(uintptr_t)block));
    expect_text("l1", recorder_enum_field(went, "tier"));
}

Test(nvtx, shows_each_alloc_and_free_at_level_2_the_slow_ones_around_what_they_do)
{
    reopen_at(GP_TRACE_ALL);
    cudaStream_t stream = pool_attached_stream();

    pool_use(KIB(1), stream);
    expect_value("alloc", KIB(1));
    expect_inside("miss", "alloc");
    expect_inside("alloc.native", "alloc");
    for (int i = 0; i < 19; i++)
        pool_use(KIB(1), stream);
    pool_use(MIB(8), stream);

    cr_assert(eq(sz, recorder_count_text("alloc.native"), 2));
    cr_assert(eq(sz, recorder_count_text("alloc.l1"), 19));
    cr_assert(eq(sz, recorder_count_text("free.l1"), 20));
    cr_assert(eq(sz, recorder_count_text("alloc"), 2));
    expect_value("free", MIB(8));
    expect_inside("free.l2", "free");
    cr_assert(eq(int, (int)said("alloc.l1")->as, (int)RECORDED_PUSH));
}

Test(nvtx, names_the_tier_that_served)
{
    reopen_at(GP_TRACE_ALL);
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    void *block = NULL;

    pool_use(MIB(8), stream);
    pool_use(MIB(8), stream);
    (void)said("alloc.l2");
    block = pool_alloc(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_free(block, stream);
    pool_use(MIB(8), other);
    (void)said("alloc.waited");
    pool_open_gate(gate);
    pool_settle();
    pool_use(MIB(8), stream);
    (void)said("alloc.shared");
}

Test(nvtx, names_where_a_freed_block_goes_and_what_is_used)
{
    reopen_at(GP_TRACE_ALL);
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(KIB(1), stream);
    gp_sim_gate gate = pool_close_gate(user);

    GP(gp_record_use(block, user));
    pool_free(block, stream);
    pool_open_gate(gate);

    cr_assert(eq(int, (int)said("use")->as, (int)RECORDED_MARK));
    cr_assert(eq(u64, field(said("use"), "stream_id"), pool_stream_id(user)));
    (void)said("free.waited");
}

Test(nvtx, tells_of_blocks_of_a_capture_and_of_an_allocation_that_fails)
{
    gp_pool_config config = config_at(GP_TRACE_ALL);
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

    cr_assert(eq(u64, field(said("alloc.node"), "bytes"), MIB(1)));
    (void)said("free.node");
    cr_assert(eq(u64, field(said("free.parked"), "bytes"), KIB(1)));
    cr_assert(eq(u64, field(said("alloc.failed"), "bytes"), MIB(8)));
    cr_assert(eq(u64, field(said("alloc.failed"), "address"), 0));
}

static void *churn(void *stream)
{
    for (int i = 0; i < 300; i++) {
        pool_use(KIB(1), stream);
        pool_use(KIB(700), stream);
    }
    return NULL;
}

Test(nvtx, keeps_the_ranges_of_each_thread_apart)
{
    reopen_at(GP_TRACE_ALL);
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

/* ---- levels ---- */

Test(nvtx, says_nothing_at_level_0_until_it_is_raised)
{
    reopen_at(GP_TRACE_OFF);
    pool_use(MIB(8), pool_attached_stream());
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(sz, recorder_count(), 0));

    GP(gp_pool_set_trace_level(pool, GP_TRACE_SLOW));
    pool_use(MIB(16), pool_attached_stream());
    (void)said("grow");
    cr_assert(eq(sz, recorder_count_text("alloc"), 0));
    GP(gp_pool_set_trace_level(pool, GP_TRACE_ALL));
    pool_use(MIB(16), pool_attached_stream());
    (void)said("alloc");

    GP(gp_pool_set_trace_level(pool, GP_TRACE_OFF));
    recorder_clear();
    pool_use(MIB(32), pool_attached_stream());
    cr_assert(eq(sz, recorder_count(), 0));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_set_trace_level(pool, (gp_trace_level)3));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_set_trace_level(NULL, GP_TRACE_SLOW));
}

/* ---- counters ---- */

static double value_of(const char *end)
{
    const recorded_counter *counter = recorder_counter(end);
    cr_assert(ne(ptr, (void *)(uintptr_t)counter, NULL), "no counter %s", end);
    return counter->value;
}

Test(nvtx, shows_counters_that_agree_with_the_statistics)
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
    expect_text("bytes", recorder_counter(": live")->unit);
    expect_text("bytes", recorder_counter(": cached")->unit);
    expect_text("bytes", recorder_counter(": reserved")->unit);
    expect_text("%", recorder_counter(": idle share")->unit);
    pool_free(block, stream);
}

Test(nvtx, shows_hit_rates_of_what_came_since_the_last_sample)
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
    expect_text("%", recorder_counter("pool 77: L1 hit rate")->unit);
    expect_text("%", recorder_counter("pool 77: L2 hit rate")->unit);
    cr_assert(eq(sz, recorder_counter("pool 77: L1 hit rate")->samples, 3));
}

/* ---- memory ---- */

static void reopen_annotated(gp_trace_level level)
{
    gp_pool_config config = config_at(level);
    config.annotate_memory = true;
    pool_reopen(NULL, &config);
}

Test(nvtx, tells_a_memory_checker_of_each_block_just_what_was_asked)
{
    reopen_annotated(GP_TRACE_OFF);
    cudaStream_t stream = pool_attached_stream();

    void *small = pool_alloc(1000, stream);
    void *large = pool_alloc(MIB(3) + 7, stream);
    cr_assert(eq(sz, recorder_region_bytes(small), 1000));
    cr_assert(eq(sz, recorder_region_bytes(large), MIB(3) + 7));
    pool_free(small, stream);
    pool_free(large, stream);
    cr_assert(eq(sz, recorder_regions(), 0));
    void *again = pool_alloc(900, stream); /* a hit */
    cr_assert(eq(sz, recorder_region_bytes(again), 900));
    pool_free(again, stream);

    cr_assert(eq(sz, recorder_regions(), 0));
    cr_assert(not(recorder_is_memory_misused()));
}

Test(nvtx, tells_a_memory_checker_of_the_memory_that_the_pool_holds)
{
    reopen_annotated(GP_TRACE_SLOW);
    cudaStream_t stream = pool_attached_stream();

    void *block = pool_alloc(MIB(8), stream);
    cr_assert(recorder_has_heap(block, MIB(8)));
    cr_assert(eq(sz, recorder_heaps(), 1));
    pool_free(block, stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(sz, recorder_heaps(), 0));
    pool_use(MIB(8), stream);
    GP(gp_pool_destroy(pool));
    pool = NULL;

    cr_assert(eq(sz, recorder_heaps(), 0));
    cr_assert(not(recorder_is_memory_misused()));
}

Test(nvtx, tells_a_memory_checker_of_a_block_that_is_never_freed)
{
    reopen_annotated(GP_TRACE_SLOW);

    void *leaked = pool_alloc(KIB(3), pool_attached_stream());

    cr_assert(eq(sz, recorder_regions(), 1));
    cr_assert(eq(sz, recorder_region_bytes(leaked), KIB(3)));
}

static void *churn_blocks(void *stream)
{
    for (int i = 0; i < 500; i++) {
        pool_use(KIB(1) + 13, stream);
        pool_use(KIB(700), stream);
    }
    return NULL;
}

/* A block is unregistered before another thread can get it. */
Test(nvtx, tells_a_memory_checker_in_order_what_many_threads_do)
{
    reopen_annotated(GP_TRACE_OFF);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        cr_assert(
            eq(int, pthread_create(&threads[i], NULL, churn_blocks, pool_attached_stream()), 0));
    for (int i = 0; i < 20; i++)
        GP(gp_pool_trim_to(pool, 0));
    for (int i = 0; i < 4; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    cr_assert(eq(sz, recorder_regions(), 0));
    cr_assert(not(recorder_is_memory_misused()));
}

Test(nvtx, tells_a_memory_checker_nothing_unless_asked)
{
    pool_use(MIB(8), pool_attached_stream());

    cr_assert(eq(sz, recorder_heaps(), 0));
}

/* ---- names ---- */

#if GP_NAMES_STREAMS
Test(nvtx, names_its_own_stream_and_the_users_only_when_asked)
{
    cudaStream_t named = pool_attached_stream();
    cudaStream_t unnamed = pool_attached_stream();
    pool_use(MIB(1), named);
    pool_use(MIB(1), unnamed);
    cr_assert(eq(sz, recorder_stream_names(), 1)); /* gp's own */

    GP(gp_stream_set_name(pool, named, "decoder"));

    cr_assert(eq(sz, recorder_stream_names(), 2));
    expect_text("decoder", recorder_stream_name(named));
    cr_assert(eq(ptr, (void *)(uintptr_t)recorder_stream_name(unnamed), NULL));
}
#endif

/* ---- company ---- */

/* C88 */
Test(nvtx, changes_no_result_if_the_tool_is_slow_and_says_that_it_failed)
{
    gp_pool_config config = config_at(GP_TRACE_ALL);
    void *none = NULL;
    config.max_bytes = MIB(16);
    recorder_set_hostile(true);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    pool_use(KIB(1), stream);
    pool_use(MIB(8), stream);
    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(64), pool, stream));
    pool_use(MIB(8), stream);

    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    cr_assert(eq(u64, pool_stats().failures, 1));
}

Test(nvtx, leaves_the_ranges_of_the_program_alone)
{
    user_push("request");
    pool_use(MIB(8), pool_attached_stream());
    user_pop();

    const recorded *first = recorder_at(0);
    const recorded *last = recorder_at(recorder_count() - 1);
    for (size_t i = 0; strcmp(first->domain, "user") != 0; i++)
        first = recorder_at(i);
    expect_text("request", first->text);
    expect_text("request", last->text);
    cr_assert(eq(int, (int)last->as, (int)RECORDED_POP));
    cr_assert(eq(int, said("miss")->depth, 0)); /* nesting is each domain's own */
}
