/* Streams that come, use little, and go without a word to gp: checked ones. */
#include "pool_fixture.h"

#include <pthread.h>

TestSuite(case_visitors, .init = pool_open, .fini = pool_close);

static void visit(size_t bytes)
{
    cudaStream_t stream = pool_stream();
    pool_use(bytes, stream);
    SIM(gp_sim_stream_synchronize(stream));
    pool_drop_stream(stream);
}

/* C16, with checked streams: 100,000 of them, 4 KiB each, on a device of 4 GiB. */
Test(case_visitors, hundred_thousand_leave_no_trace)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.check_hazards = false;
    pool_reopen(&machine, &config);
    for (int i = 0; i < 1000; i++)
        visit(KIB(4));
    gp_pool_stats early = pool_stats();

    for (int i = 0; i < 100000; i++)
        visit(KIB(4));

    gp_pool_stats late = pool_stats();
    cr_assert(le(u64, late.metadata_bytes, early.metadata_bytes + KIB(64)));
    cr_assert(le(u64, late.reserved_bytes, early.reserved_bytes + MIB(8)));
}

/* What is wholly idle, and known to be: gp_pool_trim_to() promises to give it back. */
Test(case_visitors, trim_gives_back_what_a_checked_stream_left)
{
    cudaStream_t stream = pool_stream();
    pool_use(KIB(4), stream);
    pool_settle();

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

/* C12, with small blocks. */
Test(case_visitors, small_memory_of_dead_streams_is_reclaimed)
{
    gp_pool_config config = pool_config();
    config.max_bytes = MIB(256);
    pool_reopen(NULL, &config);
    for (int i = 0; i < 128; i++)
        visit(KIB(512));

    pool_use(MIB(200), NULL);
}

/* A stream that stays keeps blocks in its thread's cache, behind no fence: a trim cannot have
 * them at first, but once the stream was called for again it can. */
Test(case_visitors, trim_gets_what_a_stream_that_stays_left_after_its_next_call)
{
    cudaStream_t stream = pool_stream();
    for (int i = 0; i < 1000; i++)
        pool_use(KIB(4), stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    pool_use(KIB(4), stream);

    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

/* What was freed on a stream that is gone while its work is not. */
Test(case_visitors, successor_comes_after_the_work_of_a_stream_that_is_gone)
{
    cudaStream_t first = pool_stream();
    cudaStream_t gated = pool_stream();
    gp_sim_gate gate = pool_close_gate(gated);
    pool_order(gated, first);
    pool_use(KIB(64), first);
    pool_drop_stream(first);

    cudaStream_t second = pool_stream();
    pool_use(KIB(64), second);

    cr_assert(eq(ptr, (void *)second, (void *)first), "the handle was not issued again");
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(2)));
    cr_assert(eq(u64, pool_stats().streams, 1));
    pool_open_gate(gate);
    pool_settle();
}

/* A block outlives its stream, and is freed after the stream's cache has gone over to another. */
Test(case_visitors, block_that_outlives_its_stream_comes_home_to_the_successor)
{
    cudaStream_t first = pool_stream();
    void *block = pool_alloc(KIB(64), first);
    pool_write(block, KIB(64), first);
    SIM(gp_sim_stream_synchronize(first));
    pool_drop_stream(first);
    cudaStream_t second = pool_stream();
    pool_use(KIB(64), second);

    pool_free(block, second);

    GP(gp_pool_check(pool));
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

enum { AT_ONCE = 8 };

/* Work takes a while, and nobody may wait for it on the device: the next but seven inherits. */
Test(case_visitors, with_work_under_way_leave_no_trace_where_waits_are_not_allowed)
{
    gp_sim_gate open[AT_ONCE] = {NULL};
    gp_pool_config config = pool_config();
    config.share = GP_SHARE_COMPLETED;
    pool_reopen(NULL, &config);
    for (int i = 0; i < 400; i++) {
        if (open[i % AT_ONCE] != NULL)
            pool_open_gate(open[i % AT_ONCE]);
        cudaStream_t stream = pool_stream();
        open[i % AT_ONCE] = pool_close_gate(stream);
        pool_use(KIB(4), stream);
        pool_drop_stream(stream);
    }

    cr_assert(le(u64, pool_stats().reserved_bytes, MIB(2) * 2 * AT_ONCE));
    cr_assert(le(u64, pool_stats().streams, 2 * AT_ONCE));
    for (int i = 0; i < AT_ONCE; i++)
        pool_open_gate(open[i]);
    pool_settle();
}

enum { CROWD = 4 };

static pthread_mutex_t coming_and_going = PTHREAD_MUTEX_INITIALIZER;

static void *visit_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        cudaStream_t stream = NULL;
        (void)pthread_mutex_lock(&coming_and_going);
        SIM(gp_sim_stream_create(&stream, true));
        (void)pthread_mutex_unlock(&coming_and_going);
        for (int block = 0; block <= i % 4; block++)
            pool_use(KIB(4) << block, stream);
        (void)pthread_mutex_lock(&coming_and_going);
        SIM(gp_sim_stream_destroy(stream));
        (void)pthread_mutex_unlock(&coming_and_going);
    }
    return NULL;
}

/* C16: from several threads, so that a handle comes back in another thread. */
Test(case_visitors, from_several_threads_leave_no_trace)
{
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, visit_often, NULL), 0));
    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    cr_assert(le(u64, pool_stats().reserved_bytes, MIB(2) * 3 * CROWD));
    cr_assert(le(u64, pool_stats().streams, 2 * CROWD));
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}
