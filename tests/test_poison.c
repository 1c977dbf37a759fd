/* gp_pool_config.poison: what a block holds before it is written and after it is freed. C89 */
#include "pool_fixture.h"

static gp_pool_config poison_config(void)
{
    gp_pool_config config = pool_config();
    config.poison = true;
    return config;
}

static void open(void)
{
    const gp_pool_config config = poison_config();
    pool_open();
    pool_reopen(NULL, &config);
}

TestSuite(poison, .init = open, .fini = pool_close);

/* Read `bytes` from a block, as work of the stream. */
static void expect_bytes(const void *block, size_t bytes, unsigned char value, cudaStream_t stream)
{
    static unsigned char host[4096];
    cr_assert(le(sz, bytes, sizeof(host)));
    SIM(gp_sim_memcpy_to_host_async(host, block, bytes, stream));
    for (size_t i = 0; i < bytes; i++)
        cr_assert(eq(int, host[i], value), "byte %zu", i);
}

Test(poison, is_what_a_fresh_block_holds_to_its_last_byte)
{
    cudaStream_t streams[] = {pool_attached_stream(), pool_stream(), NULL};
    for (size_t i = 0; i < 3; i++) {
        void *block = pool_alloc(1001, streams[i]);

        expect_bytes(block, 1001, GP_POISON_FRESH, streams[i]);

        pool_free(block, streams[i]);
    }
}

Test(poison, is_there_before_any_work_that_follows_the_allocation)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *block = pool_alloc(1000, stream);
    pool_order(stream, other);

    pool_write(block, 1000, other);

    pool_open_gate(gate);
    pool_order(other, stream);
    pool_free(block, stream);
}

Test(poison, is_another_one_after_the_free)
{
    cudaStream_t stream = pool_stream();
    gp_pool_config config = poison_config();
    SIM(gp_sim_pool_create(&config.native_pool));
    GP(gp_pool_destroy(pool));
    GP(gp_pool_create(&pool, &config));
    void *block = pool_alloc(1000, stream);
    uint64_t before = gp_sim_call_count(GP_SIM_FN_MEMSET);

    pool_free(block, stream);

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_MEMSET), before + 1));
    GP(gp_pool_destroy(pool));
    pool = NULL;
    SIM(gp_sim_pool_destroy(config.native_pool));
}

Test(poison, of_a_free_comes_after_the_uses_that_were_recorded)
{
    cudaStream_t home = pool_stream();
    cudaStream_t user = pool_stream();
    void *block = pool_alloc(MIB(1), home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_read(block, MIB(1), user);
    GP(gp_record_use(block, user));

    pool_free(block, home);

    pool_open_gate(gate);
    pool_settle();
}

Test(poison, fails_an_allocation_that_cannot_have_it)
{
    cudaStream_t stream = pool_stream();
    void *none = NULL;
    gp_sim_fail(GP_SIM_FN_MEMSET, 1, 1, 999);

    FAILS(GP_ERR_CUDA, gp_alloc_from_pool_async(&none, 1000, pool, stream));

    cr_assert(eq(ptr, none, NULL));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    cr_assert(eq(u64, pool_stats().live_blocks, 0));
}

Test(poison, fails_no_free)
{
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(1000, stream);
    gp_sim_fail(GP_SIM_FN_MEMSET, 1, 1, 999);

    pool_free(block, stream);

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(poison, leaves_captures_alone)
{
    cudaStream_t stream = pool_stream();
    gp_sim_graph graph = NULL;
    void *parked = pool_alloc(1000, stream);
    uint64_t before = gp_sim_call_count(GP_SIM_FN_MEMSET);
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));

    void *block = pool_alloc(1000, stream);
    pool_free(block, stream);
    pool_free(parked, stream);

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_MEMSET), before));
    SIM(gp_sim_end_capture(stream, &graph));
    SIM(gp_sim_graph_destroy(graph));
    pool_use(100, stream);
    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_MEMSET), before + 3));
}
