/* PyTorch's CUDACachingAllocator, called from C++: there is one in a process. */
#include "peers/guarded.h"
#include "peers/peer.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>

namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

constexpr auto aggregate = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

int open(const bench_contender_ops *ops, bench_contender **contender, const device_ops *device,
         bench_mode)
{
    return guarded::call([&] {
        static const bool once = [] {
            caching::init(c10::cuda::device_count());
            return true;
        }();
        static_cast<void>(once);
        c10::cuda::set_device(0);
        caching::emptyCache();
        *contender = new bench_contender{ops, device};
    });
}

void close(bench_contender *contender)
{
    static_cast<void>(guarded::call([] { caching::emptyCache(); }));
    delete contender;
}

int enter_or_leave(bench_contender *, cudaStream_t)
{
    return 0;
}

int alloc(bench_contender *, void **ptr, size_t bytes, cudaStream_t stream)
{
    return guarded::call([&] { *ptr = caching::raw_alloc_with_stream(bytes, stream); });
}

/* Back to the stream of its allocation: the harness has seen to it that uses elsewhere
 * are over. */
int release(bench_contender *, void *ptr, size_t, cudaStream_t)
{
    return guarded::call([&] { caching::raw_delete(ptr); });
}

int run_pairs(bench_contender *contender, bench_pairs *pairs, size_t count, cudaStream_t stream)
{
    return bench_pairs_run(pairs, count, alloc, release, contender, stream);
}

int get_usage(bench_contender *, bench_usage *usage)
{
    return guarded::call([&] {
        const auto stats = caching::getDeviceStats(0);
        const auto &reserved = stats.reserved_bytes[aggregate];
        *usage = {};
        usage->reserved_bytes = static_cast<uint64_t>(reserved.current);
        usage->reserved_bytes_high = static_cast<uint64_t>(reserved.peak);
        usage->pool_bytes_high = usage->reserved_bytes_high;
    });
}

int reset_peak(bench_contender *)
{
    return guarded::call([] { caching::resetPeakStats(0); });
}

/* Blocks of a segment that are free and neighbours have been joined, as far as it joins. */
int get_holes(bench_contender *, bench_holes *holes)
{
    return guarded::call([&] {
        *holes = {};
        for (const auto &segment : caching::snapshot().segments) {
            for (const auto &block : segment.blocks) {
                if (block.allocated)
                    continue;
                holes->free_bytes += block.size;
                holes->largest_free_bytes =
                    std::max<uint64_t>(holes->largest_free_bytes, block.size);
            }
        }
    });
}

bench_contender_ops make_ops()
{
    bench_contender_ops ops = {};
    ops.struct_bytes = sizeof(ops);
    ops.name = "torch";
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
    ops.get_holes = get_holes;
    ops.error = guarded::error_text;
    return ops;
}

} // namespace

const bench_contender_ops *gp_bench_peer(size_t index)
{
    static const bench_contender_ops ops = make_ops();
    return index == 0 ? &ops : nullptr;
}
