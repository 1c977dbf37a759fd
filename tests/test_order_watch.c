/* gp_pool_config.watch_order: a free that the device comes to before the allocation is told of. */
#include "pool_fixture.h"

static gp_finding last;
static unsigned found;

static void note(void *user, const gp_finding *finding)
{
    (void)user;
    last = *finding;
    found++;
}

static void open(void)
{
    pool_open();
    gp_pool_config config = pool_config();
    config.watch_order = true;
    config.on_finding = note;
    pool_reopen(NULL, &config);
}

TestSuite(order_watch, .init = open, .fini = pool_close);

/* Time passes, and gp is called. */
static void look(void)
{
    cudaStream_t stream = pool_stream();
    for (int i = 0; i < 3; i++)
        pool_use(100, stream);
    pool_drop_stream(stream);
}

Test(order_watch, tells_of_a_free_that_nothing_orders)
{
    cudaStream_t home = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gate = pool_close_gate(home);
    void *block = pool_alloc(1000, home);

    pool_free(block, other);
    look();

    cr_assert(eq(uint, found, 1));
    cr_assert(eq(int, (int)last.kind, (int)GP_FINDING_UNORDERED_FREE));
    cr_assert(eq(ptr, (void *)last.block, block));
    cr_assert(eq(sz, last.bytes, 1000));
    cr_assert(eq(u64, last.stream_id, pool_stream_id(home)));
    cr_assert(eq(u64, last.freed_on, pool_stream_id(other)));
    cr_assert(eq(u64, pool_stats().unordered_frees, 1));
    GP(gp_pool_check(pool));
    pool_open_gate(gate);
    look();
    cr_assert(eq(uint, found, 1), "once");
}

static void expect_nothing(cudaStream_t freer, gp_sim_gate gate, void *block)
{
    pool_free(block, freer);
    look();
    pool_open_gate(gate);
    pool_settle();
    look();
    cr_assert(eq(uint, found, 0));
    cr_assert(eq(u64, pool_stats().unordered_frees, 0));
}

Test(order_watch, says_nothing_of_a_free_behind_an_event)
{
    cudaStream_t home = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gate = pool_close_gate(home);
    void *block = pool_alloc(1000, home);
    pool_order(home, other);

    expect_nothing(other, gate, block);
}

Test(order_watch, says_nothing_of_a_free_behind_a_recorded_use)
{
    cudaStream_t home = pool_stream();
    cudaStream_t user = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gate = pool_close_gate(home);
    void *block = pool_alloc(1000, home);
    pool_order(home, user);
    pool_write(block, 1000, user);
    GP(gp_record_use(block, user));

    expect_nothing(other, gate, block);
}

Test(order_watch, says_nothing_where_it_cannot_tell)
{
    cudaStream_t home = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gate = pool_close_gate(other);
    void *block = pool_alloc(1000, home);

    expect_nothing(other, gate, block);
}

Test(order_watch, takes_a_failed_question_for_no_answer)
{
    cudaStream_t home = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gates[] = {pool_close_gate(home), pool_close_gate(other)};
    void *block = pool_alloc(1000, home);
    pool_free(block, other);
    pool_open_gate(gates[1]);

    gp_sim_fail(GP_SIM_FN_EVENT_QUERY, 2, 1, 999); /* about the allocation */
    look();

    cr_assert(eq(uint, found, 0));
    pool_open_gate(gates[0]);
}

Test(order_watch, asks_for_no_event_of_a_free_on_the_same_stream)
{
    cudaStream_t stream = pool_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *block = pool_alloc(1000, stream);
    uint64_t before = pool_stats().event_records;

    pool_free(block, stream);

    cr_assert(eq(u64, pool_stats().event_records, before));
    pool_open_gate(gate);
}

/* Both streams stand, so that nothing is settled; the pool ends on top of that. */
Test(order_watch, watches_so_many_frees_at_most)
{
    enum { FREES = 300 };
    cudaStream_t home = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gates[] = {pool_close_gate(home), pool_close_gate(other)};
    for (int i = 0; i < FREES; i++)
        pool_free(pool_alloc(1000, home), other);

    pool_open_gate(gates[1]);
    look();

    cr_assert(eq(uint, found, 256));
    for (int i = 0; i < FREES; i++)
        pool_free(pool_alloc(1000, home), other);
    pool_open_gate(gates[0]);
}
