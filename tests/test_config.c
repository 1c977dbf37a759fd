/* The pool's config: defaults, ranges, and that each field does what it says. */
#include "pool_fixture.h"

#include <stdlib.h>
#include <string.h>

TestSuite(config, .init = pool_open, .fini = pool_close);

Test(config, init_fills_in_the_documented_defaults)
{
    gp_pool_config config;
    memset(&config, 0xff, sizeof(config));
    unsetenv("GP_TRACE_LEVEL");

    gp_pool_config_init(&config);

    cr_assert(eq(u32, config.struct_bytes, (uint32_t)sizeof(config)));
    cr_assert(eq(int, config.device, 0));
    cr_assert(eq(int, (int)config.backend, (int)GP_BACKEND_AUTO));
    cr_assert(eq(int, (int)config.share, (int)GP_SHARE_WAIT));
    cr_assert(eq(int, (int)config.capture, (int)GP_CAPTURE_NATIVE));
    cr_assert(eq(ptr, (void *)config.native_pool, NULL));
    cr_assert(eq(sz, config.alignment, 512));
    cr_assert(eq(sz, config.large_bytes, KIB(512)));
    cr_assert(eq(sz, config.segment_bytes, MIB(32)));
    cr_assert(eq(sz, config.growth_bytes, 0));
    cr_assert(eq(sz, config.initial_bytes, 0));
    cr_assert(eq(dbl, config.initial_fraction, 0.0));
    cr_assert(eq(u32, config.idle_window_ms, 1000));
    cr_assert(eq(u32, config.release_idle_percent, 80));
    cr_assert(eq(u32, config.release_to_percent, 50));
    cr_assert(eq(u32, config.release_windows, 3));
    cr_assert(eq(sz, config.max_bytes, 0));
    cr_assert(eq(dbl, config.max_fraction, 0.0));
    cr_assert(eq(dbl, config.headroom_fraction, 0.10));
    cr_assert(eq(sz, config.soft_bytes, 0));
    cr_assert(eq(sz, config.l1_bytes, MIB(4)));
    cr_assert(eq(u32, config.l1_depth, 64));
    cr_assert(eq(u32, config.l1_refill_percent, 20));
    cr_assert(eq(int, (int)config.trace_level, (int)GP_TRACE_SLOW));
    cr_assert(eq(u32, config.trace_sample_us, 100));
}

Test(config, takes_the_trace_level_from_the_environment_if_it_is_one)
{
    const char *const values[] = {"0", "2", "3", "", "12"};
    const gp_trace_level levels[] = {GP_TRACE_OFF, GP_TRACE_ALL, GP_TRACE_SLOW, GP_TRACE_SLOW,
                                     GP_TRACE_SLOW};
    for (int i = 0; i < 5; i++) {
        gp_pool_config config;
        setenv("GP_TRACE_LEVEL", values[i], 1);
        gp_pool_config_init(&config);
        cr_assert(eq(int, (int)config.trace_level, (int)levels[i]), "%s", values[i]);
    }
}

Test(config, zero_in_a_size_means_the_default)
{
    gp_pool_config config = pool_config();
    config.alignment = 0;
    config.large_bytes = 0;
    config.segment_bytes = 0;
    config.l1_bytes = 0;
    config.l1_depth = 0;
    gp_pool_config defaults;
    gp_pool_config_init(&defaults);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    pool_use(MIB(3), stream);
    cr_assert(eq(u64, pool_stats().reserved_bytes, defaults.segment_bytes));
    pool_use(KIB(4), stream);
    pool_use(KIB(4), stream);

    cr_assert(eq(u64, pool_stats().l1_hits, 1));
}

Test(config, of_another_size_is_a_version_mismatch)
{
    gp_pool_config config = pool_config();
    gp_pool *none = NULL;
    config.struct_bytes--;
    FAILS(GP_ERR_VERSION_MISMATCH, gp_pool_create(&none, &config));
    config.struct_bytes = 0;
    FAILS(GP_ERR_VERSION_MISMATCH, gp_pool_create(&none, &config));

    cr_assert(eq(ptr, none, NULL));
}

/* ---- ranges ---- */

typedef struct bad_field {
    const char *name;
    size_t offset;
    size_t bytes; /* of the field */
    size_t value;
} bad_field;

#define BAD(field, bad_value)                                                                      \
    {                                                                                              \
#field, offsetof(gp_pool_config, field), sizeof(((gp_pool_config *)0)->field), bad_value   \
    }

static const bad_field bad_fields[] = {
    BAD(device, (size_t)-1),
    BAD(backend, 3),
    BAD(share, 3),
    BAD(capture, 2),
    BAD(alignment, 128),
    BAD(alignment, 768),
    BAD(alignment, MIB(4)),
    BAD(large_bytes, KIB(32)),
    BAD(large_bytes, MIB(1) + 512),
    BAD(large_bytes, MIB(128)),
    BAD(segment_bytes, MIB(1)),
    BAD(segment_bytes, MIB(3)),
    BAD(segment_bytes, GIB(2)),
    BAD(growth_bytes, MIB(1)),
    BAD(growth_bytes, MIB(6)),
    BAD(growth_bytes, GIB(2)),
    BAD(idle_window_ms, 3600001),
    BAD(release_idle_percent, 101),
    BAD(release_to_percent, 80),
    BAD(release_to_percent, 100),
    BAD(release_windows, 65),
    BAD(l1_depth, 257),
    BAD(l1_refill_percent, 91),
    BAD(trace_level, 3),
    BAD(trace_sample_us, 1000001),
};

Test(config, field_out_of_range_is_refused_by_name)
{
    gp_pool *none = NULL;

    for (size_t i = 0; i < sizeof(bad_fields) / sizeof(bad_fields[0]); i++) {
        gp_pool_config config = pool_config();
        memcpy((char *)&config + bad_fields[i].offset, &bad_fields[i].value, bad_fields[i].bytes);

        FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &config));

        cr_assert(ne(ptr, strstr(gp_last_error(), bad_fields[i].name), NULL), "%s",
                  gp_last_error());
        cr_assert(eq(ptr, none, NULL));
    }
    cr_assert(eq(sz, gp_sim_live_pools(), 1));
}

Test(config, memory_is_annotated_only_where_it_is_gps_own_and_of_no_arena)
{
    gp_pool *none = NULL;
    cudaMemPool_t native = NULL;
    gp_pool_config config = pool_config();
    GP(gp_pool_native_handle(pool, &native));
    config.annotate_memory = true;

    config.native_pool = native;
    FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &config));
    config.native_pool = NULL;
    config.pass_through = true;
    FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &config));
    config.pass_through = false;
    config.capture = GP_CAPTURE_ARENA;
    FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &config));

    cr_assert(ne(ptr, strstr(gp_last_error(), "annotate_memory"), NULL));
}

Test(config, accepts_both_ends_of_each_range)
{
    gp_pool_config least = pool_config();
    least.alignment = 256;
    least.large_bytes = KIB(64);
    least.l1_bytes = 1;
    least.l1_depth = 1;
    least.l1_refill_percent = 0;
    least.trace_level = GP_TRACE_OFF;
    least.trace_sample_us = 1;
    gp_pool_config most = pool_config();
    most.alignment = MIB(2);
    most.large_bytes = MIB(64);
    most.segment_bytes = GIB(1);
    most.l1_bytes = SIZE_MAX;
    most.l1_depth = 256;
    most.l1_refill_percent = 90;
    most.trace_level = GP_TRACE_ALL;
    most.trace_sample_us = 1000000;
    const gp_pool_config *const ends[] = {&least, &most};

    for (int i = 0; i < 2; i++) {
        pool_reopen(NULL, ends[i]);
        cudaStream_t stream = pool_attached_stream();
        for (size_t bytes = 1; bytes <= MIB(70); bytes *= 3) {
            void *held = pool_alloc(bytes, stream);
            pool_use(bytes, stream);
            pool_use(bytes, stream);
            pool_free(held, stream);
        }
        GP(gp_pool_check(pool));
    }
}

/* ---- fields that change what happens ---- */

Test(config, alignment_holds_for_every_block)
{
    gp_pool_config config = pool_config();
    config.alignment = KIB(8);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    for (size_t bytes = 1; bytes < MIB(40); bytes = 2 * bytes + 700) {
        void *first = pool_alloc(bytes, stream);
        void *second = pool_alloc(bytes, stream);
        cr_assert(eq(u64, (uintptr_t)first % KIB(8), 0));
        cr_assert(eq(u64, (uintptr_t)second % KIB(8), 0));
        pool_free(first, stream);
        cr_assert(eq(u64, (uintptr_t)pool_alloc(bytes, stream) % KIB(8), 0));
    }
}

Test(config, l1_holds_no_more_than_its_bytes)
{
    gp_pool_config config = pool_config();
    config.l1_bytes = KIB(256);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    void *blocks[64];

    for (size_t bytes = KIB(1); bytes <= KIB(512); bytes *= 2) {
        for (int i = 0; i < 64; i++)
            blocks[i] = pool_alloc(bytes, stream);
        for (int i = 0; i < 64; i++)
            pool_free(blocks[i], stream);
        cr_assert(le(u64, pool_stats().l1_cached_bytes, KIB(256)), "%zu bytes", bytes);
    }
}

Test(config, l1_holds_no_more_than_its_depth_of_a_class)
{
    gp_pool_config config = pool_config();
    config.l1_depth = 5;
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    void *blocks[64];

    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 64; i++)
            blocks[i] = pool_alloc(KIB(2), stream);
        for (int i = 0; i < 64; i++) {
            pool_free(blocks[i], stream);
            cr_assert(le(u64, pool_stats().l1_cached_bytes, 5 * KIB(2)));
        }
    }
}

Test(config, large_requests_pass_by_l1)
{
    gp_pool_config config = pool_config();
    config.large_bytes = KIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    for (int i = 0; i < 10; i++)
        pool_use(KIB(64) + 1, stream);

    cr_assert(eq(u64, pool_stats().l1_hits, 0));
    cr_assert(eq(u64, pool_stats().l1_cached_bytes, 0));
    cr_assert(eq(u64, pool_stats().native_allocs, 1));
}

Test(config, segments_are_multiples_of_segment_bytes)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(16);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();

    (void)pool_alloc(MIB(3), stream);
    cr_assert(eq(u64, pool_stats().reserved_bytes, MIB(16)));
    (void)pool_alloc(MIB(17), stream);
    cr_assert(eq(u64, pool_stats().reserved_bytes % MIB(16), 0));
}

/* A policy with a hole would be called through NULL on a hot path. */
Test(config, policy_without_a_required_slot_is_refused)
{
    gp_policy_ops ops = *gp_policy_cache_first();
    gp_pool_config config = pool_config();
    gp_pool *none = NULL;
    config.policy = &ops;

    ops.take = NULL;
    FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &config));
    ops = *gp_policy_cache_first();
    ops.struct_bytes = sizeof(ops) + 8;
    FAILS(GP_ERR_VERSION_MISMATCH, gp_pool_create(&none, &config));
    ops.struct_bytes = 8;
    FAILS(GP_ERR_VERSION_MISMATCH, gp_pool_create(&none, &config));

    cr_assert(eq(ptr, none, NULL));
}

/* The pool copies the table: a caller's may be on its stack. */
Test(config, policy_without_the_optional_slot_works_and_may_go)
{
    gp_pool_config config = pool_config();
    {
        gp_policy_ops ops = *gp_policy_cache_first();
        ops.is_valid = NULL;
        config.policy = &ops;
        pool_reopen(NULL, &config);
        memset(&ops, 0, sizeof(ops));
    }

    pool_use(KIB(4), pool_stream());
    GP(gp_pool_check(pool));
}
