/* Trace sinks: they come and go, hear what their level says, and are left by every thread. */
#include "sink_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

TestSuite(trace_sink, .init = ear_open, .fini = ear_close);

/* ---- coming and going ---- */

Test(trace_sink, is_opened_with_its_pool_and_closed_when_it_is_detached)
{
    ear_attach(GP_TRACE_SLOW);

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
    ear_attach(GP_TRACE_SLOW);

    GP(gp_pool_destroy(pool));
    pool = NULL;

    cr_assert(eq(sz, ear.closed, 1));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_END, GP_TRACE_POOL_DESTROY), 1));
    hearer_expect_balance(&ear);
}

Test(trace_sink, attached_twice_or_unknown_is_refused)
{
    static hearer others[GP_TRACE_MOST_SINKS];
    ear_attach(GP_TRACE_SLOW);

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
    ear_attach(GP_TRACE_OFF);

    pool_use(KIB(1), pool_stream());
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(sz, ear.count, hearer_count(&ear, HEARD_NAME)));
    cr_assert(eq(sz, ear.samples, 0));
}

Test(trace_sink, hears_the_slow_path_without_blocks_at_the_middle_level)
{
    cudaStream_t stream = pool_attached_stream();
    ear_attach(GP_TRACE_SLOW);

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
    ear_attach(GP_TRACE_ALL);

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
    ear_attach(GP_TRACE_ALL);
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
    ear_attach(GP_TRACE_ALL);
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
    ear_attach(GP_TRACE_ALL);

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&block, MIB(8), pool, pool_stream()));

    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_END, GP_TRACE_PRESSURE), 1));
    cr_assert(eq(sz, hearer_count_kind(&ear, HEARD_END, GP_TRACE_ALLOC), 1));
    cr_assert(eq(sz, hearer_count(&ear, HEARD_ALLOC), 0));
    hearer_expect_balance(&ear);
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
    ear_attach(GP_TRACE_OFF);
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
