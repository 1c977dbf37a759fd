/* CUB's CachingDeviceAllocator: blocks in sizes of powers of two, kept for ever. */
#include "peers/peer.h"

#include <cub/util_allocator.cuh>

#include <atomic>
#include <cuda_runtime.h>
#include <new>

namespace {

/* Sizes from 512 bytes on, and no limit on what is cached: by default it caches no more than
 * 6 MiB, which would measure cudaMalloc. */
constexpr unsigned int bin_growth = 2;
constexpr unsigned int min_bin = 9;
constexpr unsigned int max_bin = 31; /* 2 GiB; CUB computes in unsigned int */

struct cub_contender : bench_contender {
    cub::CachingDeviceAllocator allocator{bin_growth, min_bin, max_bin,
                                          cub::CachingDeviceAllocator::INVALID_SIZE, false};
    std::atomic<uint64_t> reserved_high{0};
};

cub_contender *self_of(bench_contender *contender)
{
    return static_cast<cub_contender *>(contender);
}

/* As the allocator counts it, without its lock: a peer that is asked while others allocate
 * must not be slowed down by the question. */
uint64_t reserved_now(cub_contender *self)
{
    const auto &bytes = self->allocator.cached_bytes[0];
    const volatile size_t &free_bytes = bytes.free;
    const volatile size_t &live_bytes = bytes.live;
    return free_bytes + live_bytes;
}

void note_peak(bench_contender *contender)
{
    cub_contender *self = self_of(contender);
    uint64_t held = reserved_now(self);
    uint64_t high = self->reserved_high.load(std::memory_order_relaxed);
    while (held > high && !self->reserved_high.compare_exchange_weak(high, held)) {
    }
}

int open(const bench_contender_ops *ops, bench_contender **contender, const device_ops *device,
         bench_mode)
{
    cudaError_t error = cudaSetDevice(0);
    if (error != cudaSuccess)
        return error;
    auto *self = new (std::nothrow) cub_contender;
    if (self == nullptr)
        return cudaErrorMemoryAllocation;
    self->ops = ops;
    self->device = device;
    /* The entry of the device, made before threads look at it. */
    self->allocator.cached_bytes[0];
    *contender = self;
    return 0;
}

void close(bench_contender *contender)
{
    delete self_of(contender);
}

int enter_or_leave(bench_contender *, cudaStream_t)
{
    return 0;
}

int alloc(bench_contender *contender, void **ptr, size_t bytes, cudaStream_t stream)
{
    return self_of(contender)->allocator.DeviceAllocate(0, ptr, bytes, stream);
}

int release(bench_contender *contender, void *ptr, size_t, cudaStream_t)
{
    return self_of(contender)->allocator.DeviceFree(0, ptr);
}

int run_pairs(bench_contender *contender, bench_pairs *pairs, size_t count, cudaStream_t stream)
{
    return bench_pairs_run(pairs, count, alloc, release, contender, stream);
}

int get_usage(bench_contender *contender, bench_usage *usage)
{
    cub_contender *self = self_of(contender);
    note_peak(contender);
    *usage = {};
    usage->reserved_bytes = reserved_now(self);
    usage->reserved_bytes_high = self->reserved_high;
    usage->pool_bytes_high = self->reserved_high;
    return 0;
}

int reset_peak(bench_contender *contender)
{
    self_of(contender)->reserved_high = reserved_now(self_of(contender));
    return 0;
}

const char *error_text(int code)
{
    return cudaGetErrorString(static_cast<cudaError_t>(code));
}

const bench_contender_ops make_ops()
{
    bench_contender_ops ops = {};
    ops.struct_bytes = sizeof(ops);
    ops.name = "cub";
    ops.needs_gpu = true;
    ops.open = open;
    ops.close = close;
    ops.enter = enter_or_leave;
    ops.leave = enter_or_leave;
    ops.alloc = alloc;
    ops.free = release;
    ops.run_pairs = run_pairs;
    ops.get_usage = get_usage;
    ops.reset_peak = reset_peak;
    ops.observe = note_peak;
    ops.error = error_text;
    return ops;
}

} // namespace

const bench_contender_ops *gp_bench_peer(size_t index)
{
    static const bench_contender_ops ops = make_ops();
    return index == 0 ? &ops : nullptr;
}
