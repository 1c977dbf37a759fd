/* cudaMalloc and cudaFree: no pool at all. */
#include "contender.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The driver tells nobody what it holds for plain allocations: counted here is what
 * is live, rounded up to the step in which it places blocks. */
#define ROUND_BYTES ((size_t)512)

typedef struct plain_contender {
    bench_contender base; /* must be first */
    atomic_size_t held_bytes, held_bytes_high;
} plain_contender;

/* The table hands out the base, which is the first member. */
static plain_contender *self_of(bench_contender *contender)
{
    return (plain_contender *)(void *)contender;
}

static int plain_open(const bench_contender_ops *ops, bench_contender **contender,
                      const device_ops *device, bench_mode mode)
{
    (void)mode;
    plain_contender *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return DEVICE_OUT_OF_MEMORY;
    self->base = (bench_contender){.ops = ops, .device = device};
    *contender = &self->base;
    return 0;
}

static void plain_close(bench_contender *contender)
{
    free(contender);
}

static int plain_enter_or_leave(bench_contender *contender, cudaStream_t stream)
{
    (void)contender;
    (void)stream;
    return 0;
}

static size_t rounded(size_t bytes)
{
    return (bytes + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
}

static void count_alloc(plain_contender *self, size_t bytes)
{
    size_t held =
        atomic_fetch_add_explicit(&self->held_bytes, rounded(bytes), memory_order_relaxed) +
        rounded(bytes);
    size_t high = atomic_load_explicit(&self->held_bytes_high, memory_order_relaxed);
    while (held > high &&
           !atomic_compare_exchange_weak_explicit(&self->held_bytes_high, &high, held,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static inline int plain_alloc(bench_contender *contender, void **ptr, size_t bytes,
                              cudaStream_t stream)
{
    (void)stream;
    device_result result = contender->device->plain_alloc(ptr, bytes);
    if (result == DEVICE_OK)
        count_alloc(self_of(contender), bytes);
    return result;
}

static inline int plain_free(bench_contender *contender, void *ptr, size_t bytes,
                             cudaStream_t stream)
{
    (void)stream;
    device_result result = contender->device->plain_free(ptr);
    if (result == DEVICE_OK)
        atomic_fetch_sub_explicit(&self_of(contender)->held_bytes, rounded(bytes),
                                  memory_order_relaxed);
    return result;
}

static int plain_run_pairs(bench_contender *contender, bench_pairs *pairs, size_t count,
                           cudaStream_t stream)
{
    return bench_pairs_run(pairs, count, plain_alloc, plain_free, contender, stream);
}

static int plain_get_usage(bench_contender *contender, bench_usage *usage)
{
    plain_contender *self = self_of(contender);
    uint64_t high = atomic_load(&self->held_bytes_high);
    *usage = (bench_usage){
        .reserved_bytes = atomic_load(&self->held_bytes),
        .reserved_bytes_high = high,
        .pool_bytes_high = high,
    };
    return 0;
}

static int plain_reset_peak(bench_contender *contender)
{
    plain_contender *self = self_of(contender);
    atomic_store(&self->held_bytes_high, atomic_load(&self->held_bytes));
    return 0;
}

static const char *plain_error(int code)
{
    (void)code;
    return device_error();
}

const bench_contender_ops *bench_peer_cuda_malloc(void)
{
    static const bench_contender_ops ops = {
        .struct_bytes = sizeof(ops),
        .name = "cuda-malloc",
        .passes_through = true,
        .keeps_nothing = true,
        .is_slow = true,
        .open = plain_open,
        .close = plain_close,
        .enter = plain_enter_or_leave,
        .leave = plain_enter_or_leave,
        .alloc = plain_alloc,
        .free = plain_free,
        .run_pairs = plain_run_pairs,
        .get_usage = plain_get_usage,
        .reset_peak = plain_reset_peak,
        .error = plain_error,
    };
    return &ops;
}
