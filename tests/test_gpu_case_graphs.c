/* Graphs whose memory has to outlive what goes on around them. Runs on the simulated device too. */
#include "gpu_fixture.h"

static void use(size_t bytes, cudaStream_t stream, uint8_t value)
{
    void *block = gpu_alloc(bytes, stream);
    RUN(device->fill(stream, block, bytes, value));
    RUN(device->check(stream, block, bytes, value));
    GP(gp_free_async(block, stream));
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

/* C21: during a capture a block is freed elsewhere, which the capture would have used. */
GPU_TEST(gpu_case_graphs, free_elsewhere_during_a_capture_asks_nothing_of_it)
{
    static const device_capture_mode modes[] = {DEVICE_CAPTURE_GLOBAL, DEVICE_CAPTURE_THREAD_LOCAL,
                                                DEVICE_CAPTURE_RELAXED};
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = gpu_stream();
        cudaStream_t home = gpu_stream();
        void *block = gpu_alloc(MIB(1), home);
        RUN(device->capture_begin(stream, modes[i]));
        cr_assert(eq(int, (int)gp_record_use(block, stream), (int)GP_ERR_CAPTURE));
        GP(gp_free_async(block, home));
        use(MIB(1), home, 1);
        use(MIB(1), stream, 2);
        device_graph graph = finish(stream);
        use(MIB(1), home, 3);
        RUN(device->graph_launch(graph, stream));
        gpu_settle();
        RUN(device->graph_destroy(graph));
    }
}

/* C22: a request inside the capture that cannot be met, then one that can. */
GPU_TEST(gpu_case_graphs, request_that_fails_in_a_capture_leaves_it_valid)
{
    cudaStream_t stream = gpu_stream();
    cudaStream_t other = gpu_stream();
    void *none = NULL;
    use(MIB(64), other, 1);
    RUN(device->capture_begin(stream, DEVICE_CAPTURE_GLOBAL));

    gp_status inside = gp_alloc_from_pool_async(&none, (size_t)1 << 46, pool, stream);
    gp_status beside = gp_alloc_from_pool_async(&none, (size_t)1 << 46, pool, other);

    cr_assert(ne(int, (int)inside, (int)GP_OK));
    cr_assert(eq(int, (int)beside, (int)GP_ERR_OUT_OF_MEMORY));
    use(KIB(4), stream, 2);
    device_graph graph = finish(stream);
    RUN(device->graph_launch(graph, stream));
    gpu_settle();
    RUN(device->graph_destroy(graph));
}

/* C24: two graphs of one stream; the second goes, then the pool is trimmed and used. */
GPU_TEST(gpu_case_graphs, graph_keeps_its_memory_when_another_of_its_stream_goes)
{
    cudaStream_t stream = gpu_stream();
    device_graph graphs[2];
    for (int i = 0; i < 2; i++) {
        RUN(device->capture_begin(stream, DEVICE_CAPTURE_GLOBAL));
        use(MIB(32), stream, (uint8_t)(1 + i));
        graphs[i] = finish(stream);
        RUN(device->graph_launch(graphs[i], stream));
        RUN(device->stream_synchronize(stream));
    }

    RUN(device->graph_destroy(graphs[1]));
    GP(gp_pool_trim_to(pool, 0));
    void *kept[2];
    for (int i = 0; i < 2; i++) {
        kept[i] = gpu_alloc(MIB(32), stream);
        RUN(device->fill(stream, kept[i], MIB(32), 0x77));
    }

    for (int i = 0; i < 10; i++) {
        RUN(device->graph_launch(graphs[0], stream));
        for (int k = 0; k < 2; k++)
            RUN(device->check(stream, kept[k], MIB(32), 0x77));
    }
    gpu_settle();
    for (int k = 0; k < 2; k++)
        GP(gp_free_async(kept[k], stream));
    RUN(device->graph_destroy(graphs[0]));
}

/* C25: a block that a graph works on, kept by its owner for as long as the graph is replayed. */
GPU_TEST(gpu_case_graphs, block_that_its_owner_keeps_is_the_graphs_alone)
{
    cudaStream_t stream = gpu_stream();
    void *kept = gpu_alloc(MIB(1), stream);
    RUN(device->capture_begin(stream, DEVICE_CAPTURE_GLOBAL));
    RUN(device->fill(stream, kept, MIB(1), 1));
    RUN(device->check(stream, kept, MIB(1), 1));
    device_graph graph = finish(stream);

    for (int i = 0; i < 50; i++) {
        void *eager = gpu_alloc(MIB(1), stream);
        RUN(device->fill(stream, eager, MIB(1), 0x77));
        RUN(device->graph_launch(graph, stream));
        RUN(device->check(stream, eager, MIB(1), 0x77));
        GP(gp_free_async(eager, stream));
    }

    gpu_settle();
    RUN(device->graph_destroy(graph));
    GP(gp_free_async(kept, stream));
}

/* C26: the graph leaves its block live: not to be freed before a launch, once after each. */
GPU_TEST(gpu_case_graphs, block_that_a_graph_leaves_live_is_freed_once_a_launch)
{
    cudaStream_t stream = gpu_stream();
    size_t free_before = 0;
    size_t free_after = 0;
    size_t total_bytes = 0;
    RUN(device->capture_begin(stream, DEVICE_CAPTURE_GLOBAL));
    void *block = gpu_alloc(MIB(8), stream);
    RUN(device->fill(stream, block, MIB(8), 1));
    device_graph graph = finish(stream);
    cr_assert(ne(int, (int)gp_free_async(block, stream), (int)GP_OK));
    gp_pool_stats before = gpu_stats();

    for (int i = 0; i < 1000; i++) {
        RUN(device->graph_launch(graph, stream));
        GP(gp_free_async(block, stream));
        if (i == 10) {
            RUN(device->stream_synchronize(stream));
            RUN(device->mem_info(&free_before, &total_bytes));
        }
    }

    gpu_settle();
    RUN(device->mem_info(&free_after, &total_bytes));
    cr_assert(le(sz, free_before, free_after + MIB(64)));
    cr_assert(eq(u64, gpu_stats().live_bytes, before.live_bytes));
    cr_assert(eq(u64, gpu_stats().reserved_bytes, before.reserved_bytes));
    RUN(device->graph_destroy(graph));
}

/* C27: the memory of graphs is the driver's graph pool's, which gp neither holds nor counts. */
GPU_TEST(gpu_case_graphs, memory_of_graphs_is_not_counted_as_the_pools)
{
    cudaStream_t stream = gpu_stream();
    for (size_t i = 0; i < 50; i++) {
        RUN(device->capture_begin(stream, DEVICE_CAPTURE_GLOBAL));
        use(MIB(64) + MIB(1) * i, stream, (uint8_t)i);
        device_graph graph = finish(stream);
        RUN(device->graph_launch(graph, stream));
        RUN(device->stream_synchronize(stream));
        RUN(device->graph_destroy(graph));
    }

    GP(gp_pool_trim_to(pool, 0));

    gpu_settle();
    cr_assert(eq(u64, gpu_stats().reserved_bytes, 0));
    cr_assert(eq(u64, gpu_stats().captured, 100));
}
