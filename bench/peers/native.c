/* The driver's own pool, its release threshold unlimited. */
#include "contender.h"

#include <stdlib.h>

typedef struct native_contender {
    bench_contender base; /* must be first */
    cudaMemPool_t pool;
} native_contender;

/* The table hands out the base, which is the first member. */
static native_contender *self_of(bench_contender *contender)
{
    return (native_contender *)(void *)contender;
}

static int native_open(const bench_contender_ops *ops, bench_contender **contender,
                       const device_ops *device, bench_mode mode)
{
    (void)mode;
    native_contender *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return DEVICE_OUT_OF_MEMORY;
    device_result result = device->pool_create(&self->pool);
    if (result != DEVICE_OK) {
        free(self);
        return result;
    }
    self->base = (bench_contender){.ops = ops, .device = device};
    *contender = &self->base;
    return 0;
}

static void native_close(bench_contender *contender)
{
    (void)contender->device->pool_destroy(self_of(contender)->pool);
    free(contender);
}

static int native_enter_or_leave(bench_contender *contender, cudaStream_t stream)
{
    (void)contender;
    (void)stream;
    return 0;
}

static inline int native_alloc(bench_contender *contender, void **ptr, size_t bytes,
                               cudaStream_t stream)
{
    return contender->device->pool_alloc(ptr, bytes, self_of(contender)->pool, stream);
}

static inline int native_free(bench_contender *contender, void *ptr, size_t bytes,
                              cudaStream_t stream)
{
    (void)bytes;
    return contender->device->pool_free(ptr, stream);
}

static int native_run_pairs(bench_contender *contender, bench_pairs *pairs, size_t count,
                            cudaStream_t stream)
{
    return bench_pairs_run(pairs, count, native_alloc, native_free, contender, stream);
}

static int native_get_usage(bench_contender *contender, bench_usage *usage)
{
    device_pool_usage held;
    device_result result = contender->device->pool_get_usage(self_of(contender)->pool, &held);
    if (result != DEVICE_OK)
        return result;
    *usage = (bench_usage){
        .reserved_bytes = held.reserved_bytes,
        .reserved_bytes_high = held.reserved_bytes_high,
        .pool_bytes_high = held.reserved_bytes_high,
    };
    return 0;
}

static int native_reset_peak(bench_contender *contender)
{
    return contender->device->pool_reset_peak(self_of(contender)->pool);
}

static const char *native_error(int code)
{
    (void)code;
    return device_error();
}

const bench_contender_ops *bench_peer_native(void)
{
    static const bench_contender_ops ops = {
        .struct_bytes = sizeof(ops),
        .name = "native",
        .passes_through = true,
        .open = native_open,
        .close = native_close,
        .enter = native_enter_or_leave,
        .leave = native_enter_or_leave,
        .alloc = native_alloc,
        .free = native_free,
        .run_pairs = native_run_pairs,
        .get_usage = native_get_usage,
        .reset_peak = native_reset_peak,
        .error = native_error,
    };
    return &ops;
}
