/* Native pools of the simulated device. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "gp/sim.h"

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)
#define GRANULE MIB(32)

static cudaStream_t stream;
static cudaStream_t other;
static cudaMemPool_t pool;

static void open_machine(const gp_sim_config *config)
{
    cr_assert(eq(int, gp_sim_reset(config), GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&stream, true), 0));
    cr_assert(eq(int, gp_sim_stream_create(&other, true), 0));
    cr_assert(eq(int, gp_sim_pool_create(&pool), 0));
    cr_assert(eq(int, gp_sim_pool_set_threshold(pool, UINT64_MAX), 0));
}

static void open_default(void)
{
    open_machine(NULL);
}

static void open_small(void)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.device_bytes = 4 * GRANULE;
    open_machine(&config);
}

static void *take(size_t bytes, cudaStream_t on)
{
    void *ptr = NULL;
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, bytes, pool, on), 0));
    return ptr;
}

static void give(void *ptr, cudaStream_t on)
{
    cr_assert(eq(int, gp_sim_free_async(ptr, on), 0));
}

static gp_sim_pool_usage usage(void)
{
    gp_sim_pool_usage found;
    cr_assert(eq(int, gp_sim_pool_get_usage(pool, &found), 0));
    return found;
}

static size_t device_free(void)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cr_assert(eq(int, gp_sim_mem_get_info(&free_bytes, &total_bytes), 0));
    return free_bytes;
}

/* Keep a stream busy until the gate is opened. */
static gp_sim_gate stop(cudaStream_t on)
{
    gp_sim_gate gate = NULL;
    cr_assert(eq(int, gp_sim_gate_create(&gate), 0));
    cr_assert(eq(int, gp_sim_gate_wait(on, gate), 0));
    return gate;
}

TestSuite(sim_memory, .init = open_default);

Test(sim_memory, a_pool_grows_in_whole_granules)
{
    (void)take(1, stream);
    cr_assert(eq(u64, usage().reserved_bytes, GRANULE));
    cr_assert(eq(u64, usage().used_bytes, 512));

    (void)take(GRANULE + 1, stream);
    cr_assert(eq(u64, usage().reserved_bytes, 3 * GRANULE));
}

Test(sim_memory, addresses_are_multiples_of_512_and_large_ones_of_a_mebibyte)
{
    void *small = take(1, stream);
    void *next = take(513, stream);
    void *large = take(MIB(2), stream);

    cr_assert(eq(u64, (uintptr_t)small, GP_SIM_BASE_ADDRESS));
    cr_assert(eq(u64, (uintptr_t)next, GP_SIM_BASE_ADDRESS + 512));
    cr_assert(eq(u64, (uintptr_t)large % MIB(1), 0));
}

/* C32 */
Test(sim_memory, a_driver_of_poor_alignment_can_be_simulated)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.base_offset = 256;
    open_machine(&config);

    void *ptr = take(MIB(4), stream);

    cr_assert(eq(u64, (uintptr_t)ptr % 512, 256));
    give(ptr, stream);
    cr_assert(eq(u64, usage().used_bytes, 0));
}

Test(sim_memory, the_smallest_free_span_that_fits_is_used)
{
    void *large = take(MIB(3), stream);
    (void)take(512, stream);
    void *small = take(KIB(64), stream);
    (void)take(512, stream);
    give(large, stream);
    give(small, stream);

    cr_assert(eq(ptr, take(KIB(60), stream), small));
    cr_assert(eq(ptr, take(MIB(2), stream), large));
}

Test(sim_memory, neighbours_join_when_they_are_free)
{
    void *a = take(MIB(1), stream);
    void *b = take(MIB(1), stream);
    (void)take(GRANULE - MIB(2), stream);
    give(b, stream);
    give(a, stream);
    void *both = take(MIB(2), stream);
    cr_assert(eq(ptr, both, a));

    give(both, stream);
    a = take(MIB(1), stream);
    b = take(MIB(1), stream);
    give(a, stream);
    give(b, stream);
    cr_assert(eq(ptr, take(MIB(2), stream), a));
    cr_assert(eq(u64, usage().reserved_bytes, GRANULE));
}

Test(sim_memory, a_span_freed_on_the_same_stream_is_reused_while_the_free_is_pending)
{
    (void)stop(stream);
    void *ptr = take(GRANULE, stream);
    give(ptr, stream);

    cr_assert(eq(ptr, take(GRANULE, stream), ptr));
}

Test(sim_memory, a_pending_free_makes_other_streams_grow_the_pool)
{
    gp_sim_gate gate = stop(stream);
    void *ptr = take(GRANULE, stream);
    give(ptr, stream);

    void *grown = take(GRANULE, other);
    give(grown, other);
    cr_assert(eq(int, gp_sim_gate_open(gate), 0));
    void *reused = take(2 * GRANULE, other);

    cr_assert(ne(ptr, grown, ptr));
    cr_assert(eq(ptr, reused, ptr), "both are complete, and neighbours");
}

Test(sim_memory, frees_of_a_stream_become_complete_one_by_one)
{
    void *early = take(GRANULE, stream);
    (void)take(GRANULE, stream); /* keeps the two apart */
    void *late = take(GRANULE, stream);
    cr_assert(eq(int, gp_sim_launch(stream, NULL, 0, 1000000), 0));
    give(early, stream);
    (void)stop(stream);
    give(late, stream);
    gp_sim_advance(2000000);

    cr_assert(eq(ptr, take(GRANULE, other), early));
    cr_assert(ne(ptr, take(GRANULE, other), late));
}

Test(sim_memory, a_span_whose_free_is_ordered_before_by_an_event_is_reused)
{
    gp_sim_event event = NULL;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    (void)stop(stream);
    void *ptr = take(GRANULE, stream);
    give(ptr, stream);
    cr_assert(eq(int, gp_sim_event_record(event, stream), 0));
    cr_assert(eq(int, gp_sim_stream_wait_event(other, event), 0));

    cr_assert(eq(ptr, take(GRANULE, other), ptr));
}

Test(sim_memory, a_pending_free_is_not_trimmed)
{
    gp_sim_gate gate = stop(stream);
    give(take(2 * GRANULE, stream), stream);

    cr_assert(eq(int, gp_sim_pool_trim_to(pool, 0), 0));
    cr_assert(eq(u64, usage().reserved_bytes, 2 * GRANULE));

    cr_assert(eq(int, gp_sim_gate_open(gate), 0));
    cr_assert(eq(int, gp_sim_pool_trim_to(pool, GRANULE), 0));
    cr_assert(eq(u64, usage().reserved_bytes, GRANULE));
}

Test(sim_memory, a_trim_gives_back_whole_granules_only)
{
    void *low = take(MIB(1), stream);
    void *rest = take(3 * GRANULE, stream);
    give(rest, stream);

    cr_assert(eq(int, gp_sim_pool_trim_to(pool, 0), 0));

    cr_assert(eq(u64, usage().reserved_bytes, GRANULE));
    give(low, stream);
    cr_assert(eq(int, gp_sim_pool_trim_to(pool, 0), 0));
    cr_assert(eq(u64, usage().reserved_bytes, 0));
}

Test(sim_memory, a_synchronising_call_shrinks_a_pool_to_its_threshold)
{
    cr_assert(eq(int, gp_sim_pool_set_threshold(pool, GRANULE), 0));
    give(take(3 * GRANULE, stream), stream);
    cr_assert(eq(u64, usage().reserved_bytes, 3 * GRANULE));

    cr_assert(eq(int, gp_sim_stream_synchronize(stream), 0));

    cr_assert(eq(u64, usage().reserved_bytes, GRANULE));
}

Test(sim_memory, a_full_device_is_out_of_memory_and_nothing_changes, .init = open_small)
{
    void *ptr = take(3 * GRANULE, stream);
    gp_sim_pool_usage before = usage();
    void *none = &before;

    cr_assert(eq(int, gp_sim_malloc_async(&none, 2 * GRANULE, pool, stream), 2));
    cr_assert(eq(int, gp_sim_malloc_async(&none, SIZE_MAX, pool, stream), 2));
    cr_assert(eq(int, gp_sim_malloc_async(&none, 0, pool, stream), 1));

    cr_assert(eq(ptr, none, &before));
    cr_assert(eq(u64, usage().used_bytes, before.used_bytes));
    give(ptr, stream);
    (void)take(4 * GRANULE, stream);
}

Test(sim_memory, what_others_took_counts_against_the_capacity, .init = open_small)
{
    void *ptr = NULL;
    cr_assert(eq(int, gp_sim_set_foreign_bytes(0, 2 * GRANULE), 0));

    cr_assert(eq(sz, device_free(), 2 * GRANULE));
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, 3 * GRANULE, pool, stream), 2));
    (void)take(2 * GRANULE, stream);
    cr_assert(eq(sz, device_free(), 0));
}

Test(sim_memory, a_destroyed_pool_gives_its_memory_back_once_its_blocks_are_free)
{
    size_t at_first = device_free();
    void *ptr = take(MIB(1), stream);
    cr_assert(eq(int, gp_sim_pool_destroy(pool), 0));
    cr_assert(eq(sz, gp_sim_live_pools(), 0));
    cr_assert(eq(sz, device_free(), at_first - GRANULE));
    gp_sim_gate gate = stop(stream);

    give(ptr, stream);
    cr_assert(eq(sz, device_free(), at_first - GRANULE), "the free is pending");
    cr_assert(eq(int, gp_sim_gate_open(gate), 0));

    cr_assert(eq(sz, device_free(), at_first));
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, 1, pool, stream), 1));
}

Test(sim_memory, a_pointer_that_is_no_live_allocation_is_refused)
{
    void *ptr = take(MIB(1), stream);

    cr_assert(eq(int, gp_sim_free_async((char *)ptr + 512, stream), 1));
    give(ptr, stream);
    cr_assert(eq(int, gp_sim_free_async(ptr, stream), 1));
    cr_assert(eq(int, gp_sim_free_async(NULL, stream), 1));
}

Test(sim_memory, the_peak_is_kept_until_it_is_reset)
{
    give(take(GRANULE, stream), stream);
    cr_assert(eq(u64, usage().used_bytes_high, GRANULE));
    cr_assert(eq(u64, usage().used_bytes, 0));

    cr_assert(eq(int, gp_sim_pool_reset_peak(pool), 0));

    cr_assert(eq(u64, usage().used_bytes_high, 0));
    cr_assert(eq(u64, usage().reserved_bytes_high, GRANULE));
}

Test(sim_memory, growth_and_trim_cost_by_the_mebibyte)
{
    (void)take(1, stream);
    uint64_t start = gp_sim_thread_native_ns();
    void *ptr = take(32 * GRANULE, stream);
    uint64_t grown = gp_sim_thread_native_ns();
    give(ptr, stream);
    uint64_t freed = gp_sim_thread_native_ns();
    cr_assert(eq(int, gp_sim_pool_trim_to(pool, GRANULE), 0));

    cr_assert(eq(u64, grown - start, 1024650));
    cr_assert(eq(u64, freed - grown, 620));
    cr_assert(eq(u64, gp_sim_thread_native_ns() - freed, 1126400));
}

Test(sim_memory, the_first_allocation_of_a_process_is_the_dear_one)
{
    uint64_t start = gp_sim_thread_native_ns();
    (void)take(1, stream);
    uint64_t first = gp_sim_thread_native_ns();
    (void)take(1, stream);

    cr_assert(eq(u64, first - start, 650 + 90000 + 8600000));
    cr_assert(eq(u64, gp_sim_thread_native_ns() - first, 650));
}

/* C51 */
Test(sim_memory, address_space_does_not_run_out)
{
    for (int i = 0; i < 2000; i++) {
        give(take((size_t)100 << 30, stream), stream);
        cr_assert(eq(int, gp_sim_pool_trim_to(pool, 0), 0));
    }

    cr_assert(eq(u64, usage().reserved_bytes, 0));
}

/* C90 */
Test(sim_memory, a_device_without_pools_makes_none)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.pools_supported = false;
    cr_assert(eq(int, gp_sim_reset(&config), GP_OK));

    cr_assert(eq(int, gp_sim_pool_create(&pool), 801));
}
