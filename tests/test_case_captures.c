/* Captures beside everything else: what they must survive, and what must not wait for them. */
#include "pool_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

TestSuite(case_captures, .init = pool_open, .fini = pool_close);

static const gp_sim_capture_mode modes[] = {GP_SIM_CAPTURE_GLOBAL, GP_SIM_CAPTURE_THREAD_LOCAL,
                                            GP_SIM_CAPTURE_RELAXED};

static gp_sim_graph finish(cudaStream_t stream)
{
    gp_sim_graph graph = NULL;
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    SIM(gp_sim_stream_is_capturing(stream, &status));
    cr_assert(eq(int, (int)status, (int)GP_SIM_CAPTURE_ACTIVE));
    SIM(gp_sim_end_capture(stream, &graph));
    return graph;
}

static void run(gp_sim_graph graph, cudaStream_t stream, int launches)
{
    for (int i = 0; i < launches; i++)
        SIM(gp_sim_graph_launch(graph, stream));
    pool_settle();
}

/* ---- several captures ---- */

/* C24: what the first graph works on must not go with the second, whatever stream both were
 * captured on, and in whatever order they end. */
Test(case_captures, graph_keeps_its_memory_when_another_of_its_stream_is_destroyed)
{
    for (int first_goes = 0; first_goes < 2; first_goes++) {
        cudaStream_t stream = pool_stream();
        gp_sim_graph graphs[2];
        for (int i = 0; i < 2; i++) {
            SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
            pool_use(MIB(32), stream);
            pool_use(MIB(8), stream);
            graphs[i] = finish(stream);
            run(graphs[i], stream, 1);
        }

        SIM(gp_sim_graph_destroy(graphs[1 - first_goes]));
        GP(gp_pool_trim_to(pool, 0));
        pool_use(MIB(32), stream);
        pool_use(MIB(32), stream);

        run(graphs[first_goes], stream, 5);
        SIM(gp_sim_graph_destroy(graphs[first_goes]));
    }
}

/* C10: a branch of the capture allocates, uses and frees; the free must come after its work. */
Test(case_captures, branch_frees_after_its_own_work)
{
    cudaStream_t origin = pool_stream();
    cudaStream_t branch = pool_stream();
    SIM(gp_sim_begin_capture(origin, GP_SIM_CAPTURE_GLOBAL));
    pool_order(origin, branch);
    pool_use(MIB(4), branch);
    pool_order(branch, origin);
    gp_sim_graph graph = finish(origin);

    for (int i = 0; i < 20; i++) {
        void *kept = pool_alloc(MIB(4), origin);
        pool_write(kept, MIB(4), origin);
        SIM(gp_sim_graph_launch(graph, origin));
        pool_read(kept, MIB(4), origin);
        pool_free(kept, origin);
    }

    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
}

/* C25: a block that a graph works on is safe from reuse for as long as its owner keeps it. */
Test(case_captures, block_that_its_owner_keeps_is_not_handed_out_between_replays)
{
    cudaStream_t stream = pool_stream();
    void *kept = pool_alloc(MIB(1), stream);
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    pool_write(kept, MIB(1), stream);
    gp_sim_graph graph = finish(stream);

    for (int i = 0; i < 20; i++) {
        void *other = pool_alloc(MIB(1), stream);
        cr_assert(ne(ptr, other, kept));
        pool_write(other, MIB(1), stream);
        SIM(gp_sim_graph_launch(graph, stream));
        pool_free(other, stream);
    }

    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    pool_free(kept, stream);
}

/* C25: as the body of a conditional node, which takes none. */
Test(case_captures, memory_node_that_the_driver_refuses_is_refused_by_name)
{
    static const int refusals[] = {801, 900};
    static const gp_status statuses[] = {GP_ERR_UNSUPPORTED, GP_ERR_CAPTURE};
    cudaStream_t stream = pool_stream();
    for (int i = 0; i < 2; i++) {
        void *block = NULL;
        SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
        gp_sim_fail(GP_SIM_FN_MALLOC, 1, 1, refusals[i]);

        FAILS(statuses[i], gp_alloc_from_pool_async(&block, MIB(1), pool, stream));

        cr_assert(eq(int, gp_last_native_error(), refusals[i]));
        SIM(gp_sim_graph_destroy(finish(stream)));
        pool_use(MIB(1), stream);
    }
}

/* C27: graphs are captured and destroyed again and again. Their memory is the driver's graph
 * pool's: gp neither holds nor counts it. */
Test(case_captures, memory_of_retired_graphs_is_not_counted_as_the_pools)
{
    cudaStream_t stream = pool_stream();
    for (size_t i = 0; i < 50; i++) {
        SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
        pool_use(MIB(64) + MIB(1) * i, stream);
        gp_sim_graph graph = finish(stream);
        run(graph, stream, 1);
        SIM(gp_sim_graph_destroy(graph));
    }

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    cr_assert(eq(u64, pool_stats().captured, 100));
}

/* C21: a free elsewhere while the capture is open; nothing recorded in it is ever queried. */
Test(case_captures, block_freed_elsewhere_during_a_capture_is_reused_without_asking_it)
{
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = pool_stream();
        cudaStream_t home = pool_stream();
        void *block = pool_alloc(MIB(1), home);
        pool_write(block, MIB(1), home);
        SIM(gp_sim_begin_capture(stream, modes[i]));
        FAILS(GP_ERR_CAPTURE, gp_record_use(block, stream));
        pool_free(block, home);

        pool_use(MIB(1), home);

        gp_sim_graph graph = finish(stream);
        pool_use(MIB(1), home);
        run(graph, stream, 1);
        SIM(gp_sim_graph_destroy(graph));
    }
}

/* ---- what must not wait for a capture ---- */

/* C29: one thread holds a capture open for long; another needs what lies idle in pieces. */
Test(case_captures, open_capture_keeps_no_other_pool_from_its_idle_memory)
{
    for (int i = 0; i < 3; i++) {
        gp_pool_config config = pool_config();
        gp_pool *second = NULL;
        config.max_bytes = GIB(1);
        GP(gp_pool_create(&second, &config));
        cudaStream_t stream = pool_stream();
        cudaStream_t other = pool_stream();
        void *pieces[13];
        for (int k = 0; k < 13; k++)
            GP(gp_alloc_from_pool_async(&pieces[k], MIB(64), second, other));
        SIM(gp_sim_begin_capture(stream, modes[i]));
        for (int k = 0; k < 13; k++)
            GP(gp_free_async(pieces[k], other));

        void *half = NULL;
        GP(gp_alloc_from_pool_async(&half, MIB(512), second, other));

        GP(gp_free_async(half, other));
        gp_sim_graph graph = finish(stream);
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_pool_destroy(second));
    }
}

typedef struct disturber {
    cudaStream_t home, user;
    atomic_bool stop;
    atomic_uint rounds;
    gp_status status;
} disturber;

static gp_status disturb(const disturber *self)
{
    void *block = NULL;
    gp_status status = gp_alloc_from_pool_async(&block, MIB(1), pool, self->home);
    if (status == GP_OK)
        status = gp_record_use(block, self->user);
    if (status == GP_OK)
        status = gp_free_async(block, self->home);
    if (status == GP_OK)
        status = gp_pool_trim_to(pool, 0);
    return status;
}

static void *disturb_until_stopped(void *started)
{
    disturber *self = started;
    while (!atomic_load(&self->stop) && self->status == GP_OK) {
        self->status = disturb(self);
        atomic_fetch_add(&self->rounds, 1);
    }
    return NULL;
}

/* C23: captures begin and end while another thread frees blocks with pending uses. There is no
 * flag that could be out of step: the driver is asked. */
Test(case_captures, begin_and_end_at_any_time_beside_a_thread_that_frees)
{
    pthread_t thread;
    cudaStream_t attached = pool_attached_stream();
    cudaStream_t checked = pool_stream();
    disturber other = {.home = pool_attached_stream(), .user = pool_stream(), .status = GP_OK};
    cr_assert(eq(int, pthread_create(&thread, NULL, disturb_until_stopped, &other), 0));

    for (unsigned i = 0; i < 500 || atomic_load(&other.rounds) < 100; i++) {
        cudaStream_t stream = i % 2 ? attached : checked;
        if (stream == attached)
            GP(gp_capture_begin(pool, stream));
        SIM(gp_sim_begin_capture(stream, modes[i % 3]));
        pool_use(MIB(1), stream);
        gp_sim_graph graph = finish(stream);
        if (stream == attached)
            GP(gp_capture_end(pool, stream));
        SIM(gp_sim_graph_launch(graph, stream));
        SIM(gp_sim_graph_destroy(graph));
    }

    atomic_store(&other.stop, true);
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    cr_assert(eq(int, (int)other.status, (int)GP_OK));
}

/* ---- what a graph owns ---- */

/* C26: the ordinary free of a graph's block, before a launch and after each of many. */
Test(case_captures, block_that_a_graph_leaves_live_is_freed_once_a_launch)
{
    cudaStream_t stream = pool_stream();
    gp_sim_graph graph = NULL;
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    void *block = pool_alloc(MIB(8), stream);
    pool_write(block, MIB(8), stream);
    graph = finish(stream);
    gp_pool_stats before = pool_stats();

    FAILS(GP_ERR_CUDA, gp_free_async(block, stream));
    for (int i = 0; i < 1000; i++) {
        SIM(gp_sim_graph_launch(graph, stream));
        GP(gp_free_async(block, stream));
    }

    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    cr_assert(eq(u64, pool_stats().live_bytes, before.live_bytes));
    cr_assert(eq(u64, pool_stats().reserved_bytes, before.reserved_bytes));
}

/* C33: zero bytes in a capture, next to a block of the graph. */
Test(case_captures, zero_bytes_are_no_node_and_alias_nothing)
{
    cudaStream_t stream = pool_stream();
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    void *none[2] = {&none, &none};
    void *block = pool_alloc(512, stream);
    for (int i = 0; i < 2; i++) {
        GP(gp_alloc_from_pool_async(&none[i], 0, pool, stream));
        cr_assert(eq(ptr, none[i], NULL));
    }
    GP(gp_free_async(none[1], stream));
    pool_write(block, 512, stream);
    pool_free(block, stream);
    GP(gp_free_async(none[0], stream));

    gp_sim_graph graph = finish(stream);
    run(graph, stream, 2);
    SIM(gp_sim_graph_destroy(graph));
    cr_assert(eq(u64, pool_stats().captured, 2));
}
