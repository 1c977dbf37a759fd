/*
 * Where the pipeline gets its device memory from. The four sources are all that
 * differs between the contenders:
 *
 *   preallocated  buffers of the largest size, allocated once: the ceiling, which
 *                 no allocator can pass
 *   gp attached   gp, the streams promised to it: no driver call on the hot path
 *   gp checked    gp, asking the driver about the stream on every call
 *   native        the driver's own pool, as cudaMallocAsync uses it
 *
 * A thread uses the slot of its index. Any failure ends the process.
 */
#ifndef GP_EXAMPLES_MEMORY_SOURCE_H
#define GP_EXAMPLES_MEMORY_SOURCE_H

#include "device.h"

#include "gp/gp.h"

#include <stddef.h>
#include <stdint.h>

/* Most buffers a thread holds at once: input, output and workspace of a layer. */
#define MEMORY_BUFFERS 3

/* One thread's buffers of the preallocated source: a stack of free ones. */
typedef struct memory_buffers {
    void *free[MEMORY_BUFFERS];
    size_t count;
    char apart[128]; /* Keeps threads off each other's cache lines. */
} memory_buffers;

typedef struct memory_source {
    const struct memory_source_ops *ops;
    const device_ops *device;
    size_t max_bytes;          /* Of one allocation. */
    gp_pool *pool;             /* gp */
    cudaMemPool_t native_pool; /* preallocated and native */
    memory_buffers *buffers;   /* preallocated: one for each thread */
} memory_source;

typedef struct memory_source_ops {
    const char *name;
    void (*open)(memory_source *source, size_t thread_count);
    void (*close)(memory_source *source);

    /* A thread starts, or stops, using the source on its stream. */
    void (*enter)(memory_source *source, size_t thread, cudaStream_t stream);
    void (*leave)(memory_source *source, size_t thread, cudaStream_t stream);

    void *(*take)(memory_source *source, size_t thread, size_t bytes, cudaStream_t stream);
    void (*give)(memory_source *source, size_t thread, void *ptr, cudaStream_t stream);

    /* Most bytes held from the device so far. */
    uint64_t (*peak_bytes)(memory_source *source);
} memory_source_ops;

enum {
    MEMORY_PREALLOCATED,
    MEMORY_GP_ATTACHED,
    MEMORY_GP_CHECKED,
    MEMORY_NATIVE,
    MEMORY_SOURCE_COUNT
};

extern const memory_source_ops memory_sources[MEMORY_SOURCE_COUNT];

#endif
