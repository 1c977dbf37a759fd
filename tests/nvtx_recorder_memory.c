/* What a program says of its memory: heaps, and regions in them. */
#include "nvtx_recorder_internal.h"

#include <stdlib.h>

#define MOST_RANGES 1024

/* A heap or a region. A heap's handle is its address. */
typedef struct range {
    uintptr_t base;
    size_t bytes; /* 0: gone. */
} range;

static range heaps[MOST_RANGES];
static range regions[MOST_RANGES];
static bool memory_misused;

static range *find_range(range *ranges, uintptr_t base)
{
    for (size_t i = 0; i < MOST_RANGES; i++) {
        if (ranges[i].bytes > 0 && ranges[i].base == base)
            return &ranges[i];
    }
    return NULL;
}

static range *add_range(range *ranges, const nvtxMemVirtualRangeDesc_t *from)
{
    size_t i = 0;
    while (i < MOST_RANGES && ranges[i].bytes > 0)
        i++;
    if (i == MOST_RANGES)
        abort();
    ranges[i] = (range){.base = (uintptr_t)from->ptr, .bytes = from->size};
    return &ranges[i];
}

static bool overlaps_region(const nvtxMemVirtualRangeDesc_t *with)
{
    const uintptr_t base = (uintptr_t)with->ptr;
    for (size_t i = 0; i < MOST_RANGES; i++) {
        if (regions[i].bytes > 0 && base < regions[i].base + regions[i].bytes &&
            regions[i].base < base + with->size)
            return true;
    }
    return false;
}

nvtxMemHeapHandle_t recorder_hear_heap(nvtxDomainHandle_t handle, const nvtxMemHeapDesc_t *heap)
{
    (void)handle;
    pthread_mutex_lock(&recorder_mutex);
    memory_misused = memory_misused || heap->usage != NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR ||
                     heap->type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    range *made = add_range(heaps, heap->typeSpecificDesc);
    pthread_mutex_unlock(&recorder_mutex);
    return (nvtxMemHeapHandle_t)(void *)made;
}

void recorder_hear_heap_end(nvtxDomainHandle_t handle, nvtxMemHeapHandle_t heap)
{
    (void)handle;
    pthread_mutex_lock(&recorder_mutex);
    ((range *)(void *)heap)->bytes = 0;
    pthread_mutex_unlock(&recorder_mutex);
}

void recorder_hear_regions(nvtxDomainHandle_t handle, const nvtxMemRegionsRegisterBatch_t *batch)
{
    const nvtxMemVirtualRangeDesc_t *from = batch->regionDescElements;
    const range *heap = (const range *)(const void *)batch->heap;
    (void)handle;
    pthread_mutex_lock(&recorder_mutex);
    for (size_t i = 0; i < batch->regionCount; i++) {
        const uintptr_t base = (uintptr_t)from[i].ptr;
        memory_misused = memory_misused || overlaps_region(&from[i]) || base < heap->base ||
                         base + from[i].size > heap->base + heap->bytes;
        (void)add_range(regions, &from[i]);
    }
    pthread_mutex_unlock(&recorder_mutex);
}

void recorder_hear_regions_end(nvtxDomainHandle_t handle,
                               const nvtxMemRegionsUnregisterBatch_t *batch)
{
    (void)handle;
    pthread_mutex_lock(&recorder_mutex);
    for (size_t i = 0; i < batch->refCount; i++) {
        range *region = find_range(regions, (uintptr_t)batch->refElements[i].pointer);
        if (region == NULL || batch->refType != NVTX_MEM_REGION_REF_TYPE_POINTER)
            memory_misused = true;
        else
            region->bytes = 0;
    }
    pthread_mutex_unlock(&recorder_mutex);
}

/* ---- questions ---- */

static size_t count_ranges(const range *ranges)
{
    size_t count = 0;
    for (size_t i = 0; i < MOST_RANGES; i++)
        count += ranges[i].bytes > 0;
    return count;
}

size_t recorder_heaps(void)
{
    return count_ranges(heaps);
}

size_t recorder_regions(void)
{
    return count_ranges(regions);
}

bool recorder_has_heap(const void *base, size_t bytes)
{
    const range *heap = find_range(heaps, (uintptr_t)base);
    return heap != NULL && heap->bytes == bytes;
}

size_t recorder_region_bytes(const void *base)
{
    const range *region = find_range(regions, (uintptr_t)base);
    return region == NULL ? 0 : region->bytes;
}

bool recorder_is_memory_misused(void)
{
    return memory_misused;
}
