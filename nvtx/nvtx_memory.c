/*
 * The trace sink that tells a memory checker what a pool's memory is cut into: each segment is a
 * heap, each block that a caller holds a region of it, of the bytes that were asked for. What
 * lies in a heap and in no region must not be touched.
 */
#include <pthread.h>
#include <stdlib.h>

#include "nvtx_words.h"

typedef struct gp_nvtx_heap {
    struct gp_nvtx_heap *next;
    uintptr_t base;
    size_t bytes;
    nvtxMemHeapHandle_t handle;
} gp_nvtx_heap;

/* Of one pool. */
typedef struct gp_nvtx_memory {
    nvtxDomainHandle_t domain;
    pthread_mutex_t lock;
    gp_nvtx_heap *heaps; /* Under the lock. */
} gp_nvtx_memory;

/* Whether a tool hears of memory shows when it is given some: it may know of nothing else, and then
 * there is no domain. */
static gp_status open_memory(void **state, const gp_trace_pool *from, void *user)
{
    (void)from;
    (void)user;
    gp_nvtx_memory *memory = calloc(1, sizeof(*memory));
    if (memory == NULL)
        return GP_ERR_OUT_OF_HOST_MEMORY;
    memory->domain = gp_nvtx_get_words()->domain;
    (void)pthread_mutex_init(&memory->lock, NULL);
    *state = memory;
    return GP_OK;
}

static void close_memory(void *state)
{
    gp_nvtx_memory *memory = state;
    while (memory->heaps != NULL) {
        gp_nvtx_heap *heap = memory->heaps;
        memory->heaps = heap->next;
        free(heap);
    }
    (void)pthread_mutex_destroy(&memory->lock);
    free(memory);
}

/* ---- heaps -------------------------------------------------------------------------- */

static nvtxMemHeapHandle_t register_heap(nvtxDomainHandle_t domain, const gp_trace_segment *segment)
{
    const nvtxMemVirtualRangeDesc_t range = {.size = segment->bytes, .ptr = segment->address};
    const nvtxMemHeapDesc_t heap = {
        .extCompatID = NVTX_EXT_COMPATID_MEM,
        .structSize = sizeof(heap),
        .usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
        .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
        .typeSpecificDescSize = sizeof(range),
        .typeSpecificDesc = &range,
        .messageType = NVTX_MESSAGE_TYPE_ASCII,
        .message.ascii = "gp segment",
    };
    return nvtxMemHeapRegister(domain, &heap);
}

/* Without host memory, or if the tool takes no heap, the segment stays as one to the tool. */
static void take_segment(void *state, const gp_trace_segment *segment)
{
    gp_nvtx_memory *memory = state;
    gp_nvtx_heap *heap = calloc(1, sizeof(*heap));
    if (heap == NULL)
        return;
    heap->handle = register_heap(memory->domain, segment);
    if (heap->handle == NULL) {
        free(heap);
        return;
    }
    heap->base = (uintptr_t)segment->address;
    heap->bytes = segment->bytes;
    (void)pthread_mutex_lock(&memory->lock);
    heap->next = memory->heaps;
    memory->heaps = heap;
    (void)pthread_mutex_unlock(&memory->lock);
}

static gp_nvtx_heap *unlink_heap(gp_nvtx_memory *memory, uintptr_t base)
{
    (void)pthread_mutex_lock(&memory->lock);
    gp_nvtx_heap **link = &memory->heaps;
    while (*link != NULL && (*link)->base != base)
        link = &(*link)->next;
    gp_nvtx_heap *heap = *link;
    if (heap != NULL)
        *link = heap->next;
    (void)pthread_mutex_unlock(&memory->lock);
    return heap;
}

static void give_segment(void *state, const gp_trace_segment *segment)
{
    gp_nvtx_memory *memory = state;
    gp_nvtx_heap *heap = unlink_heap(memory, (uintptr_t)segment->address);
    if (heap == NULL)
        return;
    nvtxMemHeapUnregister(memory->domain, heap->handle);
    free(heap);
}

/* NULL: the block lies in no heap, as the node of a graph. */
static nvtxMemHeapHandle_t heap_of(gp_nvtx_memory *memory, uintptr_t address)
{
    (void)pthread_mutex_lock(&memory->lock);
    const gp_nvtx_heap *heap = memory->heaps;
    while (heap != NULL && address - heap->base >= heap->bytes)
        heap = heap->next;
    nvtxMemHeapHandle_t handle = heap == NULL ? NULL : heap->handle;
    (void)pthread_mutex_unlock(&memory->lock);
    return handle;
}

/* ---- regions ------------------------------------------------------------------------ */

static void register_region(void *state, const gp_trace_block *block)
{
    gp_nvtx_memory *memory = state;
    nvtxMemHeapHandle_t heap = heap_of(memory, (uintptr_t)block->address);
    if (heap == NULL)
        return;
    const nvtxMemVirtualRangeDesc_t range = {.size = block->asked_bytes, .ptr = block->address};
    const nvtxMemRegionsRegisterBatch_t batch = {
        .extCompatID = NVTX_EXT_COMPATID_MEM,
        .structSize = sizeof(batch),
        .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
        .heap = heap,
        .regionCount = 1,
        .regionDescElementSize = sizeof(range),
        .regionDescElements = &range,
    };
    nvtxMemRegionsRegister(memory->domain, &batch);
}

static void unregister_region(void *state, const gp_trace_block *block)
{
    gp_nvtx_memory *memory = state;
    if (heap_of(memory, (uintptr_t)block->address) == NULL)
        return;
    const nvtxMemRegionRef_t region = {.pointer = block->address};
    const nvtxMemRegionsUnregisterBatch_t batch = {
        .extCompatID = NVTX_EXT_COMPATID_MEM,
        .structSize = sizeof(batch),
        .refType = NVTX_MEM_REGION_REF_TYPE_POINTER,
        .refCount = 1,
        .refElementSize = sizeof(region),
        .refElements = &region,
    };
    nvtxMemRegionsUnregister(memory->domain, &batch);
}

const gp_trace_sink *gp_trace_nvtx_memory(void)
{
    static const gp_trace_sink sink = {
        .struct_bytes = sizeof(sink),
        .name = "nvtx memory",
        .open = open_memory,
        .close = close_memory,
        .alloc = register_region,
        .free = unregister_region,
        .take_segment = take_segment,
        .give_segment = give_segment,
    };
    return &sink;
}
