/* Captures in pools with GP_CAPTURE_ARENA: a graph's blocks are its own until its owner says so. */
#include "pool_fixture.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void arena_open(void)
{
    pool_open();
    gp_pool_config config = pool_config();
    config.capture = GP_CAPTURE_ARENA;
    pool_reopen(NULL, &config);
}

TestSuite(capture_arena, .init = arena_open, .fini = pool_close);

static const gp_sim_capture_mode modes[] = {GP_SIM_CAPTURE_GLOBAL, GP_SIM_CAPTURE_THREAD_LOCAL,
                                            GP_SIM_CAPTURE_RELAXED};

static gp_arena *begin(cudaStream_t stream, gp_sim_capture_mode mode)
{
    gp_arena *arena = NULL;
    SIM(gp_sim_begin_capture(stream, mode));
    GP(gp_capture_get_arena(pool, &arena, stream));
    return arena;
}

static gp_sim_graph finish(cudaStream_t stream)
{
    gp_sim_graph graph = NULL;
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    SIM(gp_sim_stream_is_capturing(stream, &status));
    cr_assert(eq(int, (int)status, (int)GP_SIM_CAPTURE_ACTIVE));
    SIM(gp_sim_end_capture(stream, &graph));
    return graph;
}

static void replay(gp_sim_graph graph, cudaStream_t stream, int launches)
{
    for (int i = 0; i < launches; i++)
        SIM(gp_sim_graph_launch(graph, stream));
}

/* A graph that works on a block of its own, and its arena. */
typedef struct captured {
    gp_sim_graph graph;
    gp_arena *arena;
    void *block;
} captured;

static captured capture_work(size_t bytes, cudaStream_t stream)
{
    captured made = {.arena = begin(stream, GP_SIM_CAPTURE_GLOBAL)};
    made.block = pool_alloc(bytes, stream);
    pool_write(made.block, bytes, stream);
    made.graph = finish(stream);
    return made;
}

static void end_work(captured *made, cudaStream_t stream)
{
    SIM(gp_sim_graph_destroy(made->graph));
    GP(gp_arena_release(made->arena, stream));
}

/* ---- in the capture ---- */

Test(capture_arena, blocks_are_no_nodes_of_the_graph_and_stay_reserved_until_its_release)
{
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = pool_stream();
        gp_arena *arena = begin(stream, modes[i]);
        uint64_t native = gp_sim_call_count(GP_SIM_FN_MALLOC);
        pool_use(KIB(1), stream);
        pool_use(MIB(3), stream);
        gp_sim_graph graph = finish(stream);
        gp_pool_stats during = pool_stats();
        replay(graph, stream, 3);

        cr_assert(le(u64, gp_sim_call_count(GP_SIM_FN_MALLOC), native + 2)); /* segments */
        cr_assert(eq(u64, during.captured, 4 * ((uint64_t)i + 1)));
        cr_assert(eq(u64, during.arena_bytes, MIB(5))); /* 2 MiB to cut small ones from */
        cr_assert(eq(u64, during.live_bytes, MIB(5)));
        cr_assert(eq(u64, during.live_bytes_high, MIB(5)));
        cr_assert(eq(u64, during.reserved_bytes, during.live_bytes + during.cached_bytes));
        GP(gp_pool_check(pool));

        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
        cr_assert(eq(u64, pool_stats().arena_bytes, 0));
        cr_assert(eq(u64, pool_stats().live_bytes, 0));
        GP(gp_pool_check(pool));
        pool_settle();
    }
}

Test(capture_arena, block_freed_in_the_capture_serves_its_stream_again)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    const size_t sizes[] = {KIB(4), MIB(8)};
    for (int i = 0; i < 2; i++) {
        void *first = pool_alloc(sizes[i], stream);
        pool_write(first, sizes[i], stream);
        pool_free(first, stream);
        void *second = pool_alloc(sizes[i], stream);
        pool_write(second, sizes[i], stream);
        pool_free(second, stream);
        cr_assert(eq(ptr, first, second));
    }
    cr_assert(eq(u64, pool_stats().arena_bytes, MIB(10)));

    gp_sim_graph graph = finish(stream);
    replay(graph, stream, 5);
    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

/* Neighbours that were freed on one stream make room for something larger. */
Test(capture_arena, blocks_freed_in_the_capture_are_joined)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *whole = pool_alloc(MIB(8), stream);
    pool_free(whole, stream);
    void *parts[4];
    for (int i = 0; i < 4; i++)
        parts[i] = pool_alloc(MIB(2), stream);
    const int order[] = {2, 0, 1, 3};
    for (int i = 0; i < 4; i++)
        pool_free(parts[order[i]], stream);

    void *again = pool_alloc(MIB(8), stream);

    cr_assert(eq(ptr, again, whole));
    cr_assert(eq(u64, pool_stats().arena_bytes, MIB(8)));
    SIM(gp_sim_graph_destroy(finish(stream)));
    GP(gp_arena_release(arena, stream));
}

/* The branches of a graph run side by side. */
Test(capture_arena, block_freed_on_one_branch_is_not_given_to_another)
{
    const size_t sizes[] = {KIB(4), MIB(4)};
    for (int i = 0; i < 2; i++) {
        cudaStream_t origin = pool_stream();
        cudaStream_t branch = pool_stream();
        gp_arena *arena = begin(origin, GP_SIM_CAPTURE_GLOBAL);
        pool_order(origin, branch);
        void *first = pool_alloc(sizes[i], origin);
        pool_write(first, sizes[i], origin);
        pool_free(first, origin);

        void *second = pool_alloc(sizes[i], branch);
        pool_write(second, sizes[i], branch);

        cr_assert(ne(ptr, first, second));
        pool_order(branch, origin);
        gp_sim_graph graph = finish(origin);
        replay(graph, origin, 5);
        pool_settle();
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, origin));
    }
}

Test(capture_arena, block_freed_on_another_branch_serves_that_branch)
{
    cudaStream_t origin = pool_stream();
    cudaStream_t branch = pool_stream();
    gp_arena *arena = begin(origin, GP_SIM_CAPTURE_GLOBAL);
    void *first = pool_alloc(MIB(4), origin);
    pool_write(first, MIB(4), origin);
    pool_order(origin, branch);
    pool_read(first, MIB(4), branch);
    pool_free(first, branch);

    void *beside = pool_alloc(MIB(4), origin);
    void *after = pool_alloc(MIB(4), branch);
    pool_write(beside, MIB(4), origin);
    pool_write(after, MIB(4), branch);

    cr_assert(ne(ptr, beside, first));
    cr_assert(eq(ptr, after, first));
    pool_order(branch, origin);
    gp_sim_graph graph = finish(origin);
    replay(graph, origin, 5);
    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, origin));
}

typedef struct forked {
    cudaStream_t origin;
    gp_sim_event start;
    void *block;
    gp_sim_graph graph;
} forked;

static void work_on_branch(gp_sim_event start, cudaStream_t branch, void **block)
{
    SIM(gp_sim_stream_wait_event(branch, start));
    *block = pool_alloc(MIB(1), branch);
    pool_write(*block, MIB(1), branch);
    pool_free(*block, branch);
}

/* It ends the capture, since the end of the thread would be that of its stream. */
static void work_on_own_per_thread_stream(void *argument)
{
    forked *work = argument;
    work_on_branch(work->start, GP_SIM_STREAM_PER_THREAD, &work->block);
    pool_order(GP_SIM_STREAM_PER_THREAD, work->origin);
    work->graph = finish(work->origin);
}

/* C17: one handle, a stream for each thread. */
Test(capture_arena, per_thread_handle_is_another_branch_in_each_thread)
{
    forked work = {.origin = pool_stream()};
    void *block = NULL;
    SIM(gp_sim_event_create(&work.start));
    gp_arena *arena = begin(work.origin, GP_SIM_CAPTURE_RELAXED);
    SIM(gp_sim_event_record(work.start, work.origin));
    work_on_branch(work.start, GP_SIM_STREAM_PER_THREAD, &block);
    pool_order(GP_SIM_STREAM_PER_THREAD, work.origin);

    pool_in_thread(work_on_own_per_thread_stream, &work);

    cr_assert(ne(ptr, work.block, block));
    replay(work.graph, work.origin, 2);
    pool_settle();
    SIM(gp_sim_graph_destroy(work.graph));
    GP(gp_arena_release(arena, work.origin));
    SIM(gp_sim_event_destroy(work.start));
}

Test(capture_arena, blocks_have_the_alignment_and_the_size_that_were_asked_for)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    for (size_t alignment = 1; alignment <= MIB(2); alignment *= 2) {
        for (size_t bytes = 1; bytes <= MIB(4); bytes = 3 * bytes + 1) {
            void *block = NULL;
            size_t usable = 0;
            GP(gp_alloc_aligned_from_pool_async(&block, bytes, alignment, pool, stream));
            GP(gp_usable_size(block, &usable));
            cr_assert(eq(sz, (uintptr_t)block % (alignment < 512 ? 512 : alignment), 0));
            cr_assert(le(sz, bytes, usable));
            pool_write(block, bytes, stream);
        }
    }
    gp_sim_graph graph = finish(stream);
    replay(graph, stream, 1);
    pool_settle();
    GP(gp_pool_check(pool));
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

Test(capture_arena, zero_bytes_take_nothing)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *none = &arena;

    GP(gp_alloc_from_pool_async(&none, 0, pool, stream));
    GP(gp_free_async(none, stream));

    cr_assert(eq(ptr, none, NULL));
    cr_assert(eq(u64, pool_stats().arena_bytes, 0));
    SIM(gp_sim_graph_destroy(finish(stream)));
    GP(gp_arena_release(arena, stream));
}

Test(capture_arena, of_an_attached_stream_needs_the_announcement_only)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(1), stream);
    GP(gp_capture_begin(pool, stream));
    captured work = capture_work(MIB(1), stream);
    GP(gp_capture_end(pool, stream));

    for (int i = 0; i < 5; i++) {
        pool_use(MIB(1), stream);
        replay(work.graph, stream, 1);
    }

    pool_settle();
    end_work(&work, stream);
    GP(gp_stream_detach(pool, stream));
}

/* ---- where the memory comes from ---- */

/* C25: a replay is ordered behind nothing, so what a stream may still use is not for a graph. */
Test(capture_arena, takes_no_block_whose_last_use_is_not_complete)
{
    const size_t sizes[] = {KIB(4), MIB(2), MIB(16)};
    for (int attached = 0; attached < 2; attached++) {
        for (int i = 0; i < 3; i++) {
            cudaStream_t busy = attached ? pool_attached_stream() : pool_stream();
            cudaStream_t stream = pool_stream();
            void *before = pool_alloc(sizes[i], busy);
            gp_sim_gate gate = pool_close_gate(busy);
            pool_write(before, sizes[i], busy);
            pool_free(before, busy);

            captured work = capture_work(sizes[i], stream);
            replay(work.graph, stream, 1);

            cr_assert(ne(ptr, work.block, before));
            SIM(gp_sim_stream_synchronize(stream)); /* it waits for nobody */
            pool_open_gate(gate);
            pool_settle();
            end_work(&work, stream);
            if (attached)
                GP(gp_stream_detach(pool, busy));
        }
    }
}

/* C25: a stream that is alone in its pool leaves its memory to the commons without asking whether
 * it is done with it. */
Test(capture_arena, takes_nothing_that_a_stream_left_to_the_commons_for_itself)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t stream = pool_stream();
    void *before[8];
    gp_sim_gate gate = pool_close_gate(busy);
    for (int i = 0; i < 8; i++) {
        before[i] = pool_alloc(MIB(16), busy);
        pool_write(before[i], MIB(16), busy);
    }
    for (int i = 0; i < 8; i++)
        pool_free(before[i], busy);
    void *larger = pool_alloc(MIB(20), busy); /* what was freed is joined for it */

    captured work = capture_work(MIB(16), stream);
    replay(work.graph, stream, 1);
    SIM(gp_sim_stream_synchronize(stream));

    pool_open_gate(gate);
    pool_settle();
    pool_free(larger, busy);
    end_work(&work, stream);
}

/* A capturing stream cannot be made to wait for it, and a replay would not either. */
Test(capture_arena, takes_no_native_memory_before_the_device_is_past_its_allocation)
{
    gp_pool_config config = pool_config();
    config.capture = GP_CAPTURE_ARENA;
    config.visible_order = true; /* where gp asks whether it is */
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *none = NULL;
    gp_sim_fail(GP_SIM_FN_STREAM_QUERY, 1, UINT64_MAX, 600);

    FAILS(GP_ERR_CAPTURE, gp_alloc_from_pool_async(&none, MIB(1), pool, stream));

    gp_sim_fail(GP_SIM_FN_STREAM_QUERY, 0, 0, 0);
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    pool_use(MIB(1), stream);
    SIM(gp_sim_graph_destroy(finish(stream)));
    GP(gp_arena_release(arena, stream));
}

/* The same stream's own cache: the graph may be replayed on any other. */
Test(capture_arena, takes_nothing_out_of_its_own_streams_cache_either)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t other = pool_stream();
    void *before = pool_alloc(MIB(2), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_write(before, MIB(2), stream);
    pool_free(before, stream);

    captured work = capture_work(MIB(2), stream);
    replay(work.graph, other, 1);
    SIM(gp_sim_stream_synchronize(other));

    pool_open_gate(gate);
    pool_settle();
    end_work(&work, other);
}

Test(capture_arena, takes_idle_memory_before_the_pool_grows)
{
    cudaStream_t stream = pool_stream();
    pool_use(MIB(32), stream);
    pool_settle();
    uint64_t reserved = pool_stats().reserved_bytes;

    captured work = capture_work(MIB(24), stream);

    cr_assert(eq(u64, pool_stats().reserved_bytes, reserved));
    replay(work.graph, stream, 2);
    pool_settle();
    end_work(&work, stream);
}

/* C22: the request cannot be met, which costs nobody the capture. */
Test(capture_arena, request_that_cannot_be_met_leaves_the_capture_valid)
{
    gp_pool_config config = pool_config();
    config.capture = GP_CAPTURE_ARENA;
    config.max_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *held = pool_alloc(MIB(40), stream);
    gp_pool_stats before = pool_stats();
    void *none = NULL;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(32), pool, stream));
    cr_assert(ne(ptr, strstr(gp_last_error(), "inside a capture"), NULL));
    gp_sim_fail(GP_SIM_FN_MALLOC, 1, 100, 2);
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, MIB(20), pool, stream));
    cr_assert(eq(int, gp_last_native_error(), 2));
    gp_sim_fail(GP_SIM_FN_MALLOC, 0, 0, 0);

    cr_assert(eq(ptr, none, NULL));
    cr_assert(eq(u64, pool_stats().arena_bytes, before.arena_bytes));
    void *small = pool_alloc(KIB(4), stream);
    pool_write(small, KIB(4), stream);
    pool_write(held, MIB(40), stream);
    gp_sim_graph graph = finish(stream);
    replay(graph, stream, 2);
    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

Test(capture_arena, at_the_limit_gets_what_lies_idle_in_pieces_and_in_thread_caches)
{
    gp_pool_config config = pool_config();
    config.capture = GP_CAPTURE_ARENA;
    config.max_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    void *pieces[16];
    for (int i = 0; i < 16; i++)
        pieces[i] = pool_alloc(MIB(3), stream);
    for (int i = 0; i < 16; i++)
        pool_free(pieces[i], stream);
    pool_use(KIB(4), stream);

    captured work = capture_work(MIB(60), stream);

    replay(work.graph, stream, 2);
    pool_settle();
    end_work(&work, stream);
}

Test(capture_arena, native_calls_that_fail_change_nothing)
{
    static const gp_sim_function functions[] = {
        GP_SIM_FN_STREAM_GET_CAPTURE_INFO, GP_SIM_FN_STREAM_IS_CAPTURING, GP_SIM_FN_MALLOC,
        GP_SIM_FN_STREAM_CREATE, GP_SIM_FN_EXCHANGE_CAPTURE_MODE};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        gp_pool_config config = pool_config();
        config.capture = GP_CAPTURE_ARENA;
        pool_reopen(NULL, &config);
        cudaStream_t stream = pool_stream();
        gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
        void *none = NULL;
        gp_sim_fail(functions[i], 1, 1, 999);

        FAILS(GP_ERR_CUDA, gp_alloc_from_pool_async(&none, MIB(1), pool, stream));

        gp_sim_fail(functions[i], 0, 0, 0);
        cr_assert(eq(u64, pool_stats().arena_bytes, 0));
        pool_use(MIB(1), stream);
        gp_sim_graph graph = finish(stream);
        replay(graph, stream, 1);
        pool_settle();
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
    }
}

/* ---- after the capture ---- */

/* C25: eager work goes on between the replays, and trims. */
Test(capture_arena, eager_work_gets_no_block_of_a_graph_between_its_replays)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t other = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    pool_use(MIB(4), stream);
    pool_use(KIB(4), stream);
    gp_sim_graph graph = finish(stream);

    for (int i = 0; i < 20; i++) {
        void *kept = pool_alloc(MIB(4), other);
        pool_write(kept, MIB(4), other);
        replay(graph, stream, 1);
        pool_use(KIB(4), other);
        pool_read(kept, MIB(4), other);
        pool_free(kept, other);
        GP(gp_pool_trim_to(pool, 0));
    }

    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

Test(capture_arena, block_that_the_graph_leaves_live_is_the_callers_until_the_release)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t reader = pool_stream();
    captured work = capture_work(KIB(64), stream);
    size_t usable = 0;

    replay(work.graph, stream, 1);
    pool_order(stream, reader);
    pool_read(work.block, KIB(64), reader);
    GP(gp_usable_size(work.block, &usable));
    FAILS(GP_ERR_NOT_OWNED, gp_record_use(work.block, reader));
    pool_order(reader, stream);
    end_work(&work, stream);

    cr_assert(eq(sz, usable, KIB(64)));
    cr_assert(ne(int, (int)gp_free_async(work.block, stream), (int)GP_OK));
    cr_assert(ne(int, (int)gp_usable_size(work.block, &usable), (int)GP_OK));
}

/* The graph still works on it: nobody gets it before the release. */
Test(capture_arena, block_freed_outside_the_capture_stays_with_the_graph)
{
    cudaStream_t stream = pool_stream();
    captured work = capture_work(MIB(1), stream);

    GP(gp_free_async(work.block, stream));
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(work.block, stream));

    for (int i = 0; i < 5; i++) {
        void *eager = pool_alloc(MIB(1), stream);
        cr_assert(ne(ptr, eager, work.block));
        pool_write(eager, MIB(1), stream);
        replay(work.graph, stream, 1);
        pool_read(eager, MIB(1), stream);
        pool_free(eager, stream);
    }
    pool_settle();
    GP(gp_pool_check(pool));
    end_work(&work, stream);
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

/* An eager free is ordered behind nothing in the graph. */
Test(capture_arena, block_freed_outside_a_capture_that_is_open_is_not_reused_in_it)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t eager = pool_stream();
    cudaStream_t second = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_RELAXED);
    gp_arena *other = begin(second, GP_SIM_CAPTURE_RELAXED);
    void *blocks[2];
    for (int i = 0; i < 2; i++)
        blocks[i] = pool_alloc(MIB(1), stream);
    pool_free(blocks[0], eager);
    pool_free(blocks[1], second); /* a capture, but another one */

    void *next[2];
    for (int i = 0; i < 2; i++)
        next[i] = pool_alloc(MIB(1), stream);
    void *of_second = pool_alloc(MIB(1), second);
    pool_order(stream, eager); /* which takes part from here on */
    void *of_eager = pool_alloc(MIB(1), eager);
    pool_order(eager, stream);

    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++)
            cr_assert(ne(ptr, next[i], blocks[k]));
        cr_assert(ne(ptr, of_second, blocks[i]));
        cr_assert(ne(ptr, of_eager, blocks[i]));
    }
    SIM(gp_sim_graph_destroy(finish(stream)));
    SIM(gp_sim_graph_destroy(finish(second)));
    GP(gp_arena_release(arena, eager));
    GP(gp_arena_release(other, eager));
}

/* C70, C71: what is no live block of the arena is refused and named. */
Test(capture_arena, bad_frees_are_named_and_change_nothing)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    char *block = pool_alloc(KIB(4), stream);
    char *gone = pool_alloc(KIB(4), stream);
    pool_free(gone, stream);

    FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + 1, stream));
    FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + 512, stream));
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(gone, stream));
    FAILS(GP_ERR_NOT_OWNED, gp_free_async(block + MIB(1), stream));

    pool_free(block, stream);
    SIM(gp_sim_graph_destroy(finish(stream)));
    GP(gp_arena_release(arena, stream));
}

/* C24: each graph has its own; whatever goes first leaves the other alone. */
Test(capture_arena, two_graphs_are_replayed_and_released_in_any_order)
{
    for (int first = 0; first < 2; first++) {
        cudaStream_t stream = pool_stream();
        cudaStream_t other = pool_stream();
        captured work[2];
        for (int i = 0; i < 2; i++) {
            work[i].arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
            pool_use(MIB(8), stream);
            pool_use(KIB(4), stream);
            work[i].graph = finish(stream);
        }
        cr_assert(ne(ptr, (void *)work[0].arena, (void *)work[1].arena));
        for (int i = 0; i < 6; i++)
            replay(work[i % 2].graph, i % 3 == 0 ? stream : other, 1), pool_settle();

        end_work(&work[first], other);
        GP(gp_pool_trim_to(pool, 0));
        pool_use(MIB(8), other);
        pool_use(KIB(4), other);
        replay(work[1 - first].graph, stream, 3);

        pool_settle();
        end_work(&work[1 - first], stream);
        cr_assert(eq(u64, pool_stats().live_bytes, 0));
    }
}

/* ---- the release ---- */

/* The last replay is still held back: the memory is for the stream of the release at once. */
Test(capture_arena, memory_is_free_in_the_order_of_the_stream_of_the_release)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t owner = pool_stream();
    captured work = capture_work(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    replay(work.graph, stream, 1);
    pool_order(stream, owner);

    end_work(&work, owner);
    void *next = pool_alloc(MIB(8), owner);
    pool_write(next, MIB(8), owner);

    cr_assert(eq(ptr, next, work.block));
    pool_open_gate(gate);
    pool_settle();
    pool_free(next, owner);
}

/* And for others after that, be they graphs. */
Test(capture_arena, memory_is_not_free_for_others_before_the_last_replay_is_complete)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t owner = pool_stream();
    cudaStream_t third = pool_stream();
    captured work = capture_work(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    replay(work.graph, stream, 1);
    pool_order(stream, owner);

    end_work(&work, owner);
    captured next = capture_work(MIB(8), third);
    replay(next.graph, third, 1);
    pool_use(MIB(8), third);

    cr_assert(ne(ptr, next.block, work.block));
    pool_open_gate(gate);
    pool_settle();
    end_work(&next, third);
}

/* The checker hears the piece's end: so a release that is not ordered is the caller's fault, and
 * found. */
Test(capture_arena, release_that_is_not_ordered_behind_a_replay_is_caught_by_the_checker)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t owner = pool_stream();
    captured work = capture_work(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    replay(work.graph, stream, 1);

    end_work(&work, owner);

    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
    pool_open_gate(gate);
    SIM(gp_sim_device_synchronize());
    GP(gp_pool_destroy(pool));
    pool = NULL;
    gp_sim_config machine = pool_machine();
    pool_drop_stream(stream);
    pool_drop_stream(owner);
    GP(gp_sim_reset(&machine)); /* which knows of no hazard */
    gp_pool_config config = pool_config();
    pool_reopen(&machine, &config);
}

Test(capture_arena, trim_leaves_the_memory_of_graphs_alone_and_takes_it_after_the_release)
{
    cudaStream_t stream = pool_stream();
    captured work = capture_work(MIB(16), stream);

    GP(gp_pool_trim_to(pool, 0));
    cr_assert(le(u64, MIB(16), pool_stats().reserved_bytes));
    replay(work.graph, stream, 1);
    pool_settle();
    end_work(&work, stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(capture_arena, is_reused_by_the_captures_that_come_after_it)
{
    cudaStream_t stream = pool_stream();
    uint64_t reserved = 0;
    for (int i = 0; i < 50; i++) {
        gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
        pool_use(MIB(8), stream);
        pool_use(KIB(4), stream);
        gp_sim_graph graph = finish(stream);
        replay(graph, stream, 1);
        pool_settle();
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
        if (i == 0)
            reserved = pool_stats().reserved_bytes;
    }
    cr_assert(eq(u64, pool_stats().reserved_bytes_high, reserved));
}

Test(capture_arena, of_a_capture_that_was_invalidated_is_released_like_any_other)
{
    cudaStream_t stream = pool_stream();
    uint64_t id = 0;
    gp_sim_graph graph = NULL;
    gp_arena *arena = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *block = pool_alloc(MIB(1), stream);
    void *none = NULL;
    gp_arena *no_arena = NULL;
    cr_assert(eq(int, gp_sim_stream_get_id(stream, &id), 900));

    FAILS(GP_ERR_CAPTURE, gp_alloc_from_pool_async(&none, MIB(1), pool, stream));
    FAILS(GP_ERR_CAPTURE, gp_capture_get_arena(pool, &no_arena, stream));
    GP(gp_free_async(block, stream));

    cr_assert(eq(int, gp_sim_end_capture(stream, &graph), 901));
    GP(gp_arena_release(arena, stream));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

Test(capture_arena, is_refused_where_there_is_none)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = NULL;
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_capture_get_arena(pool, NULL, stream));
    FAILS(GP_ERR_INVALID_POOL, gp_capture_get_arena(NULL, &arena, stream));
    FAILS(GP_ERR_CAPTURE, gp_capture_get_arena(pool, &arena, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_arena_release(NULL, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_arena_release((gp_arena *)(uintptr_t)0x1000, stream));
    cr_assert(eq(ptr, (void *)arena, NULL));

    gp_arena *made = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    gp_arena *again = NULL;
    GP(gp_capture_get_arena(pool, &again, stream));
    cr_assert(eq(ptr, (void *)made, (void *)again));
    FAILS(GP_ERR_CAPTURE, gp_arena_release(made, stream));
    SIM(gp_sim_graph_destroy(finish(stream)));
    GP(gp_arena_release(made, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_arena_release(made, stream));

    gp_pool_config config = pool_config();
    pool_reopen(NULL, &config);
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_capture_get_arena(pool, &arena, stream));
    SIM(gp_sim_graph_destroy(finish(stream)));
}

Test(capture_arena, keeps_its_pool_from_being_destroyed_unless_that_is_forced)
{
    cudaStream_t stream = pool_stream();
    gp_arena *empty = begin(stream, GP_SIM_CAPTURE_GLOBAL);
    SIM(gp_sim_graph_destroy(finish(stream)));
    FAILS(GP_ERR_BUSY, gp_pool_destroy(pool));
    GP(gp_arena_release(empty, stream));

    captured work = capture_work(MIB(8), stream);
    pool_free(work.block, stream);
    FAILS(GP_ERR_BUSY, gp_pool_destroy(pool));
    cr_assert(ne(ptr, strstr(gp_last_error(), "(8388608 bytes"), NULL));
    replay(work.graph, stream, 1);

    GP(gp_pool_destroy_forced(pool));
    pool = NULL;

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_arena_release(work.arena, stream));
    SIM(gp_sim_graph_destroy(work.graph));
}

/* The pool never saw the stream of the replay. */
Test(capture_arena, forced_end_of_the_pool_waits_for_replays_on_streams_it_does_not_know)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t unknown = pool_stream();
    GP(gp_capture_begin(pool, stream));
    captured work = capture_work(MIB(8), stream);
    GP(gp_capture_end(pool, stream));
    replay(work.graph, unknown, 10);

    GP(gp_pool_destroy_forced(pool));
    pool = NULL;

    pool_settle();
    SIM(gp_sim_graph_destroy(work.graph));
}

static bool count_pieces(const gp_walk_entry *entry, void *user)
{
    size_t *bytes = user;
    cr_assert(ne(int, (int)entry->kind, (int)GP_WALK_LIVE));
    if (entry->kind == GP_WALK_ARENA)
        *bytes += entry->bytes;
    return true;
}

Test(capture_arena, is_seen_by_a_walk_piece_by_piece)
{
    cudaStream_t stream = pool_stream();
    size_t bytes = 0;
    captured work = capture_work(KIB(4), stream);
    pool_free(work.block, stream);

    GP(gp_pool_walk(pool, count_pieces, &bytes));

    cr_assert(eq(sz, bytes, (size_t)pool_stats().arena_bytes));
    end_work(&work, stream);
}

/* The arena is part of the peak while it lives, and no later one's. */
Test(capture_arena, is_part_of_the_peak_of_live_bytes)
{
    cudaStream_t stream = pool_stream();
    pool_use(MIB(64), stream);
    captured work = capture_work(MIB(8), stream);
    cr_assert(eq(u64, pool_stats().live_bytes_high, MIB(64)));

    pool_use(MIB(64), stream);
    cr_assert(eq(u64, pool_stats().live_bytes_high, MIB(72)));
    end_work(&work, stream);
    pool_use(MIB(68), stream);

    cr_assert(eq(u64, pool_stats().live_bytes_high, MIB(72)));
}

Test(capture_arena, of_a_parent_is_left_alone_by_a_forked_child)
{
    cudaStream_t stream = pool_stream();
    captured work = capture_work(MIB(1), stream);
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        gp_arena *none = NULL;
        size_t bytes = 0;
        bool good = gp_arena_release(work.arena, stream) == GP_ERR_WRONG_PROCESS &&
                    gp_capture_get_arena(pool, &none, stream) == GP_ERR_WRONG_PROCESS &&
                    gp_free_async(work.block, stream) == GP_OK &&
                    gp_usable_size(work.block, &bytes) == GP_ERR_NOT_OWNED;
        _exit(good ? 0 : 1);
    }
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(eq(int, status, 0));

    replay(work.graph, stream, 1);
    pool_settle();
    end_work(&work, stream);
}

/* ---- threads ---- */

static void use_the_pool(void *argument)
{
    cudaStream_t stream = argument;
    for (int i = 0; i < 50; i++) {
        pool_use(MIB(1), stream);
        pool_use(KIB(4), stream);
        GP(gp_pool_trim_to(pool, 0));
    }
}

/* C29: others allocate, free and trim meanwhile. */
Test(capture_arena, of_an_open_capture_disturbs_no_other_thread)
{
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = pool_stream();
        gp_arena *arena = begin(stream, modes[i]);
        pool_use(MIB(1), stream);

        pool_in_thread(use_the_pool, pool_stream());

        pool_use(MIB(1), stream);
        gp_sim_graph graph = finish(stream);
        replay(graph, stream, 2);
        pool_settle();
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
    }
}
