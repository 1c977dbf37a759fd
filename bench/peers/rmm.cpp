/* RMM's pool and arena, each on cudaMalloc. */
#include "peers/guarded.h"
#include "peers/peer.h"

#include <rmm/cuda_device.hpp>
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

#include <algorithm>
#include <atomic>
#include <memory>

namespace {

/* An arena takes all it will ever have at once. */
constexpr std::size_t arena_bytes = std::size_t{16} << 30;

constexpr std::size_t alignment = rmm::CUDA_ALLOCATION_ALIGNMENT;

struct held_bytes {
    std::atomic<uint64_t> now{0}, high{0};
};

/* cudaMalloc, and a count of what has been taken from it. */
class counted_memory {
  public:
    explicit counted_memory(std::shared_ptr<held_bytes> held) : held_(std::move(held))
    {
    }

    void *allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t align = alignment)
    {
        void *ptr = memory_.allocate(stream, bytes, align);
        uint64_t now = held_->now += bytes;
        uint64_t high = held_->high;
        while (now > high && !held_->high.compare_exchange_weak(high, now)) {
        }
        return ptr;
    }

    void deallocate(cuda::stream_ref stream, void *ptr, std::size_t bytes,
                    std::size_t align = alignment) noexcept
    {
        memory_.deallocate(stream, ptr, bytes, alignment);
        held_->now -= bytes;
    }

    void *allocate_sync(std::size_t bytes, std::size_t align = alignment)
    {
        return allocate(cuda::stream_ref{cudaStream_t{nullptr}}, bytes, align);
    }

    void deallocate_sync(void *ptr, std::size_t bytes, std::size_t align = alignment) noexcept
    {
        deallocate(cuda::stream_ref{cudaStream_t{nullptr}}, ptr, bytes, alignment);
    }

    bool operator==(const counted_memory &other) const noexcept
    {
        return held_ == other.held_;
    }

    friend void get_property(const counted_memory &, cuda::mr::device_accessible) noexcept
    {
    }

  private:
    rmm::mr::cuda_memory_resource memory_;
    std::shared_ptr<held_bytes> held_;
};

template <typename Resource> Resource make_resource(const std::shared_ptr<held_bytes> &held);

template <> rmm::mr::pool_memory_resource make_resource(const std::shared_ptr<held_bytes> &held)
{
    return rmm::mr::pool_memory_resource{counted_memory{held}, 0};
}

template <> rmm::mr::arena_memory_resource make_resource(const std::shared_ptr<held_bytes> &held)
{
    return rmm::mr::arena_memory_resource{counted_memory{held}, arena_bytes};
}

/* The calls of gp-bench on one kind of resource. */
template <typename Resource> struct peer : bench_contender {
    std::shared_ptr<held_bytes> held = std::make_shared<held_bytes>();
    Resource resource = make_resource<Resource>(held);

    static peer *self_of(bench_contender *contender)
    {
        return static_cast<peer *>(contender);
    }

    static int open(const bench_contender_ops *ops, bench_contender **contender,
                    const device_ops *device, bench_mode)
    {
        return guarded::call([&] {
            rmm::cuda_set_device_raii current{rmm::cuda_device_id{0}};
            auto *self = new peer;
            self->ops = ops;
            self->device = device;
            *contender = self;
        });
    }

    static void close(bench_contender *contender)
    {
        delete self_of(contender);
    }

    static int enter_or_leave(bench_contender *, cudaStream_t)
    {
        return 0;
    }

    static int alloc(bench_contender *contender, void **ptr, size_t bytes, cudaStream_t stream)
    {
        return guarded::call([&] {
            *ptr =
                self_of(contender)->resource.allocate(cuda::stream_ref{stream}, bytes, alignment);
        });
    }

    static int release(bench_contender *contender, void *ptr, size_t bytes, cudaStream_t stream)
    {
        return guarded::call([&] {
            self_of(contender)->resource.deallocate(cuda::stream_ref{stream}, ptr, bytes,
                                                    alignment);
        });
    }

    static int run_pairs(bench_contender *contender, bench_pairs *pairs, size_t count,
                         cudaStream_t stream)
    {
        return bench_pairs_run(pairs, count, alloc, release, contender, stream);
    }

    static int get_usage(bench_contender *contender, bench_usage *usage)
    {
        const held_bytes &held = *self_of(contender)->held;
        *usage = {};
        usage->reserved_bytes = held.now;
        usage->reserved_bytes_high = held.high;
        usage->pool_bytes_high = held.high;
        return 0;
    }

    static int reset_peak(bench_contender *contender)
    {
        held_bytes &held = *self_of(contender)->held;
        held.high = held.now.load();
        return 0;
    }
};

template <typename Resource> bench_contender_ops make_ops(const char *name)
{
    using calls = peer<Resource>;
    bench_contender_ops ops = {};
    ops.struct_bytes = sizeof(ops);
    ops.name = name;
    ops.needs_gpu = true;
    ops.open = calls::open;
    ops.close = calls::close;
    ops.enter = calls::enter_or_leave;
    ops.leave = calls::enter_or_leave;
    ops.alloc = calls::alloc;
    ops.free = calls::release;
    ops.run_pairs = calls::run_pairs;
    ops.get_usage = calls::get_usage;
    ops.reset_peak = calls::reset_peak;
    ops.error = guarded::error_text;
    return ops;
}

} // namespace

const bench_contender_ops *gp_bench_peer(size_t index)
{
    static const bench_contender_ops tables[] = {
        make_ops<rmm::mr::pool_memory_resource>("rmm-pool"),
        make_ops<rmm::mr::arena_memory_resource>("rmm-arena"),
    };
    return index < 2 ? &tables[index] : nullptr;
}
