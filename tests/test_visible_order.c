/* gp_pool_config.visible_order: what gp knows from asking is also told to tools, by events. */
#include "pool_fixture.h"

#include <stdlib.h>

static void open_with(bool visible)
{
    gp_pool_config config = pool_config();
    config.visible_order = visible;
    pool_reopen(NULL, &config);
}

static void open(void)
{
    pool_open();
    open_with(true);
}

TestSuite(visible_order, .init = open, .fini = pool_close);

/* Memory that one idle stream used, on its way back to the device. */
static gp_pool_stats stats_after_trim(bool visible)
{
    open_with(visible);
    pool_use(MIB(24), pool_attached_stream());
    pool_settle();

    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    return pool_stats();
}

Test(visible_order, lets_gps_own_stream_wait_before_memory_goes_back)
{
    gp_pool_stats plain = stats_after_trim(false);
    gp_pool_stats visible = stats_after_trim(true);

    cr_assert(eq(u64, plain.stream_waits, 0));
    cr_assert(lt(u64, plain.event_records, visible.event_records));
    cr_assert(le(u64, 2, visible.stream_waits), "for the memory, and before it goes back");
}

Test(visible_order, lets_a_stream_wait_for_the_allocation_of_what_it_gets)
{
    cudaStream_t stream = pool_attached_stream();

    void *block = pool_alloc(MIB(4), stream);

    cr_assert(eq(u64, pool_stats().stream_waits, 1));
    pool_free(block, stream);
}

Test(visible_order, keeps_nothing_in_threads)
{
    cudaStream_t stream = pool_attached_stream();

    for (int i = 0; i < 8; i++)
        pool_use(KIB(4), stream);

    cr_assert(eq(u64, pool_stats().l1_cached_bytes, 0));
    cr_assert(eq(u64, pool_stats().l1_hits, 0));
}

Test(visible_order, covers_every_free_on_a_stream_that_is_not_attached)
{
    cudaStream_t stream = pool_stream();
    uint64_t before = pool_stats().event_records;

    pool_use(KIB(4), stream);

    cr_assert(lt(u64, before, pool_stats().event_records - 1), "one for the chunk, one now");
}

Test(visible_order, is_asked_for_by_the_environment)
{
    gp_pool_config config;

    unsetenv("GP_VISIBLE_ORDER");
    gp_pool_config_init(&config);
    cr_assert(not(config.visible_order));
    setenv("GP_VISIBLE_ORDER", "0", 1);
    gp_pool_config_init(&config);
    cr_assert(not(config.visible_order));
    setenv("GP_VISIBLE_ORDER", "1", 1);
    gp_pool_config_init(&config);
    cr_assert(config.visible_order);
}

/* The successor's memory was shown to be complete by the host's question alone. */
Test(visible_order, lets_a_stream_wait_for_what_it_inherits)
{
    cudaStream_t first = pool_attached_stream();
    pool_use(KIB(4), first);
    GP(gp_stream_detach(pool, first));
    pool_settle();
    uint64_t waits = pool_stats().stream_waits;

    cudaStream_t second = pool_attached_stream();

    cr_assert(le(u64, waits + 2, pool_stats().stream_waits),
              "gp's own stream for the fence, and the new one for gp's own");
    pool_use(KIB(4), second);
}
