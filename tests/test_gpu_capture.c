/* Pools while streams capture. Runs on the simulated device too. */
#include "gpu_fixture.h"

#include <stdatomic.h>

static const device_capture_mode modes[] = {DEVICE_CAPTURE_GLOBAL, DEVICE_CAPTURE_THREAD_LOCAL,
                                            DEVICE_CAPTURE_RELAXED};
enum { MODE_COUNT = 3, REPLAYS = 20 };

static void assert_capturing(cudaStream_t stream)
{
    device_capture_status status = DEVICE_CAPTURE_NONE;
    RUN(device->capture_query(stream, &status));
    cr_assert(eq(int, (int)status, (int)DEVICE_CAPTURE_ACTIVE));
}

static void use_block(cudaStream_t stream, uint8_t value)
{
    void *block = gpu_alloc(MIB(4), stream);
    RUN(device->fill(stream, block, MIB(4), value));
    RUN(device->check(stream, block, MIB(4), value));
    GP(gp_free_async(block, stream));
}

/* Eager work goes on between the replays, on memory that a graph must not touch. */
static void replay_between_eager_work(device_graph graph, cudaStream_t stream)
{
    for (int i = 0; i < REPLAYS; i++) {
        void *kept = gpu_alloc(MIB(4), stream);
        RUN(device->fill(stream, kept, MIB(4), 0x77));
        RUN(device->graph_launch(graph, stream));
        RUN(device->check(stream, kept, MIB(4), 0x77));
        GP(gp_free_async(kept, stream));
    }
    gpu_settle();
}

GPU_TEST(gpu_capture, passes_allocations_through_to_the_graph)
{
    cudaStream_t stream = gpu_stream();
    use_block(stream, 1); /* so that there is something in the caches to be tempted by */

    for (int i = 0; i < MODE_COUNT; i++) {
        device_graph graph = NULL;
        RUN(device->capture_begin(stream, modes[i]));
        use_block(stream, 2);
        use_block(stream, 3);
        assert_capturing(stream);
        RUN(device->capture_end(stream, &graph));

        replay_between_eager_work(graph, stream);
        RUN(device->graph_destroy(graph));
    }

    cr_assert(lt(u64, 0, gpu_stats().captured));
    cr_assert(eq(u64, gpu_stats().live_blocks, 0));
}

GPU_TEST(gpu_capture, passes_through_on_an_attached_stream_that_announced_its_capture)
{
    cudaStream_t stream = gpu_stream();
    device_graph graph = NULL;
    GP(gp_stream_attach(pool, stream));
    use_block(stream, 1);

    GP(gp_capture_begin(pool, stream));
    RUN(device->capture_begin(stream, DEVICE_CAPTURE_GLOBAL));
    use_block(stream, 2);
    assert_capturing(stream);
    RUN(device->capture_end(stream, &graph));
    GP(gp_capture_end(pool, stream));

    replay_between_eager_work(graph, stream);
    RUN(device->graph_destroy(graph));
    GP(gp_stream_detach(pool, stream));
}

/* C10: a block that lives and dies on a branch of the capture. */
GPU_TEST(gpu_capture, frees_on_the_branch_of_a_capture_that_used_the_block)
{
    cudaStream_t origin = gpu_stream();
    cudaStream_t branch = gpu_stream();
    device_graph graph = NULL;

    RUN(device->capture_begin(origin, DEVICE_CAPTURE_GLOBAL));
    gpu_order(origin, branch);
    use_block(branch, 5);
    gpu_order(branch, origin);
    RUN(device->capture_end(origin, &graph));

    replay_between_eager_work(graph, origin);
    RUN(device->graph_destroy(graph));
}

/* C25: as long as the capture lasts, the block might still get into its graph. */
GPU_TEST(gpu_capture, keeps_an_eager_block_freed_inside_a_capture_until_the_capture_ends)
{
    cudaStream_t stream = gpu_stream();
    cudaStream_t other = gpu_stream();
    device_graph graph = NULL;
    void *eager = gpu_alloc(MIB(1), stream);
    RUN(device->fill(stream, eager, MIB(1), 9));
    RUN(device->stream_synchronize(stream));
    RUN(device->capture_begin(stream, DEVICE_CAPTURE_GLOBAL));

    GP(gp_free_async(eager, stream));

    assert_capturing(stream);
    cr_assert(eq(int, (int)gp_free_async(eager, stream), (int)GP_ERR_DOUBLE_FREE));
    void *during = gpu_alloc(MIB(1), other);
    cr_assert(ne(ptr, during, eager));
    use_block(stream, 3);
    RUN(device->capture_end(stream, &graph));
    GP(gp_free_async(during, other));
    replay_between_eager_work(graph, stream);
    RUN(device->graph_destroy(graph));
    cr_assert(eq(u64, gpu_stats().live_blocks, 0));
    cr_assert(eq(u64, gpu_stats().pending_bytes, 0));
}

/* ---- other threads during a capture ---- */

enum { WORKERS = 3, CAPTURES = 100, HELD = 4 };

typedef struct worker {
    gpu_thread thread;
    cudaStream_t stream;
    cudaStream_t other;
    const atomic_bool *stop;
} worker;

/* Hits, misses, frees behind fences on another stream, recorded uses and trims: all
 * that could query an event, grow the native pool or shrink it. */
static bool work_once(const worker *self, unsigned round)
{
    void *blocks[HELD] = {NULL};
    bool fine = true;
    for (unsigned i = 0; i < HELD && fine; i++) {
        size_t bytes = KIB(64) << (round + 3 * i) % 9;
        fine = EXPECT_GP(gp_alloc_from_pool_async(&blocks[i], bytes, pool, self->stream)) &&
               EXPECT_RUN(device->fill(self->stream, blocks[i], bytes, (uint8_t)round)) &&
               EXPECT_RUN(device->check(self->stream, blocks[i], bytes, (uint8_t)round));
    }
    if (fine)
        fine = EXPECT_GP(gp_record_use(blocks[0], self->stream));
    for (unsigned i = 0; i < HELD && fine; i++)
        fine = EXPECT_GP(gp_free_async(blocks[i], i == 0 ? self->other : self->stream));
    if (fine && round % 16 == 0)
        fine = EXPECT_GP(gp_pool_trim_to(pool, 0));
    return fine;
}

static void work_until_stopped(void *argument)
{
    const worker *self = argument;
    for (unsigned round = 0; !atomic_load(self->stop); round++) {
        if (!work_once(self, round))
            return;
    }
}

/* C22, C23. */
GPU_TEST(gpu_capture, survives_whatever_other_threads_do_with_the_pool)
{
    static atomic_bool stop;
    worker workers[WORKERS];
    cudaStream_t stream = gpu_stream();
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.stream = gpu_stream(), .other = gpu_stream(), .stop = &stop};
        gpu_thread_start(&workers[i].thread, work_until_stopped, &workers[i]);
    }

    for (int i = 0; i < CAPTURES; i++) {
        device_graph graph = NULL;
        RUN(device->capture_begin(stream, DEVICE_CAPTURE_GLOBAL));
        use_block(stream, (uint8_t)i);
        assert_capturing(stream);
        RUN(device->capture_end(stream, &graph));
        RUN(device->graph_launch(graph, stream));
        RUN(device->stream_synchronize(stream));
        RUN(device->graph_destroy(graph));
    }

    atomic_store(&stop, true);
    for (int i = 0; i < WORKERS; i++)
        gpu_thread_join(&workers[i].thread);
    gpu_settle();
    cr_assert(eq(u64, gpu_stats().live_blocks, 0));
}

/* ---- the legacy stream ---- */

static void be_refused_on_the_legacy_stream(void *block)
{
    void *untouched = block;
    gpu_expect(gp_alloc_from_pool_async(&untouched, KIB(4), pool, NULL) == GP_ERR_CAPTURE,
               "an allocation on the legacy stream is refused", gp_last_error());
    gpu_expect(untouched == block, "and writes nothing", "");
    gpu_expect(gp_free_async(block, NULL) == GP_ERR_CAPTURE,
               "a free on the legacy stream is refused", gp_last_error());
}

/* C28: using the legacy stream would invalidate the capture of a stream it waits for. */
GPU_TEST(gpu_capture, keeps_off_the_legacy_stream_while_a_blocking_stream_captures)
{
    cudaStream_t stream = gpu_blocking_stream();
    void *block = gpu_alloc(KIB(4), NULL);

    for (int i = 0; i < MODE_COUNT; i++) {
        device_graph graph = NULL;
        RUN(device->capture_begin(stream, modes[i]));
        gpu_in_thread(be_refused_on_the_legacy_stream, block);
        assert_capturing(stream);
        use_block(stream, 4);
        RUN(device->capture_end(stream, &graph));
        RUN(device->graph_launch(graph, stream));
        gpu_settle();
        RUN(device->graph_destroy(graph));
    }

    GP(gp_free_async(block, NULL));
}

static void use_the_legacy_stream(void *unused)
{
    void *block = NULL;
    (void)unused;
    EXPECT_GP(gp_alloc_from_pool_async(&block, KIB(4), pool, NULL));
    EXPECT_GP(gp_free_async(block, NULL));
}

GPU_TEST(gpu_capture, leaves_the_legacy_stream_usable_while_a_stream_captures_that_does_not_block)
{
    cudaStream_t stream = gpu_stream();

    for (int i = 0; i < MODE_COUNT; i++) {
        device_graph graph = NULL;
        RUN(device->capture_begin(stream, modes[i]));
        gpu_in_thread(use_the_legacy_stream, NULL);
        use_block(stream, 4);
        assert_capturing(stream);
        RUN(device->capture_end(stream, &graph));
        RUN(device->graph_destroy(graph));
    }
}
