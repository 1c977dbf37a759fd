/* A pool whose captures have arenas, on the simulated device. */
#ifndef GP_TESTS_ARENA_FIXTURE_H
#define GP_TESTS_ARENA_FIXTURE_H

#include "pool_fixture.h"

/* Suite's .init; pool_close() is its .fini. */
void arena_open(void);

/* As pool_config(), with arenas. */
gp_pool_config arena_config(void);

extern const gp_sim_capture_mode arena_modes[3];

/* A capture begins, and its arena is named; it ends valid; its graph runs. */
gp_arena *arena_begin(cudaStream_t stream, gp_sim_capture_mode mode);
gp_sim_graph arena_finish(cudaStream_t stream);
void arena_replay(gp_sim_graph graph, cudaStream_t stream, int launches);

/* A graph that works on a block of its own, and its arena. */
typedef struct arena_graph {
    gp_sim_graph graph;
    gp_arena *arena;
    void *block;
} arena_graph;

arena_graph arena_capture(size_t bytes, cudaStream_t stream);

/* The graph is destroyed, and its arena released on the stream. */
void arena_end(arena_graph *made, cudaStream_t stream);

#endif
