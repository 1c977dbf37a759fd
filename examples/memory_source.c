#include "memory_source.h"

#include "fail.h"

#include <stdlib.h>

/* ---- gp ---- */

static void check_gp(gp_status status, const char *call)
{
    if (status != GP_OK)
        example_fail(call, gp_last_error());
}

static void gp_source_open(memory_source *source, size_t thread_count)
{
    gp_pool_config config;
    gp_pool_config_init(&config);
    config.backend = source->device->kind;
    (void)thread_count;
    check_gp(gp_pool_create(&source->pool, &config), "gp_pool_create");
}

static void gp_source_close(memory_source *source)
{
    check_gp(gp_pool_destroy(source->pool), "gp_pool_destroy");
}

static void attached_enter(memory_source *source, size_t thread, cudaStream_t stream)
{
    (void)thread;
    check_gp(gp_stream_attach(source->pool, stream), "gp_stream_attach");
}

static void attached_leave(memory_source *source, size_t thread, cudaStream_t stream)
{
    (void)thread;
    check_gp(gp_stream_detach(source->pool, stream), "gp_stream_detach");
}

static void *gp_source_take(memory_source *source, size_t thread, size_t bytes, cudaStream_t stream)
{
    void *ptr = NULL;
    (void)thread;
    check_gp(gp_alloc_from_pool_async(&ptr, bytes, source->pool, stream),
             "gp_alloc_from_pool_async");
    return ptr;
}

static void gp_source_give(memory_source *source, size_t thread, void *ptr, cudaStream_t stream)
{
    (void)source;
    (void)thread;
    check_gp(gp_free_async(ptr, stream), "gp_free_async");
}

static uint64_t gp_source_peak_bytes(memory_source *source)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    check_gp(gp_pool_get_stats(source->pool, &stats), "gp_pool_get_stats");
    return stats.native_reserved_bytes_high;
}

/* ---- the native pool ---- */

static void check_native(device_result result)
{
    if (result != DEVICE_OK)
        example_fail("native pool", device_error());
}

static void native_open(memory_source *source, size_t thread_count)
{
    (void)thread_count;
    check_native(source->device->pool_create(&source->native_pool));
}

static void native_close(memory_source *source)
{
    check_native(source->device->pool_destroy(source->native_pool));
}

static void *native_take(memory_source *source, size_t thread, size_t bytes, cudaStream_t stream)
{
    void *ptr = NULL;
    (void)thread;
    check_native(source->device->pool_alloc(&ptr, bytes, source->native_pool, stream));
    return ptr;
}

static void native_give(memory_source *source, size_t thread, void *ptr, cudaStream_t stream)
{
    (void)thread;
    check_native(source->device->pool_free(ptr, stream));
}

static uint64_t native_peak_bytes(memory_source *source)
{
    device_pool_usage usage;
    check_native(source->device->pool_get_usage(source->native_pool, &usage));
    return usage.reserved_bytes_high;
}

/* ---- buffers allocated once ---- */

static void preallocated_open(memory_source *source, size_t thread_count)
{
    native_open(source, thread_count);
    source->buffers = calloc(thread_count, sizeof(*source->buffers));
    if (source->buffers == NULL)
        example_fail("preallocated", "out of memory");
}

static void preallocated_close(memory_source *source)
{
    free(source->buffers);
    native_close(source);
}

static void preallocated_enter(memory_source *source, size_t thread, cudaStream_t stream)
{
    memory_buffers *buffers = &source->buffers[thread];
    while (buffers->count < MEMORY_BUFFERS)
        buffers->free[buffers->count++] = native_take(source, thread, source->max_bytes, stream);
}

static void preallocated_leave(memory_source *source, size_t thread, cudaStream_t stream)
{
    memory_buffers *buffers = &source->buffers[thread];
    while (buffers->count > 0)
        native_give(source, thread, buffers->free[--buffers->count], stream);
}

static void *preallocated_take(memory_source *source, size_t thread, size_t bytes,
                               cudaStream_t stream)
{
    (void)bytes;
    (void)stream;
    memory_buffers *buffers = &source->buffers[thread];
    return buffers->free[--buffers->count];
}

static void preallocated_give(memory_source *source, size_t thread, void *ptr, cudaStream_t stream)
{
    (void)stream;
    memory_buffers *buffers = &source->buffers[thread];
    buffers->free[buffers->count++] = ptr;
}

/* ---- the four ---- */

static void nothing(memory_source *source, size_t thread, cudaStream_t stream)
{
    (void)source;
    (void)thread;
    (void)stream;
}

const memory_source_ops memory_sources[MEMORY_SOURCE_COUNT] = {
    [MEMORY_PREALLOCATED] = {"preallocated", preallocated_open, preallocated_close,
                             preallocated_enter, preallocated_leave, preallocated_take,
                             preallocated_give, native_peak_bytes},
    [MEMORY_GP_ATTACHED] = {"gp attached", gp_source_open, gp_source_close, attached_enter,
                            attached_leave, gp_source_take, gp_source_give, gp_source_peak_bytes},
    [MEMORY_GP_CHECKED] = {"gp checked", gp_source_open, gp_source_close, nothing, nothing,
                           gp_source_take, gp_source_give, gp_source_peak_bytes},
    [MEMORY_NATIVE] = {"native", native_open, native_close, nothing, nothing, native_take,
                       native_give, native_peak_bytes},
};
