/* Limits that are a share of the device, and the one below which a pool need not be lean. */
#include "pool_fixture.h"

#include <math.h>
#include <string.h>

TestSuite(headroom, .init = pool_open, .fini = pool_close);

static size_t device_free_bytes(void)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    SIM(gp_sim_mem_get_info(&free_bytes, &total_bytes));
    return free_bytes;
}

/* Allocate blocks until it fails; they stay live until the pool goes. Returns the status. */
static gp_status fill(size_t block_bytes, cudaStream_t stream)
{
    void *block = NULL;
    gp_status status = GP_OK;
    while (status == GP_OK)
        status = gp_alloc_from_pool_async(&block, block_bytes, pool, stream);
    return status;
}

/* ---- max_fraction ---- */

Test(headroom, max_fraction_is_of_the_devices_memory)
{
    gp_pool_config config = pool_config();
    config.max_fraction = 0.25;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    pool_use(GIB(1), stream);
    SIM(gp_sim_stream_synchronize(stream));
    void *none = NULL;
    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, GIB(1) + MIB(1), pool, stream));

    cr_assert(eq(u64, pool_stats().reserved_bytes_high, GIB(1)));
}

Test(headroom, lower_of_max_bytes_and_max_fraction_holds)
{
    const struct {
        size_t bytes;
        double fraction;
    } pairs[] = {{MIB(512), 0.5}, {GIB(2), 0.125}};
    for (int i = 0; i < 2; i++) {
        gp_pool_config config = pool_config();
        config.max_bytes = pairs[i].bytes;
        config.max_fraction = pairs[i].fraction;
        pool_reopen(NULL, &config);
        cudaStream_t stream = pool_attached_stream();

        cr_assert(eq(int, (int)fill(MIB(64), stream), (int)GP_ERR_LIMIT));

        cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(512)));
    }
}

Test(headroom, fraction_out_of_range_is_refused_by_name)
{
    const double bad[] = {-0.1, 1.5, (double)NAN};
    for (int i = 0; i < 3; i++) {
        gp_pool *none = NULL;
        gp_pool_config most = pool_config();
        most.max_fraction = bad[i];
        gp_pool_config left = pool_config();
        left.headroom_fraction = bad[i];
        gp_pool_config initial = pool_config();
        initial.initial_fraction = bad[i];

        FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &most));
        cr_assert(strstr(gp_last_error(), "max_fraction") != NULL, "%s", gp_last_error());
        FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &left));
        cr_assert(strstr(gp_last_error(), "headroom_fraction") != NULL, "%s", gp_last_error());
        FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &initial));
        cr_assert(strstr(gp_last_error(), "initial_fraction") != NULL, "%s", gp_last_error());
    }
}

/* ---- headroom_fraction ---- */

Test(headroom, tenth_of_the_device_is_left_to_others_by_default)
{
    gp_pool_config config;
    gp_pool_config_init(&config);
    config.backend = GP_BACKEND_SIM;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    cr_assert(eq(int, (int)fill(MIB(96), stream), (int)GP_ERR_LIMIT));

    const size_t headroom = (size_t)((double)GIB(4) * 0.10);
    cr_assert(le(sz, headroom, device_free_bytes()));
    cr_assert(lt(sz, device_free_bytes(), headroom + MIB(96)));
    cr_assert(strstr(gp_last_error(), "headroom") != NULL, "%s", gp_last_error());
}

static void leave(double fraction)
{
    gp_pool_config config = pool_config();
    config.headroom_fraction = fraction;
    pool_reopen(NULL, &config);
}

Test(headroom, is_left_whoever_took_the_rest)
{
    leave(0.25);
    cudaStream_t stream = pool_attached_stream();
    SIM(gp_sim_set_foreign_bytes(0, GIB(2)));

    cr_assert(eq(int, (int)fill(MIB(64), stream), (int)GP_ERR_LIMIT));
    cr_assert(eq(sz, device_free_bytes(), GIB(1)));

    SIM(gp_sim_set_foreign_bytes(0, 0));
    pool_use(GIB(2), stream);
}

Test(headroom, idle_memory_makes_room_before_a_request_fails)
{
    leave(0.25);
    cudaStream_t stream = pool_attached_stream();
    for (int i = 1; i <= 8; i++)
        pool_use(MIB(100) * (size_t)i, stream);
    SIM(gp_sim_stream_synchronize(stream));

    pool_use(GIB(3), stream);

    cr_assert(le(sz, GIB(1), device_free_bytes()));
}

Test(headroom, request_that_does_not_fit_into_all_that_is_free_is_out_of_memory)
{
    leave(0.25);
    void *none = NULL;

    FAILS(GP_ERR_OUT_OF_MEMORY,
          gp_alloc_from_pool_async(&none, GIB(5), pool, pool_attached_stream()));
}

/* C92: what the device says is free is no promise, and may not be said at all. */
Test(headroom, device_that_does_not_say_what_is_free_is_asked_for_memory_all_the_same)
{
    leave(0.25);
    cudaStream_t stream = pool_attached_stream();
    gp_sim_fail(GP_SIM_FN_MEM_GET_INFO, 1, UINT64_MAX, 999);

    pool_use(GIB(4), stream);

    gp_sim_fail(GP_SIM_FN_MEM_GET_INFO, 0, 0, 0);
}

Test(headroom, is_not_asked_for_while_the_pool_does_not_grow)
{
    leave(0.25);
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(64), stream);
    SIM(gp_sim_set_foreign_bytes(0, GIB(4) - MIB(64)));

    pool_use(MIB(64), stream);
    pool_use(MIB(64), stream);

    SIM(gp_sim_set_foreign_bytes(0, 0));
}

/* ---- soft_bytes ---- */

/* The peak so far is 256 MiB, 32 MiB of one stream lie idle, and another asks for 48 MiB. */
static uint64_t reserved_after_growth(size_t soft_bytes)
{
    gp_pool_config config = pool_config();
    config.soft_bytes = soft_bytes;
    pool_reopen(NULL, &config);
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    pool_use(MIB(256), first);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    pool_use(MIB(32), first);
    pool_settle();

    pool_use(MIB(48), second);

    const uint64_t reserved = pool_stats().reserved_bytes;
    pool_settle();
    return reserved;
}

Test(headroom, pool_above_soft_bytes_gives_back_before_it_grows)
{
    cr_assert(eq(u64, reserved_after_growth(MIB(96)), MIB(80)));
    cr_assert(eq(u64, reserved_after_growth(MIB(64)), MIB(48)));
}

Test(headroom, growth_above_soft_bytes_is_not_refused)
{
    gp_pool_config config = pool_config();
    config.soft_bytes = MIB(8);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    void *blocks[4];

    for (int i = 0; i < 4; i++)
        blocks[i] = pool_alloc(MIB(8), stream);

    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(32)));
    for (int i = 0; i < 4; i++)
        pool_free(blocks[i], stream);
}
