/* Captures in pools with GP_CAPTURE_ARENA: what a graph's blocks are, and where they come from. */
#include "arena_fixture.h"

#include <string.h>

TestSuite(capture_arena, .init = arena_open, .fini = pool_close);

/* ---- in the capture ---- */

Test(capture_arena, blocks_are_no_nodes_of_the_graph_and_stay_reserved_until_its_release)
{
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = pool_stream();
        gp_arena *arena = arena_begin(stream, arena_modes[i]);
        uint64_t native = gp_sim_call_count(GP_SIM_FN_MALLOC);
        pool_use(KIB(1), stream);
        pool_use(MIB(3), stream);
        gp_sim_graph graph = arena_finish(stream);
        gp_pool_stats during = pool_stats();
        arena_replay(graph, stream, 3);

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
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
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

    gp_sim_graph graph = arena_finish(stream);
    arena_replay(graph, stream, 5);
    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

/* Neighbours that were freed on one stream make room for something larger. */
Test(capture_arena, blocks_freed_in_the_capture_are_joined)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
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
    SIM(gp_sim_graph_destroy(arena_finish(stream)));
    GP(gp_arena_release(arena, stream));
}

/* The branches of a graph run side by side. */
Test(capture_arena, block_freed_on_one_branch_is_not_given_to_another)
{
    const size_t sizes[] = {KIB(4), MIB(4)};
    for (int i = 0; i < 2; i++) {
        cudaStream_t origin = pool_stream();
        cudaStream_t branch = pool_stream();
        gp_arena *arena = arena_begin(origin, GP_SIM_CAPTURE_GLOBAL);
        pool_order(origin, branch);
        void *first = pool_alloc(sizes[i], origin);
        pool_write(first, sizes[i], origin);
        pool_free(first, origin);

        void *second = pool_alloc(sizes[i], branch);
        pool_write(second, sizes[i], branch);

        cr_assert(ne(ptr, first, second));
        pool_order(branch, origin);
        gp_sim_graph graph = arena_finish(origin);
        arena_replay(graph, origin, 5);
        pool_settle();
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, origin));
    }
}

Test(capture_arena, block_freed_on_another_branch_serves_that_branch)
{
    cudaStream_t origin = pool_stream();
    cudaStream_t branch = pool_stream();
    gp_arena *arena = arena_begin(origin, GP_SIM_CAPTURE_GLOBAL);
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
    gp_sim_graph graph = arena_finish(origin);
    arena_replay(graph, origin, 5);
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
    work->graph = arena_finish(work->origin);
}

/* C17: one handle, a stream for each thread. */
Test(capture_arena, per_thread_handle_is_another_branch_in_each_thread)
{
    forked work = {.origin = pool_stream()};
    void *block = NULL;
    SIM(gp_sim_event_create(&work.start));
    gp_arena *arena = arena_begin(work.origin, GP_SIM_CAPTURE_RELAXED);
    SIM(gp_sim_event_record(work.start, work.origin));
    work_on_branch(work.start, GP_SIM_STREAM_PER_THREAD, &block);
    pool_order(GP_SIM_STREAM_PER_THREAD, work.origin);

    pool_in_thread(work_on_own_per_thread_stream, &work);

    cr_assert(ne(ptr, work.block, block));
    arena_replay(work.graph, work.origin, 2);
    pool_settle();
    SIM(gp_sim_graph_destroy(work.graph));
    GP(gp_arena_release(arena, work.origin));
    SIM(gp_sim_event_destroy(work.start));
}

Test(capture_arena, blocks_have_the_alignment_and_the_size_that_were_asked_for)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
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
    gp_sim_graph graph = arena_finish(stream);
    arena_replay(graph, stream, 1);
    pool_settle();
    GP(gp_pool_check(pool));
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

Test(capture_arena, zero_bytes_take_nothing)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *none = &arena;

    GP(gp_alloc_from_pool_async(&none, 0, pool, stream));
    GP(gp_free_async(none, stream));

    cr_assert(eq(ptr, none, NULL));
    cr_assert(eq(u64, pool_stats().arena_bytes, 0));
    SIM(gp_sim_graph_destroy(arena_finish(stream)));
    GP(gp_arena_release(arena, stream));
}

Test(capture_arena, of_an_attached_stream_needs_the_announcement_only)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(1), stream);
    GP(gp_capture_begin(pool, stream));
    arena_graph work = arena_capture(MIB(1), stream);
    GP(gp_capture_end(pool, stream));

    for (int i = 0; i < 5; i++) {
        pool_use(MIB(1), stream);
        arena_replay(work.graph, stream, 1);
    }

    pool_settle();
    arena_end(&work, stream);
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

            arena_graph work = arena_capture(sizes[i], stream);
            arena_replay(work.graph, stream, 1);

            cr_assert(ne(ptr, work.block, before));
            SIM(gp_sim_stream_synchronize(stream)); /* it waits for nobody */
            pool_open_gate(gate);
            pool_settle();
            arena_end(&work, stream);
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

    arena_graph work = arena_capture(MIB(16), stream);
    arena_replay(work.graph, stream, 1);
    SIM(gp_sim_stream_synchronize(stream));

    pool_open_gate(gate);
    pool_settle();
    pool_free(larger, busy);
    arena_end(&work, stream);
}

/* A capturing stream cannot be made to wait for it, and a replay would not either. */
Test(capture_arena, takes_no_native_memory_before_the_device_is_past_its_allocation)
{
    gp_pool_config config = arena_config();
    config.visible_order = true; /* where gp asks whether it is */
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *none = NULL;
    gp_sim_fail(GP_SIM_FN_STREAM_QUERY, 1, UINT64_MAX, 600);

    FAILS(GP_ERR_CAPTURE, gp_alloc_from_pool_async(&none, MIB(1), pool, stream));

    gp_sim_fail(GP_SIM_FN_STREAM_QUERY, 0, 0, 0);
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    pool_use(MIB(1), stream);
    SIM(gp_sim_graph_destroy(arena_finish(stream)));
    GP(gp_arena_release(arena, stream));
}

/* A checker takes a piece of idle memory for a block that begins now, and so does the host. */
Test(capture_arena, takes_no_idle_memory_whose_beginning_the_host_does_not_see)
{
    gp_pool_config config = arena_config();
    config.initial_bytes = MIB(64);
    config.visible_order = true; /* where gp asks whether it is seen */
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *block = NULL;
    gp_sim_fail(GP_SIM_FN_STREAM_QUERY, 1, UINT64_MAX, 600);

    FAILS(GP_ERR_CAPTURE, gp_alloc_from_pool_async(&block, MIB(24), pool, stream));
    gp_sim_fail(GP_SIM_FN_STREAM_QUERY, 0, 0, 0);
    GP(gp_alloc_from_pool_async(&block, MIB(24), pool, stream));

    pool_write(block, MIB(24), stream);
    gp_sim_graph graph = arena_finish(stream);
    arena_replay(graph, stream, 1);
    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
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

    arena_graph work = arena_capture(MIB(2), stream);
    arena_replay(work.graph, other, 1);
    SIM(gp_sim_stream_synchronize(other));

    pool_open_gate(gate);
    pool_settle();
    arena_end(&work, other);
}

Test(capture_arena, takes_idle_memory_before_the_pool_grows)
{
    cudaStream_t stream = pool_stream();
    pool_use(MIB(32), stream);
    pool_settle();
    uint64_t reserved = pool_stats().reserved_bytes;

    arena_graph work = arena_capture(MIB(24), stream);

    cr_assert(eq(u64, pool_stats().reserved_bytes, reserved));
    arena_replay(work.graph, stream, 2);
    pool_settle();
    arena_end(&work, stream);
}

/* C22: the request cannot be met, which costs nobody the capture. */
Test(capture_arena, request_that_cannot_be_met_leaves_the_capture_valid)
{
    gp_pool_config config = arena_config();
    config.max_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    void *held = pool_alloc(MIB(40), stream);
    gp_pool_stats before = pool_stats();
    void *none = NULL;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(32), pool, stream));
    cr_assert(ne(ptr, strstr(gp_last_error(), "bytes asked"), NULL));
    gp_sim_fail(GP_SIM_FN_MALLOC, 1, 100, 2);
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, MIB(20), pool, stream));
    cr_assert(eq(int, gp_last_native_error(), 2));
    gp_sim_fail(GP_SIM_FN_MALLOC, 0, 0, 0);

    cr_assert(eq(ptr, none, NULL));
    cr_assert(eq(u64, pool_stats().arena_bytes, before.arena_bytes));
    void *small = pool_alloc(KIB(4), stream);
    pool_write(small, KIB(4), stream);
    pool_write(held, MIB(40), stream);
    gp_sim_graph graph = arena_finish(stream);
    arena_replay(graph, stream, 2);
    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

static bool give_up_held(void *user, gp_pool *from, size_t bytes_missing)
{
    arena_graph *held = user;
    (void)from;
    (void)bytes_missing;
    if (held->graph == NULL)
        return false;
    arena_end(held, pool_stream());
    *held = (arena_graph){.graph = NULL};
    return true;
}

/* The owner of an older graph lets go of it. */
Test(capture_arena, asks_the_caller_for_memory_before_a_request_in_a_capture_fails)
{
    arena_graph held = {.graph = NULL};
    gp_pool_config config = arena_config();
    config.max_bytes = MIB(64);
    config.on_pressure = give_up_held;
    config.pressure_user = &held;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    held = arena_capture(MIB(40), stream);

    arena_graph next = arena_capture(MIB(48), stream);

    cr_assert(eq(ptr, (void *)held.graph, NULL));
    arena_replay(next.graph, stream, 1);
    pool_settle();
    arena_end(&next, stream);
}

/* As little as a small block needs, where there is no more, and every byte of it comes back. */
Test(capture_arena, small_block_fits_in_what_is_left_at_the_limit)
{
    gp_pool_config config = arena_config();
    config.max_bytes = MIB(62);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    for (int i = 0; i < 3; i++)
        (void)pool_alloc(MIB(20), stream);
    (void)pool_alloc(KIB(576), stream);
    for (int i = 0; i < 4; i++)
        pool_write(pool_alloc(KIB(64), stream), KIB(64), stream);
    GP(gp_pool_check(pool));
    gp_sim_graph graph = arena_finish(stream);
    arena_replay(graph, stream, 2);
    pool_settle();

    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
    pool_use(MIB(20), stream);
    pool_use(MIB(1), stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    GP(gp_pool_check(pool));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(capture_arena, at_the_limit_gets_what_lies_idle_in_pieces_and_in_thread_caches)
{
    gp_pool_config config = arena_config();
    config.max_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    void *pieces[16];
    for (int i = 0; i < 16; i++)
        pieces[i] = pool_alloc(MIB(3), stream);
    for (int i = 0; i < 16; i++)
        pool_free(pieces[i], stream);
    pool_use(KIB(4), stream);

    arena_graph work = arena_capture(MIB(60), stream);

    arena_replay(work.graph, stream, 2);
    pool_settle();
    arena_end(&work, stream);
}

Test(capture_arena, native_calls_that_fail_change_nothing)
{
    static const gp_sim_function functions[] = {
        GP_SIM_FN_STREAM_GET_CAPTURE_INFO, GP_SIM_FN_STREAM_IS_CAPTURING, GP_SIM_FN_MALLOC,
        GP_SIM_FN_STREAM_CREATE, GP_SIM_FN_EXCHANGE_CAPTURE_MODE};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        gp_pool_config config = arena_config();
        pool_reopen(NULL, &config);
        cudaStream_t stream = pool_stream();
        gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
        void *none = NULL;
        gp_sim_fail(functions[i], 1, 1, 999);

        FAILS(GP_ERR_CUDA, gp_alloc_from_pool_async(&none, MIB(1), pool, stream));

        gp_sim_fail(functions[i], 0, 0, 0);
        cr_assert(eq(u64, pool_stats().arena_bytes, 0));
        pool_use(MIB(1), stream);
        gp_sim_graph graph = arena_finish(stream);
        arena_replay(graph, stream, 1);
        pool_settle();
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
    }
}
