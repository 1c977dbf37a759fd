/* malloc and free of the host: the yardstick of `hit`, not a policy to choose. */
#include "contender.h"

#include <stdlib.h>

#define OUT_OF_MEMORY 1

static bench_contender the_contender;

static int host_open(const bench_contender_ops *ops, bench_contender **contender,
                     const device_ops *device, bench_mode mode)
{
    (void)mode;
    the_contender = (bench_contender){.ops = ops, .device = device};
    *contender = &the_contender;
    return 0;
}

static void host_close(bench_contender *contender)
{
    (void)contender;
}

static int host_enter_or_leave(bench_contender *contender, cudaStream_t stream)
{
    (void)contender;
    (void)stream;
    return 0;
}

static inline int host_alloc(bench_contender *contender, void **ptr, size_t bytes,
                             cudaStream_t stream)
{
    (void)contender;
    (void)stream;
    /* volatile: else the compiler drops malloc and free together, as it may. */
    *(void *volatile *)ptr = malloc(bytes);
    return *ptr != NULL ? 0 : OUT_OF_MEMORY;
}

static inline int host_free(bench_contender *contender, void *ptr, size_t bytes,
                            cudaStream_t stream)
{
    (void)bytes;
    (void)contender;
    (void)stream;
    free(ptr);
    return 0;
}

static int host_run_pairs(bench_contender *contender, bench_pairs *pairs, size_t count,
                          cudaStream_t stream)
{
    return bench_pairs_run(pairs, count, host_alloc, host_free, contender, stream);
}

static int host_get_usage(bench_contender *contender, bench_usage *usage)
{
    (void)contender;
    *usage = (bench_usage){0};
    return 0;
}

static int host_reset_peak(bench_contender *contender)
{
    (void)contender;
    return 0;
}

static const char *host_error(int code)
{
    return code == OUT_OF_MEMORY ? "out of memory" : "unknown";
}

const bench_contender_ops *bench_contender_malloc(void)
{
    static const bench_contender_ops ops = {
        .struct_bytes = sizeof(ops),
        .name = "malloc",
        .open = host_open,
        .close = host_close,
        .enter = host_enter_or_leave,
        .leave = host_enter_or_leave,
        .alloc = host_alloc,
        .free = host_free,
        .run_pairs = host_run_pairs,
        .get_usage = host_get_usage,
        .reset_peak = host_reset_peak,
        .error = host_error,
    };
    return &ops;
}
