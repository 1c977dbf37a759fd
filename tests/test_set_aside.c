/* Memory that a pool has before anybody asks for it, and how it grows beyond that. */
#include "pool_fixture.h"

TestSuite(set_aside, .init = pool_open, .fini = pool_close);

/* By a pool that is made for the question. */
static uint64_t reserved_by_new(const gp_pool_config *config)
{
    gp_pool *made = NULL;
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    GP(gp_pool_create(&made, config));
    GP(gp_pool_get_stats(made, &stats));
    GP(gp_pool_destroy(made));
    return stats.reserved_bytes;
}

/* ---- initial_bytes ---- */

Test(set_aside, pool_has_its_initial_bytes_from_the_start)
{
    gp_pool_config config = pool_config();
    config.initial_bytes = MIB(256);
    pool_reopen(NULL, &config);
    const gp_pool_stats before = pool_stats();
    cr_assert(eq(u64, before.reserved_bytes, MIB(256)));
    cudaStream_t stream = pool_attached_stream();

    pool_use(MIB(200), stream);
    for (int i = 0; i < 64; i++)
        (void)pool_alloc(KIB(300), stream);

    cr_assert(eq(u64, pool_stats().native_allocs, before.native_allocs));
}

Test(set_aside, rest_comes_on_demand_and_leaves_what_was_set_aside_alone)
{
    gp_pool_config config = pool_config();
    config.initial_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    pool_use(MIB(100), stream);
    pool_settle();

    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(164)));
    cr_assert(eq(u64, pool_stats().native_frees, 0));
}

Test(set_aside, higher_of_initial_bytes_and_initial_fraction_holds)
{
    gp_pool_config config = pool_config();
    config.initial_fraction = 0.125;
    cr_assert(eq(u64, reserved_by_new(&config), MIB(512)));
    config.initial_bytes = MIB(600);
    cr_assert(eq(u64, reserved_by_new(&config), MIB(600)));
    config.initial_fraction = 0.25;
    cr_assert(eq(u64, reserved_by_new(&config), GIB(1)));
}

/* C42: a share of what is free would hang on who came first; so it is of all there is, and no more
 * than what others and the limits leave. */
Test(set_aside, pool_asks_for_no_more_than_limits_and_headroom_leave)
{
    gp_pool_config config = pool_config();
    config.initial_fraction = 0.5;
    config.max_bytes = MIB(100);
    cr_assert(eq(u64, reserved_by_new(&config), MIB(100)));

    config.max_bytes = 0;
    config.headroom_fraction = 0.25;
    SIM(gp_sim_set_foreign_bytes(0, GIB(2)));
    cr_assert(eq(u64, reserved_by_new(&config), GIB(1)));

    SIM(gp_sim_set_foreign_bytes(0, GIB(3) + MIB(512)));
    cr_assert(eq(u64, reserved_by_new(&config), 0));
    SIM(gp_sim_set_foreign_bytes(0, 0));
}

Test(set_aside, pool_is_not_made_when_the_device_refuses)
{
    gp_pool_config config = pool_config();
    gp_pool *none = NULL;
    config.initial_bytes = MIB(256);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        gp_sim_fail(GP_SIM_FN_MALLOC, nth, 1, 2);
        FAILS(GP_ERR_OUT_OF_MEMORY, gp_pool_create(&none, &config));
        gp_sim_fail(GP_SIM_FN_MALLOC, 0, 0, 0);
    }

    cr_assert(eq(ptr, none, NULL));
    cr_assert(eq(sz, gp_sim_live_pools(), 1));
}

Test(set_aside, memory_goes_with_a_trim_and_for_a_request_that_would_fail)
{
    for (int trims = 0; trims < 2; trims++) {
        gp_pool_config config = pool_config();
        config.initial_bytes = GIB(3);
        pool_reopen(NULL, &config);
        cudaStream_t stream = pool_attached_stream();

        if (trims)
            GP(gp_pool_trim_to(pool, 0));
        pool_use(GIB(4), stream);

        cr_assert(eq(u64, pool_stats().reserved_bytes, GIB(4)));
        pool_settle();
    }
}

/* The part for small blocks holds one, so that its segment cannot go; the other part is full. And
 * the other way round. */
Test(set_aside, memory_for_one_kind_of_block_serves_the_other_before_a_request_fails)
{
    gp_pool_config config = pool_config();
    config.initial_bytes = MIB(64);
    config.max_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    void *small = pool_alloc(KIB(4), stream);
    void *large = pool_alloc(MIB(56), stream);

    pool_use(MIB(5), stream);

    pool_free(large, stream);
    large = pool_alloc(MIB(40), stream);
    void *blocks[24];
    for (int i = 0; i < 24; i++) /* 12 MiB, of 8 MiB for small blocks */
        blocks[i] = pool_alloc(KIB(512), stream);

    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(64)));
    for (int i = 0; i < 24; i++)
        pool_free(blocks[i], stream);
    pool_free(large, stream);
    pool_free(small, stream);
}

/* ---- growth_bytes ---- */

Test(set_aside, growth_steps_double_up_to_their_bound)
{
    gp_pool_config config = pool_config();
    config.growth_bytes = MIB(16);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    const size_t reserved[] = {MIB(2), MIB(6), MIB(14), MIB(30), MIB(46), MIB(62)};

    for (int i = 0; i < 6; i++) {
        while (pool_stats().reserved_bytes < reserved[i])
            (void)pool_alloc(MIB(2), stream);
        cr_assert(eq(u64, pool_stats().reserved_bytes, reserved[i]));
        cr_assert(eq(u64, pool_stats().native_allocs, (uint64_t)i + 1));
    }
}

Test(set_aside, growth_steps_begin_anew_after_memory_went_back)
{
    gp_pool_config config = pool_config();
    config.growth_bytes = MIB(16);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    for (int i = 0; i < 4; i++)
        pool_use(MIB(8) << i, stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    (void)pool_alloc(MIB(2), stream);

    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(2)));
}

Test(set_aside, growth_step_that_would_pass_the_limit_is_a_small_one)
{
    gp_pool_config config = pool_config();
    config.growth_bytes = MIB(16);
    config.max_bytes = MIB(16);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    for (int i = 0; i < 8; i++)
        (void)pool_alloc(MIB(2), stream);

    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(16)));
    cr_assert(eq(u64, pool_stats().native_frees, 0));
}
