#include "sim_memory.h"

#include "sim_cost.h"
#include "sim_graph.h"

#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

enum { ALLOCATION_UNIT = 512 };

/* ---- devices ---- */

static uint64_t device_base(int device)
{
    return GP_SIM_BASE_ADDRESS + ((uint64_t)device << GP_SIM_DEVICE_SHIFT);
}

bool gp_sim_memory_open_device(gp_sim_machine *machine, int device)
{
    gp_sim_device *opened = &machine->devices[device];
    opened->next_graph_address = (uintptr_t)(device_base(device) + GP_SIM_POOL_ADDRESS_BYTES);
    return gp_sim_ranges_add(&opened->addresses, device_base(device), GP_SIM_POOL_ADDRESS_BYTES, 0);
}

size_t gp_sim_memory_device_free(const gp_sim_machine *machine, int device)
{
    const gp_sim_device *of = &machine->devices[device];
    size_t taken = of->pool_bytes + of->graph_bytes;
    size_t left = machine->config.device_bytes > taken ? machine->config.device_bytes - taken : 0;
    return left > of->foreign_bytes ? left - of->foreign_bytes : 0;
}

void gp_sim_memory_synchronized(const gp_sim_call *call, int device)
{
    for (gp_sim_pool *pool = call->machine->all_pools; pool != NULL; pool = pool->next) {
        if (pool->device == device && pool->reserved_bytes > pool->threshold_bytes)
            gp_sim_pool_trim(call, pool, (size_t)pool->threshold_bytes);
    }
    gp_sim_pools_sweep(call);
}

void gp_sim_memory_clear(gp_sim_machine *machine)
{
    gp_sim_life *life = gp_sim_life_above(&machine->blocks, 0);
    while (life != NULL) {
        gp_sim_tree_remove(&machine->blocks, &life->by_address);
        free(gp_sim_block_of_life(life));
        life = gp_sim_life_above(&machine->blocks, 0);
    }
    while (machine->all_pools != NULL)
        gp_sim_pool_discard(machine, machine->all_pools);
    gp_sim_handles_clear(&machine->pools);
    for (int device = 0; device < GP_SIM_MAX_DEVICES; device++)
        gp_sim_ranges_clear(&machine->devices[device].addresses);
}

/* ---- blocks ---- */

void gp_sim_block_mark_noted(gp_sim_block *block)
{
    block->has_notes = true;
    if (block->pool != NULL)
        block->pool->has_notes = true;
}

static gp_sim_block *block_at(const gp_sim_machine *machine, uintptr_t address)
{
    gp_sim_life *life = gp_sim_life_at(&machine->blocks, address);
    return life != NULL && gp_sim_life_base(life) == address ? gp_sim_block_of_life(life) : NULL;
}

bool gp_sim_memory_is_block(const gp_sim_machine *machine, uintptr_t address)
{
    return block_at(machine, address) != NULL;
}

static void block_begin(gp_sim_machine *machine, gp_sim_block *block, uint64_t address,
                        size_t bytes, const gp_sim_stream *stream)
{
    block->life.by_address.key = address;
    block->life.bytes = bytes;
    gp_sim_tree_insert(&machine->blocks, &block->life.by_address);
    gp_sim_hazard_begin_block(machine, block, stream);
}

gp_sim_result gp_sim_memory_begin_graph_block(gp_sim_machine *machine, gp_sim_stream *stream,
                                              uintptr_t address, size_t bytes)
{
    gp_sim_block *block = calloc(1, sizeof(*block));
    if (block == NULL)
        return GP_SIM_OUT_OF_MEMORY;
    gp_sim_result result = gp_sim_stream_submit(machine, stream, (gp_sim_task){0});
    if (result != GP_SIM_SUCCESS) {
        free(block);
        return result;
    }
    block_begin(machine, block, address, bytes, stream);
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_memory_end_block(gp_sim_machine *machine, gp_sim_stream *stream,
                                      uintptr_t address)
{
    gp_sim_block *block = block_at(machine, address);
    if (block == NULL)
        return GP_SIM_INVALID_VALUE;
    gp_sim_result result = gp_sim_stream_submit(machine, stream, (gp_sim_task){0});
    if (result != GP_SIM_SUCCESS)
        return result;

    gp_sim_hazard_end_block(machine, block, stream);
    /* Without host memory it stays what it was, as it may. */
    (void)gp_sim_content_forget(&machine->content, address, block->life.bytes);
    gp_sim_tree_remove(&machine->blocks, &block->life.by_address);
    if (block->pool != NULL)
        gp_sim_pool_give(block->pool, stream, gp_sim_queue_position(&stream->queue),
                         block->span_base, block->span_bytes);
    free(block);
    return GP_SIM_SUCCESS;
}

/* ---- allocate ---- */

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) & ~(step - 1);
}

static uint64_t alignment_of(size_t bytes)
{
    return bytes >= 2 * MIB ? MIB : ALLOCATION_UNIT;
}

/* A fixed address for a block that every launch of a graph brings to life. */
static gp_sim_result malloc_captured(gp_sim_machine *machine, gp_sim_stream *stream, size_t bytes,
                                     void **ptr)
{
    gp_sim_device *device = &machine->devices[stream->device];
    uint64_t address = round_up(device->next_graph_address, alignment_of(bytes));
    gp_sim_result result = gp_sim_capture_append(stream->capture, stream,
                                                 (gp_sim_graph_node){.kind = GP_SIM_NODE_ALLOC,
                                                                     .address = (uintptr_t)address,
                                                                     .bytes = bytes});
    if (result != GP_SIM_SUCCESS)
        return result;

    device->next_graph_address = (uintptr_t)(address + round_up(bytes, ALLOCATION_UNIT));
    *ptr = (void *)(uintptr_t)address;
    return GP_SIM_SUCCESS;
}

/* Address a block begins at, given that its span begins at a multiple of the
 * alignment: a driver of poor alignment adds an offset. */
static gp_sim_result malloc_from(const gp_sim_call *call, gp_sim_pool *pool, gp_sim_stream *stream,
                                 size_t bytes, gp_sim_block *block)
{
    size_t offset = call->machine->config.base_offset;
    block->pool = pool;
    block->span_bytes = round_up(bytes + offset, ALLOCATION_UNIT);
    gp_sim_result result = gp_sim_pool_take(call, pool, stream, block->span_bytes,
                                            alignment_of(bytes), &block->span_base);
    if (result != GP_SIM_SUCCESS)
        return result;

    result = gp_sim_stream_submit(call->machine, stream, (gp_sim_task){0});
    if (result != GP_SIM_SUCCESS) {
        gp_sim_pool_give(pool, stream, gp_sim_queue_position(&stream->queue), block->span_base,
                         block->span_bytes);
        return result;
    }
    block_begin(call->machine, block, block->span_base + offset, bytes, stream);
    return GP_SIM_SUCCESS;
}

static gp_sim_result malloc_eager(const gp_sim_call *call, gp_sim_pool *pool, gp_sim_stream *stream,
                                  size_t bytes, bool is_managed, void **ptr)
{
    if (gp_sim_capture_forbids(call))
        return GP_SIM_CAPTURE_UNSUPPORTED;
    gp_sim_result result = gp_sim_stream_prepare(call->machine, stream);
    if (result != GP_SIM_SUCCESS)
        return result;

    if (!call->machine->has_allocated)
        gp_sim_machine_charge(call, GP_SIM_COST_FIRST_ALLOCATION_NS);
    call->machine->has_allocated = true;
    gp_sim_pools_sweep(call);

    gp_sim_block *block = calloc(1, sizeof(*block));
    if (block == NULL)
        return GP_SIM_OUT_OF_MEMORY;
    block->is_managed = is_managed;
    result = malloc_from(call, pool, stream, bytes, block);
    if (result != GP_SIM_SUCCESS) {
        free(block);
        return result;
    }
    *ptr = (void *)(uintptr_t)gp_sim_life_base(&block->life);
    return GP_SIM_SUCCESS;
}

static gp_sim_result malloc_async(const gp_sim_call *call, cudaMemPool_t pool_handle,
                                  cudaStream_t stream_handle, size_t bytes, bool is_managed,
                                  void **ptr)
{
    gp_sim_pool *pool = gp_sim_handles_find(&call->machine->pools, (uintptr_t)pool_handle);
    if (pool == NULL || bytes == 0)
        return GP_SIM_INVALID_VALUE;
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, stream_handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (bytes > GP_SIM_MAX_DEVICE_BYTES)
        return GP_SIM_OUT_OF_MEMORY;
    if (stream->capture != NULL)
        return malloc_captured(call->machine, stream, bytes, ptr);
    return malloc_eager(call, pool, stream, bytes, is_managed, ptr);
}

static gp_sim_result malloc_call(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream,
                                 bool is_managed)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_MALLOC);
    if (result == GP_SIM_SUCCESS)
        result = ptr != NULL ? malloc_async(&call, pool, stream, bytes, is_managed, ptr)
                             : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}

gp_sim_result gp_sim_malloc_async(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return malloc_call(ptr, bytes, pool, stream, false);
}

gp_sim_result gp_sim_malloc_managed(void **ptr, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    return malloc_call(ptr, bytes, pool, stream, true);
}

/* ---- free ---- */

/* Only memory of a graph can be freed by one; anything else is refused, and the
 * capture goes on. */
static gp_sim_result free_captured(const gp_sim_machine *machine, gp_sim_stream *stream,
                                   uintptr_t address)
{
    const gp_sim_block *block = block_at(machine, address);
    bool is_of_other_graph = block != NULL && block->pool == NULL;
    if (!is_of_other_graph && !gp_sim_graph_has_live(stream->capture->graph, address))
        return GP_SIM_INVALID_VALUE;
    return gp_sim_capture_append(stream->capture, stream,
                                 (gp_sim_graph_node){.kind = GP_SIM_NODE_FREE, .address = address});
}

static gp_sim_result free_async(const gp_sim_call *call, uintptr_t address,
                                cudaStream_t stream_handle)
{
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, stream_handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (stream->capture != NULL)
        return free_captured(call->machine, stream, address);
    if (!gp_sim_memory_is_block(call->machine, address))
        return GP_SIM_INVALID_VALUE;

    result = gp_sim_stream_prepare(call->machine, stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    return gp_sim_memory_end_block(call->machine, stream, address);
}

gp_sim_result gp_sim_free_async(void *ptr, cudaStream_t stream)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_FREE);
    if (result == GP_SIM_SUCCESS)
        result = free_async(&call, (uintptr_t)ptr, stream);
    return gp_sim_leave(result);
}

/* ---- ask ---- */

gp_sim_result gp_sim_mem_get_info(size_t *free_bytes, size_t *total_bytes)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_MEM_GET_INFO);
    if (result != GP_SIM_SUCCESS)
        return gp_sim_leave(result);
    if (free_bytes == NULL || total_bytes == NULL)
        return gp_sim_leave(GP_SIM_INVALID_VALUE);

    gp_sim_pools_sweep(&call);
    *free_bytes = gp_sim_memory_device_free(call.machine, call.thread->device);
    *total_bytes = call.machine->config.device_bytes;
    return gp_sim_leave(GP_SIM_SUCCESS);
}
