#include "arena_fixture.h"

const gp_sim_capture_mode arena_modes[3] = {GP_SIM_CAPTURE_GLOBAL, GP_SIM_CAPTURE_THREAD_LOCAL,
                                            GP_SIM_CAPTURE_RELAXED};

gp_pool_config arena_config(void)
{
    gp_pool_config config = pool_config();
    config.capture = GP_CAPTURE_ARENA;
    return config;
}

void arena_open(void)
{
    pool_open();
    gp_pool_config config = arena_config();
    pool_reopen(NULL, &config);
}

gp_arena *arena_begin(cudaStream_t stream, gp_sim_capture_mode mode)
{
    gp_arena *arena = NULL;
    SIM(gp_sim_begin_capture(stream, mode));
    GP(gp_capture_get_arena(pool, &arena, stream));
    return arena;
}

gp_sim_graph arena_finish(cudaStream_t stream)
{
    gp_sim_graph graph = NULL;
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    SIM(gp_sim_stream_is_capturing(stream, &status));
    cr_assert(eq(int, (int)status, (int)GP_SIM_CAPTURE_ACTIVE));
    SIM(gp_sim_end_capture(stream, &graph));
    return graph;
}

void arena_replay(gp_sim_graph graph, cudaStream_t stream, int launches)
{
    for (int i = 0; i < launches; i++)
        SIM(gp_sim_graph_launch(graph, stream));
}

arena_graph arena_capture(size_t bytes, cudaStream_t stream)
{
    arena_graph made = {.arena = arena_begin(stream, GP_SIM_CAPTURE_GLOBAL)};
    made.block = pool_alloc(bytes, stream);
    pool_write(made.block, bytes, stream);
    made.graph = arena_finish(stream);
    return made;
}

void arena_end(arena_graph *made, cudaStream_t stream)
{
    SIM(gp_sim_graph_destroy(made->graph));
    GP(gp_arena_release(made->arena, stream));
}
