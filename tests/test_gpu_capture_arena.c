/* Graphs on arenas of their own (GP_CAPTURE_ARENA). Runs on the simulated device too. */
#include "gpu_fixture.h"

enum { REPLAYS = 50 };

/* GPU_TEST on a pool whose captures have arenas. */
#define ARENA_TEST(name)                                                                           \
    static void name##_on_arenas(void);                                                            \
    GPU_TEST(gpu_capture_arena, name)                                                              \
    {                                                                                              \
        gp_pool_config config = gpu_config();                                                      \
        config.capture = GP_CAPTURE_ARENA;                                                         \
        gpu_reopen(&config);                                                                       \
        name##_on_arenas();                                                                        \
    }                                                                                              \
    static void name##_on_arenas(void)

static gp_arena *begin(cudaStream_t stream, device_capture_mode mode)
{
    gp_arena *arena = NULL;
    RUN(device->capture_begin(stream, mode));
    GP(gp_capture_get_arena(pool, &arena, stream));
    return arena;
}

static device_graph finish(cudaStream_t stream)
{
    device_graph graph = NULL;
    device_capture_status status = DEVICE_CAPTURE_NONE;
    RUN(device->capture_query(stream, &status));
    cr_assert(eq(int, (int)status, (int)DEVICE_CAPTURE_ACTIVE));
    RUN(device->capture_end(stream, &graph));
    return graph;
}

static void use(size_t bytes, cudaStream_t stream, uint8_t value)
{
    void *block = gpu_alloc(bytes, stream);
    RUN(device->fill(stream, block, bytes, value));
    RUN(device->check(stream, block, bytes, value));
    GP(gp_free_async(block, stream));
}

static void *capture_fill(size_t bytes, cudaStream_t stream, uint8_t value)
{
    void *block = gpu_alloc(bytes, stream);
    RUN(device->fill(stream, block, bytes, value));
    RUN(device->check(stream, block, bytes, value));
    return block;
}

/* Eager blocks of the graph's own sizes, which a replay must not touch. */
static void replay_between_eager_work(device_graph graph, cudaStream_t stream, cudaStream_t other)
{
    for (int i = 0; i < REPLAYS; i++) {
        void *kept[2];
        for (int k = 0; k < 2; k++) {
            kept[k] = gpu_alloc(MIB(4), k == 0 ? stream : other);
            RUN(device->fill(k == 0 ? stream : other, kept[k], MIB(4), (uint8_t)(0x70 + k)));
        }
        RUN(device->graph_launch(graph, stream));
        use(KIB(4), stream, 0x33);
        for (int k = 0; k < 2; k++) {
            RUN(device->check(k == 0 ? stream : other, kept[k], MIB(4), (uint8_t)(0x70 + k)));
            GP(gp_free_async(kept[k], k == 0 ? stream : other));
        }
    }
    gpu_settle();
}

/* C25 */
ARENA_TEST(eager_work_gets_no_block_of_a_graph_between_its_replays)
{
    static const device_capture_mode modes[] = {DEVICE_CAPTURE_GLOBAL, DEVICE_CAPTURE_THREAD_LOCAL,
                                                DEVICE_CAPTURE_RELAXED};
    cudaStream_t stream = gpu_stream();
    cudaStream_t other = gpu_stream();
    use(MIB(4), stream, 1); /* so that there is something in the caches to be tempted by */
    for (int i = 0; i < 3; i++) {
        gp_arena *arena = begin(stream, modes[i]);
        use(MIB(4), stream, 2);
        use(KIB(4), stream, 3);
        use(MIB(4), stream, 4);
        device_graph graph = finish(stream);
        cr_assert(lt(u64, 0, gpu_stats().arena_bytes));

        replay_between_eager_work(graph, stream, other);
        RUN(device->graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
        cr_assert(eq(u64, gpu_stats().arena_bytes, 0));
    }
}

/* C10: what one branch frees, the other must not get. */
ARENA_TEST(branches_of_a_graph_share_no_block)
{
    cudaStream_t origin = gpu_stream();
    cudaStream_t branch = gpu_stream();
    cudaStream_t other = gpu_stream();
    gp_arena *arena = begin(origin, DEVICE_CAPTURE_GLOBAL);
    gpu_order(origin, branch);
    for (uint8_t i = 0; i < 8; i++) {
        use(MIB(4), origin, (uint8_t)(10 + i));
        use(MIB(4), branch, (uint8_t)(20 + i));
        use(KIB(4), origin, (uint8_t)(30 + i));
        use(KIB(4), branch, (uint8_t)(40 + i));
    }
    gpu_order(branch, origin);
    device_graph graph = finish(origin);

    replay_between_eager_work(graph, origin, other);
    RUN(device->graph_destroy(graph));
    GP(gp_arena_release(arena, origin));
}

ARENA_TEST(block_that_the_graph_leaves_live_is_readable_after_each_replay)
{
    cudaStream_t stream = gpu_stream();
    cudaStream_t reader = gpu_stream();
    gp_arena *arena = begin(stream, DEVICE_CAPTURE_GLOBAL);
    void *output = capture_fill(MIB(2), stream, 7);
    device_graph graph = finish(stream);

    for (int i = 0; i < REPLAYS; i++) {
        use(MIB(2), stream, 1);
        RUN(device->graph_launch(graph, stream));
        gpu_order(stream, reader);
        RUN(device->check(reader, output, MIB(2), 7));
        RUN(device->fill(reader, output, MIB(2), 8));
        gpu_order(reader, stream);
    }
    GP(gp_free_async(output, stream)); /* and still the graph's until the release */
    RUN(device->graph_launch(graph, stream));
    use(MIB(2), stream, 2);

    gpu_settle();
    RUN(device->graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

/* C24 */
ARENA_TEST(two_graphs_are_replayed_and_released_in_any_order)
{
    for (int first = 0; first < 2; first++) {
        cudaStream_t stream = gpu_stream();
        cudaStream_t other = gpu_stream();
        device_graph graphs[2];
        gp_arena *arenas[2];
        void *blocks[2];
        for (int i = 0; i < 2; i++) {
            arenas[i] = begin(stream, DEVICE_CAPTURE_GLOBAL);
            blocks[i] = capture_fill(MIB(8), stream, (uint8_t)(1 + i));
            graphs[i] = finish(stream);
        }
        for (int i = 0; i < REPLAYS; i++) {
            use(MIB(8), stream, 5);
            RUN(device->graph_launch(graphs[i % 3 == 0], stream));
            RUN(device->check(stream, blocks[i % 3 == 0], MIB(8), (uint8_t)(1 + (i % 3 == 0))));
        }
        gpu_settle();

        RUN(device->graph_destroy(graphs[first]));
        GP(gp_arena_release(arenas[first], other));
        GP(gp_pool_trim_to(pool, 0));
        void *eager = gpu_alloc(MIB(8), other);
        RUN(device->fill(other, eager, MIB(8), 0x77));
        gpu_order(other, stream);
        use(MIB(8), stream, 5);
        for (int i = 0; i < REPLAYS; i++)
            RUN(device->graph_launch(graphs[1 - first], stream));
        RUN(device->check(stream, blocks[1 - first], MIB(8), (uint8_t)(2 - first)));
        RUN(device->check(other, eager, MIB(8), 0x77));

        gpu_settle();
        GP(gp_free_async(eager, other));
        RUN(device->graph_destroy(graphs[1 - first]));
        GP(gp_arena_release(arenas[1 - first], stream));
    }
}

/* A replay is ordered behind nothing: what a stream may still use is not for a graph. */
ARENA_TEST(takes_no_block_whose_last_use_is_not_complete)
{
    cudaStream_t busy = gpu_stream();
    cudaStream_t stream = gpu_stream();
    void *before = gpu_alloc(MIB(4), busy);
    device_gate gate = gpu_close_gate(busy);
    RUN(device->fill(busy, before, MIB(4), 1));
    RUN(device->check(busy, before, MIB(4), 1));
    GP(gp_free_async(before, busy));

    gp_arena *arena = begin(stream, DEVICE_CAPTURE_GLOBAL);
    void *block = capture_fill(MIB(4), stream, 2);
    device_graph graph = finish(stream);

    cr_assert(ne(ptr, block, before));
    gpu_open_gate(gate);
    RUN(device->graph_launch(graph, stream));
    gpu_settle();
    gpu_destroy_gate(gate);
    RUN(device->graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

/* C22 */
ARENA_TEST(request_that_cannot_be_met_leaves_the_capture_valid)
{
    cudaStream_t stream = gpu_stream();
    cudaStream_t other = gpu_stream();
    void *none = NULL;
    use(MIB(64), other, 1);
    gp_arena *arena = begin(stream, DEVICE_CAPTURE_GLOBAL);

    gp_status status = gp_alloc_from_pool_async(&none, (size_t)1 << 46, pool, stream);

    cr_assert(eq(int, (int)status, (int)GP_ERR_OUT_OF_MEMORY));
    use(KIB(4), stream, 2);
    use(MIB(32), stream, 3);
    device_graph graph = finish(stream);
    use(KIB(4), stream, 4);
    RUN(device->graph_launch(graph, stream));
    gpu_settle();
    RUN(device->graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
}

ARENA_TEST(of_an_attached_stream_needs_the_announcement_only)
{
    cudaStream_t stream = gpu_stream();
    cudaStream_t other = gpu_stream();
    GP(gp_stream_attach(pool, stream));
    use(MIB(4), stream, 1);
    GP(gp_capture_begin(pool, stream));
    gp_arena *arena = begin(stream, DEVICE_CAPTURE_GLOBAL);
    use(MIB(4), stream, 2);
    device_graph graph = finish(stream);
    GP(gp_capture_end(pool, stream));

    replay_between_eager_work(graph, stream, other);
    RUN(device->graph_destroy(graph));
    GP(gp_arena_release(arena, stream));
    GP(gp_stream_detach(pool, stream));
}

/* The last replay is under way still; what comes after on the stream of the release waits for it.
 */
ARENA_TEST(memory_is_free_in_the_order_of_the_stream_of_the_release)
{
    cudaStream_t stream = gpu_stream();
    cudaStream_t owner = gpu_stream();
    cudaStream_t third = gpu_stream();
    gp_arena *arena = begin(stream, DEVICE_CAPTURE_GLOBAL);
    (void)capture_fill(MIB(8), stream, 1);
    device_graph graph = finish(stream);
    use(MIB(8), stream, 2);
    for (int i = 0; i < REPLAYS; i++)
        RUN(device->graph_launch(graph, stream));
    gpu_order(stream, owner);

    GP(gp_arena_release(arena, owner));
    void *blocks[4];
    for (int i = 0; i < 4; i++) {
        cudaStream_t next = i % 2 == 0 ? owner : third;
        blocks[i] = gpu_alloc(MIB(8), next);
        RUN(device->fill(next, blocks[i], MIB(8), (uint8_t)(10 + i)));
    }
    for (int i = 0; i < 4; i++)
        RUN(device->check(i % 2 == 0 ? owner : third, blocks[i], MIB(8), (uint8_t)(10 + i)));

    gpu_settle();
    for (int i = 0; i < 4; i++)
        GP(gp_free_async(blocks[i], i % 2 == 0 ? owner : third));
    RUN(device->graph_destroy(graph));
}

ARENA_TEST(many_captures_need_no_more_memory_than_one)
{
    cudaStream_t stream = gpu_stream();
    for (int i = 0; i < 100; i++) {
        gp_arena *arena = begin(stream, DEVICE_CAPTURE_GLOBAL);
        use(MIB(24), stream, (uint8_t)i);
        use(KIB(64), stream, (uint8_t)i);
        device_graph graph = finish(stream);
        use(KIB(64), stream, 1);
        RUN(device->graph_launch(graph, stream));
        RUN(device->stream_synchronize(stream));
        RUN(device->graph_destroy(graph));
        GP(gp_arena_release(arena, stream));
    }
    gpu_settle();
    cr_assert(le(u64, gpu_stats().reserved_bytes_high, MIB(128)));
}
