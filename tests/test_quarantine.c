/* gp_pool_config.quarantine_bytes: what was freed last is held back, and looked at when it goes.
 * C87 */
#include "pool_fixture.h"

#include <string.h>

static gp_finding last;
static unsigned found;

static void note(void *user, const gp_finding *finding)
{
    (void)user;
    last = *finding;
    found++;
}

static gp_pool_config quarantine_config(bool poison)
{
    gp_pool_config config = pool_config();
    config.quarantine_bytes = MIB(4);
    config.poison = poison;
    config.on_finding = note;
    return config;
}

static void open_with(bool poison)
{
    const gp_pool_config config = quarantine_config(poison);
    pool_reopen(NULL, &config);
}

static void open(void)
{
    pool_open();
    open_with(true);
}

TestSuite(quarantine, .init = open, .fini = pool_close);

/* All that is held goes, and gp has looked at it. */
static void let_all_go(void)
{
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    pool_settle();
}

static void expect_corrupted(const char *words)
{
    FAILS(GP_ERR_CORRUPTED, gp_pool_check(pool));
    cr_assert(ne(ptr, strstr(gp_last_error(), words), NULL), "%s", gp_last_error());
    GP(gp_pool_check(pool));
}

/* ---- what is held ---- */

Test(quarantine, holds_back_what_was_freed_last)
{
    cudaStream_t stream = pool_stream();
    void *blocks[8];
    for (int i = 0; i < 8; i++) {
        blocks[i] = pool_alloc(MIB(1), stream);
        pool_free(blocks[i], stream);
        pool_settle();
        for (int k = i < 4 ? 0 : i - 3; k < i; k++)
            cr_assert(ne(ptr, blocks[i], blocks[k]), "%d is held while %d is allocated", k, i);
    }

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.quarantined_bytes, MIB(4)));
    cr_assert(eq(u64, stats.cached_bytes, MIB(4)));
    cr_assert(eq(u64, stats.live_bytes, 0));
    cr_assert(eq(u64, stats.native_frees, 4));
    GP(gp_pool_check(pool));
}

Test(quarantine, keeps_the_poison_of_a_free_in_place)
{
    cudaStream_t stream = pool_stream();
    unsigned char host[1001];
    void *block = pool_alloc(sizeof(host), stream);
    pool_write(block, sizeof(host), stream);
    pool_free(block, stream);

    SIM(gp_sim_memcpy_to_host_async(host, block, sizeof(host), stream));

    for (size_t i = 0; i < sizeof(host); i++)
        cr_assert(eq(int, host[i], GP_POISON_FREED));
    pool_settle();
}

Test(quarantine, tells_bad_calls_of_a_held_block)
{
    cudaStream_t stream = pool_stream();
    size_t usable;
    char *block = pool_alloc(1000, stream);
    pool_free(block, stream);

    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, stream));
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block + 512, stream));
    FAILS(GP_ERR_DOUBLE_FREE, gp_usable_size(block, &usable));
    FAILS(GP_ERR_DOUBLE_FREE, gp_record_use(block, stream));
}

Test(quarantine, waits_for_no_stream_and_holds_more_meanwhile)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    for (int i = 0; i < 8; i++)
        pool_use(MIB(1), stream);
    cr_assert(eq(u64, pool_stats().quarantined_bytes, MIB(8)));
    cr_assert(eq(u64, pool_stats().stream_waits, 0));

    pool_open_gate(gate);
    pool_settle();
    pool_use(100, other);

    cr_assert(le(u64, pool_stats().quarantined_bytes, MIB(4)));
}

Test(quarantine, gives_way_to_an_allocation_that_finds_no_memory)
{
    gp_pool_config config = quarantine_config(true);
    config.max_bytes = MIB(64);
    config.quarantine_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    pool_use(MIB(40), stream);
    pool_settle();

    void *block = pool_alloc(MIB(40), stream);

    pool_free(block, stream);
    let_all_go();
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(quarantine, does_without_where_no_event_can_be_had)
{
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(1000, stream);
    gp_sim_fail(GP_SIM_FN_EVENT_RECORD, 1, 1, 999);

    pool_free(block, stream);

    cr_assert(eq(u64, pool_stats().quarantined_bytes, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

/* ---- what is found ---- */

Test(quarantine, finds_a_write_after_the_free)
{
    cudaStream_t home = pool_stream();
    cudaStream_t other = pool_stream();
    char *block = pool_alloc(1000, home);
    pool_order(home, other);
    pool_free(block, other);
    pool_write(block + 17, 4, other);

    let_all_go();
    pool_use(100, home);

    cr_assert(eq(uint, found, 1));
    cr_assert(eq(int, (int)last.kind, (int)GP_FINDING_LATE_WRITE));
    cr_assert(eq(ptr, (void *)last.block, block));
    cr_assert(eq(ptr, (void *)last.address, block + 17));
    cr_assert(eq(u64, last.stream_id, pool_stream_id(home)));
    cr_assert(eq(u64, last.freed_on, pool_stream_id(other)));
    cr_assert(eq(u64, pool_stats().late_writes, 1));
    cr_assert(eq(u64, pool_stats().overruns, 0));
    expect_corrupted("late write: written after the free to byte 17 of");
}

static unsigned found_at(size_t offset, size_t bytes, cudaStream_t stream)
{
    char *block = pool_alloc(bytes, stream);
    found = 0;
    pool_free(block, stream);
    pool_write(block + offset, 1, stream);
    let_all_go();
    pool_use(100, stream);
    if (found > 0)
        expect_corrupted("late write");
    return found;
}

Test(quarantine, looks_at_both_ends_of_a_block)
{
    cudaStream_t stream = pool_stream();
    const size_t bytes = MIB(1) + 1;

    cr_assert(eq(uint, found_at(0, bytes, stream), 1));
    cr_assert(eq(uint, found_at(KIB(32) - 1, bytes, stream), 1));
    cr_assert(eq(uint, found_at(bytes - KIB(32), bytes, stream), 1));
    cr_assert(eq(uint, found_at(bytes - 1, bytes, stream), 1));
    cr_assert(eq(uint, found_at(KIB(32), KIB(64), stream), 1));
    cr_assert(eq(uint, found_at(KIB(512), bytes, stream), 0), "as documented");
}

Test(quarantine, finds_nothing_where_nothing_is)
{
    cudaStream_t stream = pool_attached_stream();
    for (size_t bytes = 1; bytes < MIB(4); bytes = bytes * 3 + 1)
        pool_use(bytes, stream);
    let_all_go();
    pool_use(100, stream);

    cr_assert(eq(uint, found, 0));
    cr_assert(eq(u64, pool_stats().unchecked_blocks, 0));
    GP(gp_pool_check(pool));
}

Test(quarantine, looks_at_nothing_without_poison)
{
    open_with(false);
    cudaStream_t stream = pool_stream();
    uint64_t before = gp_sim_call_count(GP_SIM_FN_MEMCPY_TO_HOST);

    cr_assert(eq(uint, found_at(0, 1000, stream), 0));

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_MEMCPY_TO_HOST), before));
}

/* A block that could not be poisoned holds what it held. */
Test(quarantine, takes_a_block_without_poison_for_no_finding)
{
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(1000, stream);
    gp_sim_fail(GP_SIM_FN_MEMSET, 1, 1, 999);

    pool_free(block, stream);

    let_all_go();
    pool_use(100, stream);
    cr_assert(eq(uint, found, 0));
}

/* ---- the end ---- */

Test(quarantine, ends_with_the_pool_which_looks_at_it)
{
    cudaStream_t stream = pool_stream();
    char *block = pool_alloc(1000, stream);
    pool_free(block, stream);
    pool_write(block, 1, stream);
    pool_settle();

    GP(gp_pool_destroy(pool));

    pool = NULL;
    cr_assert(eq(uint, found, 1));
}

Test(quarantine, of_an_attached_stream_that_stands_does_not_hold_up_the_end_of_the_pool)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(1000, stream);

    GP(gp_pool_destroy(pool));

    pool = NULL;
    pool_open_gate(gate);
}
