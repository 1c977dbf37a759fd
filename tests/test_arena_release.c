/* Arenas of captures after the capture: a graph's blocks are its own until its owner says so. */
#include "arena_fixture.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(arena_release, .init = arena_open, .fini = pool_close);

/* ---- after the capture ---- */

/* C25: eager work goes on between the replays, and trims. */
Test(arena_release, eager_work_gets_no_block_of_a_graph_between_its_replays)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t other = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    pool_use(MIB(4), stream);
    pool_use(KIB(4), stream);
    gp_sim_graph graph = arena_finish(stream);

    for (int i = 0; i < 20; i++) {
        void *kept = pool_alloc(MIB(4), other);
        pool_write(kept, MIB(4), other);
        arena_replay(graph, stream, 1);
        pool_use(KIB(4), other);
        pool_read(kept, MIB(4), other);
        pool_free(kept, other);
        GP(gp_pool_trim_to(pool, 0));
    }

    pool_settle();
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

Test(arena_release, block_that_the_graph_leaves_live_is_the_callers_until_the_release)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t reader = pool_stream();
    arena_graph work = arena_capture(KIB(64), stream);
    size_t usable = 0;

    arena_replay(work.graph, stream, 1);
    pool_order(stream, reader);
    pool_read(work.block, KIB(64), reader);
    GP(gp_usable_size(work.block, &usable));
    FAILS(GP_ERR_NOT_OWNED, gp_record_use(work.block, reader));
    pool_order(reader, stream);
    arena_end(&work, stream);

    cr_assert(eq(sz, usable, KIB(64)));
    cr_assert(ne(int, (int)gp_free_async(work.block, stream), (int)GP_OK));
    cr_assert(ne(int, (int)gp_usable_size(work.block, &usable), (int)GP_OK));
}

/* The graph still works on it: nobody gets it before the release. */
Test(arena_release, block_freed_outside_the_capture_stays_with_the_graph)
{
    cudaStream_t stream = pool_stream();
    arena_graph work = arena_capture(MIB(1), stream);

    GP(gp_free_async(work.block, stream));
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(work.block, stream));

    for (int i = 0; i < 5; i++) {
        void *eager = pool_alloc(MIB(1), stream);
        cr_assert(ne(ptr, eager, work.block));
        pool_write(eager, MIB(1), stream);
        arena_replay(work.graph, stream, 1);
        pool_read(eager, MIB(1), stream);
        pool_free(eager, stream);
    }
    pool_settle();
    GP(gp_pool_check(pool));
    arena_end(&work, stream);
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

/* An eager free is ordered behind nothing in the graph. */
Test(arena_release, block_freed_outside_a_capture_that_is_open_is_not_reused_in_it)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t eager = pool_stream();
    cudaStream_t second = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_RELAXED);
    gp_arena *other = arena_begin(second, GP_SIM_CAPTURE_RELAXED);
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
    SIM(gp_sim_graph_destroy(arena_finish(stream)));
    SIM(gp_sim_graph_destroy(arena_finish(second)));
    GP(gp_arena_release(arena, eager));
    GP(gp_arena_release(other, eager));
}

/* C70, C71: what is no live block of the arena is refused and named. */
Test(arena_release, bad_frees_are_named_and_change_nothing)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    char *block = pool_alloc(KIB(4), stream);
    char *gone = pool_alloc(KIB(4), stream);
    pool_free(gone, stream);

    FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + 1, stream));
    FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + 512, stream));
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(gone, stream));
    FAILS(GP_ERR_NOT_OWNED, gp_free_async(block + MIB(1), stream));

    pool_free(block, stream);
    SIM(gp_sim_graph_destroy(arena_finish(stream)));
    GP(gp_arena_release(arena, stream));
}

/* C24: each graph has its own; whatever goes first leaves the other alone. */
Test(arena_release, two_graphs_are_replayed_and_released_in_any_order)
{
    for (int first = 0; first < 2; first++) {
        cudaStream_t stream = pool_stream();
        cudaStream_t other = pool_stream();
        arena_graph work[2];
        for (int i = 0; i < 2; i++) {
            work[i].arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
            pool_use(MIB(8), stream);
            pool_use(KIB(4), stream);
            work[i].graph = arena_finish(stream);
        }
        cr_assert(ne(ptr, (void *)work[0].arena, (void *)work[1].arena));
        for (int i = 0; i < 6; i++)
            arena_replay(work[i % 2].graph, i % 3 == 0 ? stream : other, 1), pool_settle();

        arena_end(&work[first], other);
        GP(gp_pool_trim_to(pool, 0));
        pool_use(MIB(8), other);
        pool_use(KIB(4), other);
        arena_replay(work[1 - first].graph, stream, 3);

        pool_settle();
        arena_end(&work[1 - first], stream);
        cr_assert(eq(u64, pool_stats().live_bytes, 0));
    }
}

/* ---- the release ---- */

/* The last replay is still held back: the memory is for the stream of the release at once. */
Test(arena_release, memory_is_free_in_the_order_of_the_stream_of_the_release)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t owner = pool_stream();
    arena_graph work = arena_capture(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    arena_replay(work.graph, stream, 1);
    pool_order(stream, owner);

    arena_end(&work, owner);
    void *next = pool_alloc(MIB(8), owner);
    pool_write(next, MIB(8), owner);

    cr_assert(eq(ptr, next, work.block));
    pool_open_gate(gate);
    pool_settle();
    pool_free(next, owner);
}

/* And for others after that, be they graphs. */
Test(arena_release, memory_is_not_free_for_others_before_the_last_replay_is_complete)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t owner = pool_stream();
    cudaStream_t third = pool_stream();
    arena_graph work = arena_capture(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    arena_replay(work.graph, stream, 1);
    pool_order(stream, owner);

    arena_end(&work, owner);
    arena_graph next = arena_capture(MIB(8), third);
    arena_replay(next.graph, third, 1);
    pool_use(MIB(8), third);

    cr_assert(ne(ptr, next.block, work.block));
    pool_open_gate(gate);
    pool_settle();
    arena_end(&next, third);
}

/* The checker hears the piece's end: so a release that is not ordered is the caller's fault, and
 * found. */
Test(arena_release, release_that_is_not_ordered_behind_a_replay_is_caught_by_the_checker)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t owner = pool_stream();
    arena_graph work = arena_capture(MIB(8), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    arena_replay(work.graph, stream, 1);

    arena_end(&work, owner);

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

Test(arena_release, trim_leaves_the_memory_of_graphs_alone_and_takes_it_after_the_release)
{
    cudaStream_t stream = pool_stream();
    arena_graph work = arena_capture(MIB(16), stream);

    GP(gp_pool_trim_to(pool, 0));
    cr_assert(le(u64, MIB(16), pool_stats().reserved_bytes));
    arena_replay(work.graph, stream, 1);
    pool_settle();
    arena_end(&work, stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(arena_release, is_reused_by_the_captures_that_come_after_it)
{
    cudaStream_t stream = pool_stream();
    uint64_t reserved = 0;
    for (int i = 0; i < 50; i++) {
        gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
        pool_use(MIB(8), stream);
        pool_use(KIB(4), stream);
        gp_sim_graph graph = arena_finish(stream);
        arena_replay(graph, stream, 1);
        pool_settle();
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
        if (i == 0)
            reserved = pool_stats().reserved_bytes;
    }
    cr_assert(eq(u64, pool_stats().reserved_bytes_high, reserved));
}

Test(arena_release, of_a_capture_that_was_invalidated_is_released_like_any_other)
{
    cudaStream_t stream = pool_stream();
    uint64_t id = 0;
    gp_sim_graph graph = NULL;
    gp_arena *arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
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

Test(arena_release, is_refused_where_there_is_none)
{
    cudaStream_t stream = pool_stream();
    gp_arena *arena = NULL;
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_capture_get_arena(pool, NULL, stream));
    FAILS(GP_ERR_INVALID_POOL, gp_capture_get_arena(NULL, &arena, stream));
    FAILS(GP_ERR_CAPTURE, gp_capture_get_arena(pool, &arena, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_arena_release(NULL, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_arena_release((gp_arena *)(uintptr_t)0x1000, stream));
    cr_assert(eq(ptr, (void *)arena, NULL));

    gp_arena *made = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    gp_arena *again = NULL;
    GP(gp_capture_get_arena(pool, &again, stream));
    cr_assert(eq(ptr, (void *)made, (void *)again));
    FAILS(GP_ERR_CAPTURE, gp_arena_release(made, stream));
    SIM(gp_sim_graph_destroy(arena_finish(stream)));
    GP(gp_arena_release(made, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_arena_release(made, stream));

    gp_pool_config config = pool_config();
    pool_reopen(NULL, &config);
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_capture_get_arena(pool, &arena, stream));
    SIM(gp_sim_graph_destroy(arena_finish(stream)));
}

Test(arena_release, keeps_its_pool_from_being_destroyed_unless_that_is_forced)
{
    cudaStream_t stream = pool_stream();
    gp_arena *empty = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL);
    SIM(gp_sim_graph_destroy(arena_finish(stream)));
    FAILS(GP_ERR_BUSY, gp_pool_destroy(pool));
    GP(gp_arena_release(empty, stream));

    arena_graph work = arena_capture(MIB(8), stream);
    pool_free(work.block, stream);
    FAILS(GP_ERR_BUSY, gp_pool_destroy(pool));
    cr_assert(ne(ptr, strstr(gp_last_error(), "(8388608 bytes"), NULL));
    arena_replay(work.graph, stream, 1);

    GP(gp_pool_destroy_forced(pool));
    pool = NULL;

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_arena_release(work.arena, stream));
    SIM(gp_sim_graph_destroy(work.graph));
}

/* The pool never saw the stream of the replay. */
Test(arena_release, forced_end_of_the_pool_waits_for_replays_on_streams_it_does_not_know)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t unknown = pool_stream();
    GP(gp_capture_begin(pool, stream));
    arena_graph work = arena_capture(MIB(8), stream);
    GP(gp_capture_end(pool, stream));
    arena_replay(work.graph, unknown, 10);

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

Test(arena_release, is_seen_by_a_walk_piece_by_piece)
{
    cudaStream_t stream = pool_stream();
    size_t bytes = 0;
    arena_graph work = arena_capture(KIB(4), stream);
    pool_free(work.block, stream);

    GP(gp_pool_walk(pool, count_pieces, &bytes));

    cr_assert(eq(sz, bytes, (size_t)pool_stats().arena_bytes));
    arena_end(&work, stream);
}

/* The arena is part of the peak while it lives, and no later one's. */
Test(arena_release, is_part_of_the_peak_of_live_bytes)
{
    cudaStream_t stream = pool_stream();
    pool_use(MIB(64), stream);
    arena_graph work = arena_capture(MIB(8), stream);
    cr_assert(eq(u64, pool_stats().live_bytes_high, MIB(64)));

    pool_use(MIB(64), stream);
    cr_assert(eq(u64, pool_stats().live_bytes_high, MIB(72)));
    arena_end(&work, stream);
    pool_use(MIB(68), stream);

    cr_assert(eq(u64, pool_stats().live_bytes_high, MIB(72)));
}

Test(arena_release, of_a_parent_is_left_alone_by_a_forked_child)
{
    cudaStream_t stream = pool_stream();
    arena_graph work = arena_capture(MIB(1), stream);
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

    arena_replay(work.graph, stream, 1);
    pool_settle();
    arena_end(&work, stream);
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
Test(arena_release, of_an_open_capture_disturbs_no_other_thread)
{
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = pool_stream();
        gp_arena *arena = arena_begin(stream, arena_modes[i]);
        pool_use(MIB(1), stream);

        pool_in_thread(use_the_pool, pool_stream());

        pool_use(MIB(1), stream);
        gp_sim_graph graph = arena_finish(stream);
        arena_replay(graph, stream, 2);
        pool_settle();
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
    }
}
