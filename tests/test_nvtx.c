/* What a tool hears of the slow path, at which level, and in which company. */
#include "arena_fixture.h"
#include "nvtx_fixture.h"
#include "nvtx_user.h"
#include "seeded_random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

TestSuite(nvtx, .init = nvtx_open, .fini = nvtx_close);

/* ---- level 1 ---- */

Test(nvtx, says_that_a_pool_comes_and_goes)
{
    nvtx_expect_no_value("pool.create");

    GP(gp_pool_destroy(pool));
    pool = NULL;

    nvtx_expect_no_value("pool.destroy");
    cr_assert(eq(int, (int)nvtx_said("pool.create")->as, (int)RECORDED_PUSH));
}

Test(nvtx, says_what_growth_takes_and_what_is_inside)
{
    pool_use(MIB(7), pool_attached_stream());

    nvtx_expect_value("miss", MIB(7));
    nvtx_expect_value("join", MIB(7));
    nvtx_expect_value("share", MIB(7));
    nvtx_expect_value("grow", MIB(8));
    nvtx_expect_value("native.alloc", MIB(8));
    nvtx_expect_no_value("native.wait");
    nvtx_expect_inside("join", "miss");
    nvtx_expect_inside("share", "miss");
    nvtx_expect_inside("grow", "miss");
    nvtx_expect_inside("native.alloc", "grow");
    nvtx_expect_inside("native.wait", "grow");
}

Test(nvtx, says_what_moves_between_l1_and_l2)
{
    const gp_reserve_entry plan = {.bytes = KIB(1), .count = 200};

    GP(gp_pool_reserve(pool, pool_attached_stream(), &plan, 1));

    nvtx_expect_value("reserve", 1);
    nvtx_expect_value("refill", KIB(1));
    nvtx_expect_inside("refill", "reserve");
    cr_assert(eq(int, (int)nvtx_said("flush")->as, (int)RECORDED_MARK));
    cr_assert(eq(u64, nvtx_said("flush")->value % KIB(1), 0));
    cr_assert(lt(u64, 0, nvtx_said("flush")->value));
}

Test(nvtx, says_what_a_trim_does)
{
    pool_use(MIB(8), pool_attached_stream());
    pool_settle();
    recorder_clear();

    GP(gp_pool_trim_to(pool, MIB(1)));

    nvtx_expect_value("trim", MIB(1));
    nvtx_expect_no_value("flush.all");
    nvtx_expect_value("release", MIB(1));
    nvtx_expect_value("native.free", MIB(8));
    nvtx_expect_value("native.trim", MIB(1));
    nvtx_expect_inside("flush.all", "trim");
    nvtx_expect_inside("release", "trim");
    nvtx_expect_inside("native.free", "release");
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
    gp_pool_config config = nvtx_config(GP_TRACE_SLOW);
    void *block = NULL;
    config.max_bytes = MIB(4);
    config.on_pressure = decline;
    pool_reopen(NULL, &config);
    pool_use(KIB(1), pool_attached_stream());
    recorder_clear();

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, pool_attached_stream()));

    nvtx_expect_value("squeeze", MIB(8));
    nvtx_expect_value("oom", MIB(8));
    nvtx_expect_value("oom.wait", MIB(8));
    nvtx_expect_value("pressure", MIB(8));
    nvtx_expect_value("alloc.fails", MIB(8));
    nvtx_expect_inside("oom.wait", "oom");
    nvtx_expect_inside("pressure", "oom");
    cr_assert(eq(int, (int)nvtx_said("alloc.fails")->as, (int)RECORDED_MARK));
}

Test(nvtx, says_that_a_stream_waits_for_anothers_block)
{
    cudaStream_t stream = pool_attached_stream();
    void *block = pool_alloc(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_free(block, stream);

    pool_use(MIB(8), pool_attached_stream());
    pool_open_gate(gate);

    nvtx_expect_no_value("stream.wait");
    cr_assert(eq(int, (int)nvtx_said("stream.wait")->as, (int)RECORDED_MARK));
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

    nvtx_expect_no_value("capture.begin");
    nvtx_expect_no_value("capture.end");
    nvtx_expect_value("node.alloc", MIB(1));
    nvtx_expect_no_value("node.free");
    nvtx_expect_value("park", KIB(1));
    nvtx_expect_value("unpark", KIB(1));
}

Test(nvtx, says_what_an_arena_takes_and_gives)
{
    gp_pool_config config = nvtx_config(GP_TRACE_ALL);
    config.capture = GP_CAPTURE_ARENA;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();

    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    pool_use(KIB(1), stream);
    gp_sim_graph graph = arena_finish(stream);
    GP(gp_arena_release(arena, stream));
    SIM(gp_sim_graph_destroy(graph));

    nvtx_expect_value("arena.take", MIB(2));
    nvtx_expect_value("arena.give", MIB(2));
    nvtx_expect_inside("grow", "miss");
    nvtx_expect_inside("native.alloc", "grow");
    (void)nvtx_said("alloc.arena");
    (void)nvtx_said("free.arena");
}

Test(nvtx, says_each_step_when_memory_for_an_arena_is_out)
{
    gp_pool_config config = nvtx_config(GP_TRACE_ALL);
    void *block = NULL;
    config.capture = GP_CAPTURE_ARENA;
    config.max_bytes = MIB(4);
    config.on_pressure = decline;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, stream));

    nvtx_expect_value("miss", MIB(8));
    nvtx_expect_inside("oom", "miss");
    nvtx_expect_inside("oom.wait", "oom");
    nvtx_expect_inside("pressure", "oom");
    nvtx_expect_value("alloc.fails", MIB(8));
    (void)nvtx_said("alloc.failed");
    gp_sim_graph graph = arena_finish(stream);
    GP(gp_arena_release(arena, stream));
    SIM(gp_sim_graph_destroy(graph));
}

/* A sink, after NVTX's, that keeps one thread inside of its growth until another waits for it. */
static atomic_bool waits;

static void hold_growth(void *state, const gp_trace_event *range)
{
    const struct timespec while_held = {.tv_nsec = 1000000};
    (void)state;
    if (range->kind == GP_TRACE_GROW_WAIT)
        atomic_store(&waits, true);
    for (int i = 0; range->kind == GP_TRACE_GROW && !atomic_load(&waits) && i < 5000; i++)
        (void)nanosleep(&while_held, NULL);
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

    nvtx_expect_no_value("grow.wait");
    nvtx_expect_inside("grow.wait", "miss");
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
    gp_pool_config config = nvtx_config(GP_TRACE_SLOW);
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

/* ---- levels ---- */

Test(nvtx, says_nothing_at_level_0_until_it_is_raised)
{
    nvtx_reopen(GP_TRACE_OFF);
    pool_use(MIB(8), pool_attached_stream());
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(sz, recorder_count(), 0));

    GP(gp_pool_set_trace_level(pool, GP_TRACE_SLOW));
    pool_use(MIB(16), pool_attached_stream());
    (void)nvtx_said("grow");
    cr_assert(eq(sz, recorder_count_text("alloc"), 0));
    GP(gp_pool_set_trace_level(pool, GP_TRACE_ALL));
    pool_use(MIB(16), pool_attached_stream());
    (void)nvtx_said("alloc");

    GP(gp_pool_set_trace_level(pool, GP_TRACE_OFF));
    recorder_clear();
    pool_use(MIB(32), pool_attached_stream());
    cr_assert(eq(sz, recorder_count(), 0));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_set_trace_level(pool, (gp_trace_level)3));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_set_trace_level(NULL, GP_TRACE_SLOW));
}

/* ---- company ---- */

/* C88 */
Test(nvtx, changes_no_result_if_the_tool_is_slow_and_says_that_it_failed)
{
    gp_pool_config config = nvtx_config(GP_TRACE_ALL);
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
    nvtx_expect_text("request", first->text);
    nvtx_expect_text("request", last->text);
    cr_assert(eq(int, (int)last->as, (int)RECORDED_POP));
    cr_assert(eq(int, nvtx_said("miss")->depth, 0)); /* nesting is each domain's own */
}
