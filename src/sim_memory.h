/* Native memory: pools and what was allocated from them or by graphs. */
#ifndef GP_SRC_SIM_MEMORY_H
#define GP_SRC_SIM_MEMORY_H

#include "sim_pool.h"

/* Device n has addresses from GP_SIM_BASE_ADDRESS + (n << 44): pools in the lower
 * half, graphs in the upper one. */
#define GP_SIM_DEVICE_SHIFT 44
#define GP_SIM_POOL_ADDRESS_BYTES ((uint64_t)1 << 43)

/* So that a device's memory fits many times into its address space. */
#define GP_SIM_MAX_DEVICE_BYTES ((uint64_t)1 << 41)

/* A live native allocation. */
typedef struct gp_sim_block {
    gp_sim_life life;   /* first byte and bytes as asked for */
    gp_sim_pool *pool;  /* NULL: a graph's */
    uint64_t span_base; /* what the pool gave for it */
    uint64_t span_bytes;
    bool is_managed; /* by gp, which announces the blocks it cuts from it */
    bool has_notes;
} gp_sim_block;

static inline gp_sim_block *gp_sim_block_of_life(gp_sim_life *life)
{
    return GP_SIM_CONTAINER(life, gp_sim_block, life);
}

/* Whether every byte that is touched must lie in an announced life. Memory that
 * somebody else took from the same pool need not. */
static inline bool gp_sim_block_needs_lives(const gp_sim_block *block)
{
    return block->has_notes || (block->is_managed && block->pool != NULL && block->pool->has_notes);
}

void gp_sim_block_mark_noted(gp_sim_block *block);

bool gp_sim_memory_open_device(gp_sim_machine *machine, int device);
void gp_sim_memory_clear(gp_sim_machine *machine);

/* Bytes that nobody holds. */
size_t gp_sim_memory_device_free(const gp_sim_machine *machine, int device);

/* The host has waited for a device: its pools shrink to their thresholds. */
void gp_sim_memory_synchronized(const gp_sim_call *call, int device);

/* ---- for graphs ---- */

bool gp_sim_memory_is_block(const gp_sim_machine *machine, uintptr_t address);
gp_sim_result gp_sim_memory_begin_graph_block(gp_sim_machine *machine, gp_sim_stream *stream,
                                              uintptr_t address, size_t bytes);
/* 1 if there is no such block. */
gp_sim_result gp_sim_memory_end_block(gp_sim_machine *machine, gp_sim_stream *stream,
                                      uintptr_t address);

/* ---- for the backend ---- */

/* gp_sim_pool_create() with a limit; 0 for none. */
gp_sim_result gp_sim_pool_create_limited(cudaMemPool_t *pool, size_t max_bytes);

/* gp_sim_malloc_async() for gp, which announces what it cuts from the memory. */
gp_sim_result gp_sim_malloc_managed(void **ptr, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream);

#endif
