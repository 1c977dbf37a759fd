/* Pools: made, described, ended. */
#include "pool_fixture.h"

#include <stdio.h>
#include <string.h>

TestSuite(pool, .init = pool_open, .fini = pool_close);

Test(pool, reserves_nothing_before_it_is_asked)
{
    gp_pool_stats stats = pool_stats();

    cr_assert(eq(u64, stats.reserved_bytes, 0));
    cr_assert(eq(u64, stats.native_reserved_bytes, 0));
    cr_assert(eq(u64, stats.native_allocs, 0));
}

Test(pool, names_the_device_it_stands_on)
{
    gp_device_info info = {.struct_bytes = sizeof(info)};

    GP(gp_pool_get_device(pool, &info));

    cr_assert(eq(int, (int)info.backend, (int)GP_BACKEND_SIM));
    cr_assert(eq(int, info.device, 0));
    cr_assert(eq(str, info.name, "simulated device"));
    cr_assert(eq(sz, info.total_bytes, GIB(4)));
}

/* C39: with the driver's default threshold of 0 each synchronisation gives the
 * memory back, and the next allocation maps it anew. */
Test(pool, keeps_its_memory_across_synchronisations)
{
    cudaStream_t stream = pool_stream();
    cudaMemPool_t native = NULL;
    uint64_t threshold = 0;
    GP(gp_pool_native_handle(pool, &native));
    SIM(gp_sim_pool_get_threshold(native, &threshold));
    cr_assert(eq(u64, threshold, UINT64_MAX));

    pool_use(MIB(256), stream);
    SIM(gp_sim_stream_synchronize(stream));
    gp_pool_stats first = pool_stats();
    for (int i = 0; i < 20; i++) {
        pool_use(MIB(256), stream);
        SIM(gp_sim_stream_synchronize(stream));
    }

    gp_pool_stats last = pool_stats();
    cr_assert(eq(u64, last.native_allocs, first.native_allocs));
    cr_assert(eq(u64, last.native_reserved_bytes, first.native_reserved_bytes));
}

/* ---- the end ---- */

Test(pool, is_not_destroyed_while_allocations_are_live)
{
    cudaStream_t stream = pool_stream();
    void *small = pool_alloc(KIB(3), stream);
    void *large = pool_alloc(MIB(5), stream);
    char address[32];
    (void)snprintf(address, sizeof(address), "%p", large);

    FAILS(GP_ERR_BUSY, gp_pool_destroy(pool));

    cr_assert(ne(ptr, strstr(gp_last_error(), address), NULL), "%s", gp_last_error());
    cr_assert(ne(ptr, strstr(gp_last_error(), "3072 bytes"), NULL), "%s", gp_last_error());
    pool_free(small, stream);
    pool_free(large, stream);
    GP(gp_pool_destroy(pool));
    pool = NULL;
}

/* C64: buffers that outlived their pool, freed later. */
Test(pool, forced_end_makes_live_blocks_foreign)
{
    cudaStream_t stream = pool_stream();
    void *blocks[10];
    for (int i = 0; i < 10; i++)
        blocks[i] = pool_alloc(KIB(64) << i, stream);
    for (int i = 0; i < 5; i++)
        pool_free(blocks[i], stream);

    GP(gp_pool_destroy_forced(pool));
    gp_pool_config config = pool_config();
    GP(gp_pool_create(&pool, &config));

    for (int i = 5; i < 10; i++)
        FAILS(GP_ERR_NOT_OWNED, gp_free_async(blocks[i], stream));
    cr_assert(eq(u64, pool_stats().frees, 0));
}

/* Work on a live block of an attached stream, queued after the stream's last fence. */
Test(pool, forced_end_comes_after_the_work_on_live_blocks)
{
    cudaStream_t stream = pool_attached_stream();
    void *block = pool_alloc(MIB(1), stream);
    pool_use(MIB(1), stream);
    GP(gp_pool_trim_to(pool, 0)); /* leaves a fence behind */
    gp_sim_gate gate = pool_close_gate(stream);
    pool_write(block, MIB(1), stream);

    GP(gp_pool_destroy_forced(pool));
    pool = NULL;

    pool_open_gate(gate);
}

/* The stream gave nothing back, and its handle is not to be used: but a large block that is live
 * may be in use there. */
Test(pool, forced_end_comes_after_the_work_on_live_blocks_of_a_checked_stream)
{
    cudaStream_t other = pool_attached_stream();
    cudaStream_t stream = pool_stream();
    pool_use(MIB(1), other);
    void *block = pool_alloc(MIB(4), stream);
    pool_write(block, MIB(4), stream);

    GP(gp_pool_destroy_forced(pool));
    pool = NULL;
}

/* Rule 1 holds to the end: a block freed on one stream is cut out of memory that
 * another stream owns, and goes with it. */
Test(pool, end_comes_after_the_work_on_blocks_freed_elsewhere)
{
    cudaStream_t owner = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(KIB(4), owner);
    pool_use(KIB(4), user);
    GP(gp_pool_trim_to(pool, 0)); /* the user's stream has a fence, from before the free */
    pool_order(owner, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_write(block, KIB(4), user);
    pool_free(block, user);

    GP(gp_pool_destroy(pool));
    pool = NULL;

    pool_open_gate(gate);
}

static void leave_blocks_behind(void *stream)
{
    for (int i = 0; i < 8; i++) {
        pool_use(KIB(1) << i, (cudaStream_t)stream);
        pool_use(MIB(2) + KIB(64) * (size_t)i, (cudaStream_t)stream);
    }
}

/* C67: a cache level was forgotten. Three threads, five streams: attached, checked,
 * destroyed, detached, and one whose work is still queued. */
Test(pool, end_empties_every_cache_level)
{
    for (int round = 0; round < 20; round++) {
        cudaStream_t attached = pool_attached_stream();
        cudaStream_t detached = pool_attached_stream();
        cudaStream_t checked = pool_stream();
        cudaStream_t dead = pool_stream();
        cudaStream_t busy = pool_attached_stream();
        cudaStream_t streams[] = {attached, detached, checked, dead, busy};
        gp_sim_gate gate = pool_close_gate(busy);
        for (int i = 0; i < 5; i++) {
            leave_blocks_behind(streams[i]);
            pool_in_thread(leave_blocks_behind, streams[i]);
            pool_in_thread(leave_blocks_behind, streams[i]);
        }
        pool_free(pool_alloc(KIB(2), attached), detached);
        GP(gp_stream_detach(pool, detached));
        pool_drop_stream(dead);
        pool_open_gate(gate);

        gp_pool_config config = pool_config();
        pool_reopen(NULL, &config);
    }
}

Test(pool, end_of_one_pool_leaves_another_alone)
{
    /* C69: two pools with settings of their own on one device. */
    gp_pool_config config = pool_config();
    gp_pool *first = pool;
    gp_pool *second = NULL;
    cudaStream_t stream = pool_attached_stream();
    config.max_bytes = MIB(8);
    GP(gp_pool_create(&second, &config));
    void *block = pool_alloc(MIB(16), stream);
    pool_free(block, stream);

    GP(gp_pool_destroy(first));
    pool = second;

    void *none = NULL;
    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(16), second, stream));
    pool_use(MIB(4), stream);
}

/* ---- the native pool ---- */

Test(pool, can_stand_on_a_native_pool_of_the_callers)
{
    cudaMemPool_t native = NULL;
    cudaMemPool_t used = NULL;
    uint64_t threshold = 0;
    gp_pool_config config = pool_config();
    cudaStream_t stream = pool_stream();
    GP(gp_pool_destroy(pool));
    SIM(gp_sim_pool_create(&native));
    SIM(gp_sim_pool_set_threshold(native, MIB(123)));
    config.native_pool = native;

    /* C53: attributes of a pool that others use too were changed. */
    GP(gp_pool_create(&pool, &config));
    pool_use(MIB(8), stream);
    GP(gp_pool_native_handle(pool, &used));
    GP(gp_pool_destroy(pool));
    pool = NULL;

    cr_assert(eq(ptr, (void *)used, (void *)native));
    SIM(gp_sim_pool_get_threshold(native, &threshold));
    cr_assert(eq(u64, threshold, MIB(123)));
    SIM(gp_sim_pool_destroy(native));
}

/* ---- failures while one is made ---- */

static const gp_sim_function making[] = {GP_SIM_FN_POOL_CREATE, GP_SIM_FN_POOL_SET_THRESHOLD};

/* C90: devices and drivers that have no pools, or say so only later. */
Test(pool, is_not_made_without_native_pools)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    gp_pool *none = NULL;
    pool_close();
    machine.pools_supported = false;
    GP(gp_sim_reset(&machine));

    FAILS(GP_ERR_UNSUPPORTED, gp_pool_create(&none, &config));

    cr_assert(ne(ptr, strstr(gp_last_error(), "pool"), NULL), "%s", gp_last_error());
    cr_assert(eq(ptr, none, NULL));
}

Test(pool, leaves_nothing_when_a_native_call_fails_while_it_is_made)
{
    gp_pool_config config = pool_config();
    gp_pool *none = NULL;

    for (int i = 0; i < 2; i++) {
        gp_sim_fail(making[i], 1, 1, 801);
        FAILS(GP_ERR_UNSUPPORTED, gp_pool_create(&none, &config));
        gp_sim_fail(making[i], 1, 1, 999);
        FAILS(GP_ERR_CUDA, gp_pool_create(&none, &config));
        cr_assert(eq(int, gp_last_native_error(), 999));
        gp_sim_fail(making[i], 0, 0, 0);
    }

    cr_assert(eq(ptr, none, NULL));
    cr_assert(eq(sz, gp_sim_live_pools(), 1));
}

Test(pool, is_not_made_on_a_device_that_does_not_exist)
{
    gp_pool_config config = pool_config();
    gp_pool *none = NULL;
    config.device = 7;

    FAILS(GP_ERR_UNSUPPORTED, gp_pool_create(&none, &config));
}

/* ---- default pools, which stay until the process ends ---- */

TestSuite(default_pool);

static gp_pool_stats stats_of(gp_pool *other)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    GP(gp_pool_get_stats(other, &stats));
    return stats;
}

Test(default_pool, is_one_for_each_device_and_cannot_be_destroyed)
{
    gp_pool *first = NULL;
    gp_pool *second = NULL;
    cudaStream_t stream = pool_stream();
    GP(gp_default_pool(&first, 0));

    GP(gp_default_pool(&second, 0));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_destroy(first));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_destroy_forced(first));

    cr_assert(eq(ptr, first, second));
    void *block = NULL;
    GP(gp_alloc_async(&block, 512, stream));
    GP(gp_free_async(block, stream));
    GP(gp_pool_check(first));
    cr_assert(eq(u64, stats_of(first).frees, 1));
}

Test(default_pool, belongs_to_the_device_of_the_stream)
{
    gp_sim_config machine = pool_machine();
    gp_pool *pools[2];
    machine.device_count = 2;
    GP(gp_sim_reset(&machine));
    for (int i = 0; i < 2; i++)
        GP(gp_default_pool(&pools[i], i));
    SIM(gp_sim_set_device(1));
    cudaStream_t elsewhere = pool_stream();
    SIM(gp_sim_set_device(0));

    void *on_one = NULL;
    void *on_zero = NULL;
    GP(gp_alloc_async(&on_one, KIB(4), elsewhere));
    GP(gp_alloc_async(&on_zero, KIB(8), NULL));

    /* C55: accounts follow the block's pool, not the current device. */
    cr_assert(eq(u64, stats_of(pools[0]).live_bytes, KIB(8)));
    cr_assert(eq(u64, stats_of(pools[1]).live_bytes, KIB(4)));
    GP(gp_free_async(on_one, elsewhere));
    GP(gp_free_async(on_zero, NULL));
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(u64, stats_of(pools[i]).live_bytes, 0));
        GP(gp_pool_check(pools[i]));
    }
}

Test(default_pool, of_an_attached_stream_is_found_without_a_native_call)
{
    gp_pool *found = NULL;
    cudaStream_t stream = pool_stream();
    void *block = NULL;
    GP(gp_stream_attach(NULL, stream));
    GP(gp_default_pool(&found, 0));
    GP(gp_alloc_async(&block, KIB(1), stream));
    GP(gp_free_async(block, stream));
    uint64_t ids = gp_sim_call_count(GP_SIM_FN_STREAM_GET_ID);
    uint64_t captures = gp_sim_call_count(GP_SIM_FN_STREAM_IS_CAPTURING);

    GP(gp_alloc_async(&block, KIB(1), stream));
    GP(gp_free_async(block, stream));

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_STREAM_GET_ID), ids));
    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_STREAM_IS_CAPTURING), captures));
    GP(gp_stream_detach(NULL, stream));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_stream_detach(NULL, stream));
    GP(gp_pool_check(found));
}

Test(default_pool, does_not_exist_for_a_device_that_does_not)
{
    gp_pool *none = (gp_pool *)(uintptr_t)0xdead;

    FAILS(GP_ERR_UNSUPPORTED, gp_default_pool(&none, 1));
    FAILS(GP_ERR_UNSUPPORTED, gp_default_pool(&none, -1));
    FAILS(GP_ERR_UNSUPPORTED, gp_default_pool(&none, 64));

    cr_assert(eq(ptr, (void *)none, (void *)(uintptr_t)0xdead));
}
