/* Failures half-way, settings, and trims: nothing is lost, and the next call works. */
#include "malloc_fault.h"
#include "pool_fixture.h"
#include "seeded_random.h"

TestSuite(case_faults, .init = pool_open, .fini = pool_close);

/* ---- frees that must not fail ---- */

enum { MANY = 1000 };

static void hold_many(void **blocks, cudaStream_t stream)
{
    for (size_t i = 0; i < MANY; i++)
        blocks[i] = pool_alloc((size_t)512 << i % 13, stream);
}

static void fail_everything(void)
{
    static const gp_sim_function functions[] = {GP_SIM_FN_MALLOC,       GP_SIM_FN_FREE,
                                                GP_SIM_FN_EVENT_CREATE, GP_SIM_FN_EVENT_RECORD,
                                                GP_SIM_FN_EVENT_QUERY,  GP_SIM_FN_STREAM_QUERY,
                                                GP_SIM_FN_STREAM_WAIT,  GP_SIM_FN_POOL_TRIM};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        gp_sim_fail(functions[i], 1, UINT64_MAX, 2);
}

static void fail_nothing(void)
{
    for (int i = 0; i < GP_SIM_FN_COUNT; i++)
        gp_sim_fail((gp_sim_function)i, 0, 0, 0);
}

/* C38: at the end everything was freed, and the free path asked for memory that there was not. */
Test(case_faults, free_needs_no_memory_and_no_event)
{
    static void *blocks[MANY];
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    pool_use(KIB(4), user); /* the thread has met both */
    hold_many(blocks, home);
    pool_order(home, user);
    SIM(gp_sim_set_foreign_bytes(0, GIB(4) / 100 * 90));
    fail_everything();
    malloc_fault_after(0);

    int freed = 0;
    for (int i = 0; i < MANY; i++)
        freed += gp_free_async(blocks[i], i % 3 == 0 ? user : home) == GP_OK;

    malloc_fault_off();
    fail_nothing();
    SIM(gp_sim_set_foreign_bytes(0, 0));
    cr_assert(eq(int, freed, MANY));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    GP(gp_pool_check(pool));
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

/* ---- rollback ---- */

/* C68: a preparation that failed half-way orphaned what it had made, again at every try. */
Test(case_faults, reserving_may_fail_at_any_native_call_and_be_tried_again)
{
    static const gp_sim_function functions[] = {GP_SIM_FN_MALLOC, GP_SIM_FN_EVENT_CREATE,
                                                GP_SIM_FN_EVENT_RECORD, GP_SIM_FN_STREAM_CREATE};
    const gp_reserve_entry plan = {.bytes = MIB(32), .count = 64};
    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
        for (uint64_t nth = 1; nth <= 64; nth += f == 0 ? 1 : 9) {
            gp_pool_config config = pool_config();
            pool_reopen(NULL, &config);
            cudaStream_t stream = pool_attached_stream();
            gp_sim_fail(functions[f], nth, UINT64_MAX, 999);

            gp_status status = gp_pool_reserve(pool, stream, &plan, 1);

            cr_assert(status == GP_OK || status == GP_ERR_CUDA, "%s", gp_last_error());
            cr_assert(status == GP_OK || gp_last_native_error() == 999);
            fail_nothing();
            GP(gp_pool_check(pool));
            cr_assert(eq(u64, pool_stats().live_bytes, 0));
            GP(gp_pool_reserve(pool, stream, &plan, 1));
            cr_assert(le(u64, pool_stats().reserved_bytes, GIB(2) + MIB(64)));
        }
    }
}

static void allocate_and_free(size_t bytes, cudaStream_t stream)
{
    void *block = NULL;
    if (gp_alloc_from_pool_async(&block, bytes, pool, stream) == GP_OK)
        pool_free(block, stream);
}

/* C68: a segment that there is no host memory for, and no way to give back at once. */
Test(case_faults, segment_that_could_not_be_taken_in_nor_given_back_goes_later)
{
    for (size_t after = 0; after < 40; after++) {
        gp_pool_config config = pool_config();
        pool_reopen(NULL, &config);
        cudaStream_t stream = pool_attached_stream();
        pool_use(512, stream);
        gp_sim_fail(GP_SIM_FN_FREE, 1, UINT64_MAX, 999);
        malloc_fault_after(after);

        allocate_and_free(MIB(64), stream);

        malloc_fault_off();
        fail_nothing();
        GP(gp_pool_check(pool));
        pool_settle();
        GP(gp_pool_trim_to(pool, 0));
        cr_assert(eq(u64, pool_stats().reserved_bytes, 0), "after %zu", after);
        cr_assert(eq(u64, pool_stats().native_reserved_bytes, 0), "after %zu", after);
    }
}

/* The same for memory of a graph. */
Test(case_faults, segment_that_a_capture_could_not_take_in_goes_later)
{
    size_t failed = 0;
    for (size_t after = 0; after < 40; after++) {
        gp_pool_config config = pool_config();
        config.capture = GP_CAPTURE_ARENA;
        pool_reopen(NULL, &config);
        cudaStream_t stream = pool_stream();
        gp_sim_graph graph = NULL;
        void *block = NULL;
        pool_use(512, stream);
        SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_RELAXED));
        gp_sim_fail(GP_SIM_FN_FREE, 1, UINT64_MAX, 999);
        malloc_fault_after(after);

        gp_status status = gp_alloc_from_pool_async(&block, MIB(64), pool, stream);

        malloc_fault_off();
        fail_nothing();
        SIM(gp_sim_end_capture(stream, &graph));
        SIM(gp_sim_graph_destroy(graph));
        GP(gp_pool_check(pool));
        pool_settle();
        pool_use(512, stream); /* A checked stream's memory is given back after its next call. */
        pool_settle();
        GP(gp_pool_trim_to(pool, 0));
        gp_pool_stats stats = pool_stats();
        cr_assert(eq(u64, stats.native_reserved_bytes, stats.reserved_bytes), "after %zu", after);
        cr_assert(le(u64, stats.reserved_bytes, stats.arena_bytes + MIB(2)), "after %zu", after);
        failed += status != GP_OK;
    }
    cr_assert(lt(sz, 1, failed));
}

/* C68: the same when it is malloc() that fails. */
Test(case_faults, reserving_may_fail_at_any_malloc_and_be_tried_again)
{
    const gp_reserve_entry plan[] = {{.bytes = MIB(4), .count = 16}, {.bytes = 700, .count = 300}};
    for (size_t after = 0; after < 60; after++) {
        gp_pool_config config = pool_config();
        pool_reopen(NULL, &config);
        cudaStream_t stream = pool_attached_stream();
        malloc_fault_once_after(after);

        gp_status status = gp_pool_reserve(pool, stream, plan, 2);

        malloc_fault_off();
        cr_assert(status == GP_OK || status == GP_ERR_OUT_OF_HOST_MEMORY ||
                      status == GP_ERR_OUT_OF_MEMORY,
                  "%s", gp_last_error());
        GP(gp_pool_check(pool));
        cr_assert(eq(u64, pool_stats().live_bytes, 0));
        GP(gp_pool_reserve(pool, stream, plan, 2));
    }
}

/* Each native function fails once: one call reports it, the next works, nothing stays locked. */
Test(case_faults, native_failure_is_reported_once)
{
    for (int f = 0; f < GP_SIM_FN_COUNT; f++) {
        gp_pool_config config = pool_config();
        pool_reopen(NULL, &config);
        cudaStream_t stream = pool_stream();
        cudaStream_t user = pool_stream();
        int failures = 0;
        gp_sim_fail((gp_sim_function)f, 1, 1, 999);
        for (int i = 0; i < 4; i++) {
            void *block = NULL;
            gp_status status = gp_alloc_from_pool_async(&block, MIB(3), pool, stream);
            failures += status != GP_OK;
            if (status != GP_OK)
                continue;
            failures += gp_record_use(block, user) != GP_OK;
            status = gp_free_async(block, stream);
            failures += status != GP_OK;
            if (status != GP_OK)
                GP(gp_free_async(block, stream));
            failures += gp_pool_trim_to(pool, 0) != GP_OK;
        }
        fail_nothing();
        cr_assert(le(int, failures, 1), "function %d", f);
        cr_assert(eq(u64, pool_stats().live_bytes, 0));
        GP(gp_pool_check(pool));
    }
}

/* C90: the device says that it has pools, and its first allocation says that it has not. */
Test(case_faults, allocation_that_the_device_does_not_support_says_so)
{
    cudaStream_t stream = pool_stream();
    void *none = NULL;
    gp_sim_fail(GP_SIM_FN_MALLOC, 1, UINT64_MAX, 801);

    FAILS(GP_ERR_UNSUPPORTED, gp_alloc_from_pool_async(&none, KIB(4), pool, stream));
    FAILS(GP_ERR_UNSUPPORTED, gp_alloc_from_pool_async(&none, MIB(4), pool, stream));

    cr_assert(eq(int, gp_last_native_error(), 801));
    cr_assert(eq(ptr, none, NULL));
    fail_nothing();
    pool_use(MIB(4), stream);
}

/* ---- settings ---- */

/* C41: what was set before the first allocation held only for what existed already, and was
 * lost in a trim. */
Test(case_faults, settings_hold_for_what_is_made_later_and_survive_trims)
{
    gp_pool_config config = pool_config();
    cudaMemPool_t native = NULL;
    uint64_t threshold = 0;
    config.max_bytes = MIB(256);
    config.alignment = KIB(8);
    config.share = GP_SHARE_NEVER;
    pool_reopen(NULL, &config);
    GP(gp_pool_native_handle(pool, &native));

    for (int round = 0; round < 5; round++) {
        cudaStream_t late = pool_attached_stream();
        void *block = pool_alloc(MIB(100), late);
        cr_assert(eq(u64, (uintptr_t)block % KIB(8), 0));
        void *none = NULL;
        FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(200), pool, late));
        pool_free(block, late);
        pool_settle();
        GP(gp_pool_trim_to(pool, round % 2 == 0 ? 0 : MIB(64)));
        SIM(gp_sim_pool_get_threshold(native, &threshold));
        cr_assert(eq(u64, threshold, UINT64_MAX));
        cr_assert(eq(u64, pool_stats().shared_waits, 0));
    }
    cr_assert(le(u64, pool_stats().reserved_bytes_high, MIB(256)));
}

/* One run: native allocations that it took. Some blocks live for long, and now and then there
 * are few. */
static uint64_t run_with_resets(bool reset)
{
    enum { PLACES = 12 };
    gp_pool_config config = pool_config();
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    void *held[PLACES] = {NULL};
    uint64_t seed = 42;
    for (int i = 0; i < 2000; i++) {
        size_t places = i / 100 % 2 == 0 ? PLACES : 2;
        for (size_t k = places; k < PLACES; k++) {
            GP(gp_free_async(held[k], stream));
            held[k] = NULL;
        }
        void **place = &held[seeded_random_below(&seed, places)];
        GP(gp_free_async(*place, stream));
        *place = pool_alloc(MIB(2) + MIB(1) * seeded_random_below(&seed, 60), stream);
        SIM(gp_sim_stream_synchronize(stream));
        if (i % 100 == 99)
            GP(gp_pool_trim_to(pool, 0));
        if (reset && i % 100 == 99)
            GP(gp_pool_reset_peak(pool));
    }
    for (int k = 0; k < PLACES; k++)
        GP(gp_free_async(held[k], stream));
    return pool_stats().native_allocs;
}

/* C42: growth went by a peak that the user had reset. */
Test(case_faults, reset_of_the_peaks_changes_nothing_but_the_peaks)
{
    uint64_t allocs = run_with_resets(false);

    cr_assert(eq(u64, run_with_resets(true), allocs));
}

/* ---- trims ---- */

/* C37: one block, wholly idle: there is nothing to release before somebody asks for it. */
Test(case_faults, pool_of_one_idle_block_keeps_it_until_it_is_trimmed)
{
    cudaStream_t stream = pool_attached_stream();
    for (int i = 0; i < 100; i++) {
        pool_use(MIB(4), stream);
        pool_settle();
    }
    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    cr_assert(eq(u64, pool_stats().native_frees, 0));

    GP(gp_pool_trim_to(pool, 0));
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().native_frees, 1));
}

/* C93: everything is to go, twice in a row, while some blocks are live, some pending, and one is
 * parked in a capture; frees come late. */
Test(case_faults, trimming_everything_twice_leaves_out_what_is_in_use)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t capturing = pool_stream();
    void *live[3];
    void *pending = pool_alloc(MIB(6), busy);
    void *parked = pool_alloc(MIB(7), capturing);
    for (size_t i = 0; i < 3; i++)
        live[i] = pool_alloc(MIB(8) + MIB(1) * i, stream);
    for (size_t i = 0; i < 5; i++)
        pool_use(MIB(16) + MIB(2) * i, stream);
    gp_sim_graph graph = NULL;
    pool_settle();
    gp_sim_gate gate = pool_close_gate(busy);
    pool_write(pending, MIB(6), busy);
    pool_free(pending, busy);
    SIM(gp_sim_begin_capture(capturing, GP_SIM_CAPTURE_RELAXED));
    pool_free(parked, capturing);

    for (int i = 0; i < 2; i++) {
        GP(gp_pool_trim_to(pool, 0));
        GP(gp_pool_check(pool));
        cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(8 + 10 + 10 + 6 + 8)));
    }
    SIM(gp_sim_end_capture(capturing, &graph));
    SIM(gp_sim_graph_destroy(graph));
    pool_open_gate(gate);
    for (int i = 0; i < 3; i++)
        pool_free(live[i], stream);
    pool_use(MIB(2), capturing); /* whereupon the parked block is free */
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    pool_use(MIB(16), stream);
}
