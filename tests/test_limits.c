/* Limits: a full device, a pool's own bound, and failures on the way there. */
#include "pool_fixture.h"

#include <stdio.h>
#include <string.h>

TestSuite(limits, .init = pool_open, .fini = pool_close);

static void limit_pool(size_t bytes)
{
    gp_pool_config config = pool_config();
    config.max_bytes = bytes;
    pool_reopen(NULL, &config);
}

static void expect_no_room(gp_status expected, size_t bytes, cudaStream_t stream)
{
    void *none = (void *)(uintptr_t)0xdead;
    FAILS(expected, gp_alloc_from_pool_async(&none, bytes, pool, stream));
    cr_assert(eq(ptr, none, (void *)(uintptr_t)0xdead));
    GP(gp_pool_check(pool));
}

/* ---- out of memory ---- */

/* C48: clean-up on the way to the error walked the cache wrongly. */
Test(limits, request_larger_than_the_device_fails_whatever_is_cached)
{
    cudaStream_t stream = pool_attached_stream();
    expect_no_room(GP_ERR_OUT_OF_MEMORY, GIB(5), stream);

    pool_use(MIB(1), stream);
    pool_use(MIB(100), stream);
    expect_no_room(GP_ERR_OUT_OF_MEMORY, GIB(5), stream);

    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(MIB(100), stream);
    expect_no_room(GP_ERR_OUT_OF_MEMORY, GIB(5), stream);
    pool_open_gate(gate);

    pool_use(GIB(3), stream);
    cr_assert(eq(u64, pool_stats().failures, 3));
}

Test(limits, out_of_memory_says_what_was_asked_and_what_the_pool_holds)
{
    cudaStream_t stream = pool_attached_stream();
    void *held = pool_alloc(MIB(3), stream);

    expect_no_room(GP_ERR_OUT_OF_MEMORY, GIB(5), stream);

    cr_assert(eq(int, gp_last_native_error(), 2));
    const gp_pool_stats now = pool_stats();
    char figures[128];
    (void)snprintf(figures, sizeof(figures),
                   "%zu bytes asked; live %llu, cached %llu, reserved %llu", (size_t)GIB(5),
                   (unsigned long long)now.live_bytes, (unsigned long long)now.cached_bytes,
                   (unsigned long long)now.reserved_bytes);
    cr_assert(ne(ptr, strstr(gp_last_error(), figures), NULL), "%s", gp_last_error());
    pool_free(held, stream);
}

Test(limits, full_device_recovers_once_blocks_are_freed)
{
    cudaStream_t stream = pool_attached_stream();
    void *blocks[16];
    for (int i = 0; i < 16; i++)
        blocks[i] = pool_alloc(MIB(256), stream);
    expect_no_room(GP_ERR_OUT_OF_MEMORY, KIB(1), stream);

    pool_free(blocks[7], stream);

    pool_use(KIB(1), stream);
    pool_use(MIB(200), stream);
    for (int i = 0; i < 16; i++) {
        if (i != 7)
            pool_free(blocks[i], stream);
    }
}

/* C45: a larger request fits only when the smaller block was given back first, which
 * the driver takes note of only once its use has completed. */
Test(limits, idle_memory_is_given_back_before_a_larger_request_fails)
{
    for (int attached = 0; attached < 2; attached++) {
        limit_pool(MIB(400));
        cudaStream_t stream = attached ? pool_attached_stream() : pool_stream();
        pool_use(MIB(256), stream);
        SIM(gp_sim_stream_synchronize(stream));

        pool_use(MIB(300), stream);
        pool_settle();
    }
}

/* C07: an unbounded wait inside the call would never end here. */
Test(limits, memory_that_only_the_caller_can_set_free_is_not_waited_for)
{
    limit_pool(MIB(64));
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *held = pool_alloc(MIB(32), stream);
    pool_use(MIB(32), stream);

    expect_no_room(GP_ERR_LIMIT, MIB(48), other);

    pool_open_gate(gate);
    pool_free(held, stream);
    pool_settle();
    pool_use(MIB(48), other);
}

/* C12: memory of dead streams, some with work still queued when they went. */
Test(limits, memory_of_dead_streams_is_reclaimed)
{
    limit_pool(MIB(256));
    for (int i = 0; i < 32; i++) {
        cudaStream_t stream = pool_stream();
        pool_use(MIB(8), stream);
        pool_drop_stream(stream);
    }
    pool_settle();

    void *block = pool_alloc(MIB(200), NULL);

    pool_write(block, MIB(200), NULL);
    pool_free(block, NULL);
}

Test(limits, what_other_threads_cache_is_taken_before_a_request_fails)
{
    limit_pool(MIB(4));
    cudaStream_t other = pool_attached_stream();
    cudaStream_t stream = pool_attached_stream();
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = pool_alloc(MIB(1), other);
    for (int i = 0; i < 4; i++)
        pool_free(blocks[i], other);
    SIM(gp_sim_stream_synchronize(other));

    void *block = pool_alloc(MIB(4), stream);

    pool_write(block, MIB(4), stream);
    pool_free(block, stream);
}

/* ---- max_bytes: C47 ---- */

Test(limits, cached_bytes_are_reclaimed_before_the_limit_is_reported)
{
    limit_pool(GIB(1));
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(512), stream);
    SIM(gp_sim_stream_synchronize(stream));

    pool_use(MIB(768), stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    pool_use(GIB(1), stream);

    cr_assert(le(u64, pool_stats().reserved_bytes_high, GIB(1)));
}

Test(limits, max_bytes_is_what_the_pool_may_reserve)
{
    limit_pool(MIB(8));
    cudaStream_t stream = pool_attached_stream();
    void *held = pool_alloc(MIB(5), stream);

    expect_no_room(GP_ERR_LIMIT, MIB(4), stream);

    pool_use(MIB(2), stream);
    pool_free(held, stream);
    pool_use(MIB(8), stream);
}

Test(limits, limit_below_a_segment_still_serves_what_fits_in_it)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(16);
    config.max_bytes = MIB(4);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    void *first = pool_alloc(12, stream);
    void *second = pool_alloc(12, stream);

    cr_assert(ne(ptr, first, second));
    cr_assert(le(u64, pool_stats().reserved_bytes, MIB(4)));
    expect_no_room(GP_ERR_LIMIT, MIB(5), stream);
}

Test(limits, limit_below_what_a_block_needs_refuses_every_request)
{
    limit_pool(KIB(1));
    cudaStream_t stream = pool_attached_stream();

    expect_no_room(GP_ERR_LIMIT, 12, stream);

    cr_assert(eq(u64, pool_stats().native_allocs, 0));
}

/* ---- outside pressure ---- */

Test(limits, memory_taken_by_another_process_is_out_of_memory_until_it_comes_back)
{
    cudaStream_t stream = pool_attached_stream();
    SIM(gp_sim_set_foreign_bytes(0, GIB(4) - MIB(64)));

    expect_no_room(GP_ERR_OUT_OF_MEMORY, MIB(100), stream);
    pool_use(MIB(32), stream);
    SIM(gp_sim_set_foreign_bytes(0, 0));

    pool_use(MIB(100), stream);
}

/* ---- native failures: each, once, at every point of an allocation ---- */

typedef struct failure {
    gp_sim_function function;
    gp_sim_result code;
    gp_status status;
} failure;

static const failure failing_calls[] = {
    {GP_SIM_FN_MALLOC, 999, GP_ERR_CUDA},
    {GP_SIM_FN_MALLOC, 4, GP_ERR_SHUTDOWN},
    {GP_SIM_FN_STREAM_IS_CAPTURING, 999, GP_ERR_CUDA},
    {GP_SIM_FN_STREAM_GET_ID, 999, GP_ERR_CUDA},
    {GP_SIM_FN_STREAM_GET_DEVICE, 999, GP_ERR_CUDA},
};

Test(limits, native_failure_is_passed_on_and_the_next_call_works)
{
    for (size_t i = 0; i < sizeof(failing_calls) / sizeof(failing_calls[0]); i++) {
        cudaStream_t stream = pool_stream();
        gp_sim_fail(failing_calls[i].function, 1, UINT64_MAX, failing_calls[i].code);

        expect_no_room(failing_calls[i].status, MIB(3) + KIB(64) * i, stream);

        cr_assert(eq(int, gp_last_native_error(), failing_calls[i].code));
        gp_sim_fail(failing_calls[i].function, 0, 0, 0);
        pool_use(MIB(3) + KIB(64) * i, stream);
        pool_settle();
        GP(gp_pool_trim_to(pool, 0));
    }
}

/* Growth that fails half-way, at each call of a run that needs many. C68 */
Test(limits, any_native_call_may_fail_at_any_time)
{
    static const gp_sim_function functions[] = {GP_SIM_FN_MALLOC,        GP_SIM_FN_FREE,
                                                GP_SIM_FN_EVENT_CREATE,  GP_SIM_FN_EVENT_RECORD,
                                                GP_SIM_FN_EVENT_QUERY,   GP_SIM_FN_STREAM_WAIT,
                                                GP_SIM_FN_STREAM_CREATE, GP_SIM_FN_POOL_TRIM};
    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
        for (uint64_t nth = 1; nth <= 12; nth++) {
            limit_pool(MIB(96));
            cudaStream_t streams[3] = {pool_attached_stream(), pool_stream(),
                                       pool_attached_stream()};
            gp_sim_fail(functions[f], nth, 2, functions[f] == GP_SIM_FN_MALLOC ? 2 : 999);
            for (size_t i = 0; i < 60; i++) {
                cudaStream_t from = streams[i % 3];
                cudaStream_t to = streams[i / 3 % 3];
                size_t bytes = i % 5 == 0 ? MIB(30) : i % 2 == 0 ? MIB(5) : KIB(300);
                void *block = NULL;
                if (gp_alloc_from_pool_async(&block, bytes, pool, from) != GP_OK)
                    continue;
                pool_write(block, bytes, from);
                if (from != to)
                    SIM(gp_sim_stream_synchronize(from));
                pool_write(block, bytes, to);
                GP(gp_free_async(block, to));
                if (i % 20 == 19)
                    (void)!gp_pool_trim_to(pool, 0);
            }
            gp_sim_fail(functions[f], 0, 0, 0);
            GP(gp_pool_check(pool));
            cr_assert(eq(u64, pool_stats().live_bytes, 0));
        }
    }
}

/* ---- small blocks under the limit ---- */

/* The one chunk is full of blocks of 128 KiB, of which one waits for its stream's work. */
static gp_sim_gate fill_chunk_and_free_one(void *blocks[16], cudaStream_t stream, cudaStream_t user)
{
    for (int i = 0; i < 16; i++)
        blocks[i] = pool_alloc(KIB(128), stream);
    pool_order(stream, user);
    pool_read(blocks[5], KIB(128), user);
    GP(gp_record_use(blocks[5], user));
    pool_settle();
    gp_sim_gate gate = pool_close_gate(stream);
    pool_write(blocks[5], KIB(128), stream);
    pool_free(blocks[5], stream);
    return gate;
}

/* A chunk may be as short as 128 KiB when nothing longer is left; a block of another chunk is none,
 * although it is of the length and of the same commons. */
Test(limits, pending_small_block_is_not_taken_for_a_chunk)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        limit_pool(MIB(2));
        cudaStream_t stream = pool_attached_stream();
        cudaStream_t other = elsewhere ? pool_attached_stream() : stream;
        void *blocks[16];
        gp_sim_gate gate = fill_chunk_and_free_one(blocks, stream, pool_attached_stream());

        expect_no_room(GP_ERR_LIMIT, KIB(1), other);

        pool_open_gate(gate);
        pool_settle();
        for (int i = 0; i < 16; i++) {
            if (i != 5)
                pool_free(blocks[i], stream);
        }
        GP(gp_pool_check(pool));
    }
}
