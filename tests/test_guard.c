/* gp_pool_config.guard_bytes: writes before and behind a block are found, and nothing else is. C87
 */
#include "pool_fixture.h"

#include <stdio.h>
#include <string.h>

enum { GUARD = 512 };

typedef struct report {
    unsigned count;
    gp_finding last;
    char text[256];
    gp_status inside; /* of a call of gp inside the callback */
} report;

static report found;

static void note(void *user, const gp_finding *finding)
{
    report *all = user;
    all->count++;
    all->last = *finding;
    (void)strncpy(all->text, finding->text, sizeof(all->text) - 1);
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    all->inside = gp_pool_get_stats(finding->pool, &stats);
}

static gp_pool_config guard_config(void)
{
    gp_pool_config config = pool_config();
    config.guard_bytes = GUARD;
    config.on_finding = note;
    config.finding_user = &found;
    return config;
}

static void open(void)
{
    const gp_pool_config config = guard_config();
    found = (report){.count = 0};
    pool_open();
    pool_reopen(NULL, &config);
}

TestSuite(guard, .init = open, .fini = pool_close);

/* The device is past everything, and gp has looked. */
static void look(void)
{
    pool_settle();
    cudaStream_t stream = pool_stream();
    pool_use(100, stream);
    pool_drop_stream(stream);
}

static void expect_corrupted(const char *words)
{
    FAILS(GP_ERR_CORRUPTED, gp_pool_check(pool));
    cr_assert(ne(ptr, strstr(gp_last_error(), words), NULL), "%s", gp_last_error());
    cr_assert(eq(ptr, strstr(gp_last_error(), "invariant"), NULL));
}

/* ---- on a free ---- */

static void write_and_free(ptrdiff_t offset, size_t bytes, cudaStream_t stream)
{
    char *block = pool_alloc(1001, stream);
    pool_write(block, 1001, stream);
    if (bytes > 0)
        pool_write(block + offset, bytes, stream);
    pool_free(block, stream);
    look();
}

Test(guard, finds_the_first_byte_behind_a_block_and_the_last)
{
    cudaStream_t stream = pool_stream();

    write_and_free(1001, 1, stream);
    cr_assert(eq(u64, pool_stats().overruns, 1));
    expect_corrupted("written 0 bytes past the end of");

    write_and_free(1001 + GUARD - 1, 1, stream);
    cr_assert(eq(u64, pool_stats().overruns, 2));
    expect_corrupted("written 511 bytes past the end of");
}

Test(guard, finds_the_first_byte_before_a_block_and_the_last)
{
    cudaStream_t stream = pool_stream();

    write_and_free(-1, 1, stream);
    expect_corrupted("written 1 bytes before the start of");

    write_and_free(-GUARD, 1, stream);
    expect_corrupted("written 512 bytes before the start of");
    cr_assert(eq(u64, pool_stats().overruns, 2));
}

Test(guard, finds_nothing_where_nothing_is)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_stream();
    for (size_t bytes = 1; bytes < MIB(4); bytes = bytes * 3 + 1) {
        void *block = pool_alloc(bytes, stream);
        pool_write(block, bytes, stream);
        pool_order(stream, other);
        pool_write(block, bytes, other);
        GP(gp_pool_check(pool));
        pool_free(block, other);
    }

    look();

    GP(gp_pool_check(pool));
    cr_assert(eq(u64, pool_stats().overruns, 0));
    cr_assert(eq(u64, pool_stats().unchecked_blocks, 0));
    cr_assert(eq(uint, found.count, 0));
}

Test(guard, tells_the_caller_what_was_found_and_where)
{
    cudaStream_t home = pool_stream();
    cudaStream_t other = pool_stream();
    char *block = pool_alloc(1000, home);
    pool_write(block, 1010, home);
    pool_order(home, other);
    pool_free(block, other);
    char address[32];
    (void)snprintf(address, sizeof(address), "%p", (void *)block);

    look();

    cr_assert(eq(uint, found.count, 1));
    cr_assert(eq(int, (int)found.inside, (int)GP_OK));
    cr_assert(eq(int, (int)found.last.kind, (int)GP_FINDING_OVERRUN));
    cr_assert(eq(ptr, found.last.pool, pool));
    cr_assert(eq(ptr, (void *)found.last.block, block));
    cr_assert(eq(sz, found.last.bytes, 1000));
    cr_assert(eq(ptr, (void *)found.last.address, block + 1000));
    cr_assert(eq(u64, found.last.stream_id, pool_stream_id(home)));
    cr_assert(eq(u64, found.last.freed_on, pool_stream_id(other)));
    cr_assert(ne(ptr, strstr(found.text, address), NULL), "%s", found.text);
    expect_corrupted(address);
    GP(gp_pool_check(pool));
}

Test(guard, finds_what_a_recorded_use_wrote)
{
    cudaStream_t home = pool_stream();
    cudaStream_t user = pool_stream();
    char *block = pool_alloc(1000, home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_write(block, 1001, user);
    GP(gp_record_use(block, user));

    pool_free(block, home);

    pool_open_gate(gate);
    look();
    expect_corrupted("0 bytes past");
}

Test(guard, looks_once_the_device_is_past_the_free_and_waits_for_nobody)
{
    cudaStream_t stream = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    char *block = pool_alloc(1000, stream);
    pool_write(block, 1001, stream);
    pool_free(block, stream);

    for (int i = 0; i < 10; i++)
        pool_use(100, other);
    GP(gp_pool_check(pool));
    cr_assert(eq(u64, pool_stats().overruns, 0));

    pool_open_gate(gate);
    look();
    expect_corrupted("0 bytes past");
}

/* ---- of live blocks ---- */

Test(guard, finds_an_overrun_of_a_live_block_in_a_check)
{
    cudaStream_t stream = pool_attached_stream();
    char *block = pool_alloc(1000, stream);
    pool_write(block, 1003, stream);
    pool_settle();

    for (unsigned i = 1; i <= 2; i++) {
        expect_corrupted("still live");
        cr_assert(eq(u64, pool_stats().overruns, i), "at each look");
    }

    pool_free(block, stream);
    look();
    expect_corrupted("freed on stream");
}

Test(guard, leaves_alone_live_blocks_that_the_device_has_not_come_to)
{
    cudaStream_t stream = pool_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    char *block = pool_alloc(1000, stream);

    GP(gp_pool_check(pool));

    pool_write(block, 1001, stream);
    pool_open_gate(gate);
    pool_free(block, stream);
    look();
    expect_corrupted("0 bytes past");
}

/* What the check reads is read before the memory is somebody else's. */
Test(guard, lets_the_free_wait_for_a_check)
{
    gp_sim_config machine = pool_machine();
    const gp_pool_config config = guard_config();
    machine.clock = GP_SIM_CLOCK_MANUAL;
    pool_reopen(&machine, &config);
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(1000, stream);
    gp_sim_advance(1000000);
    GP(gp_pool_check(pool));
    uint64_t waits = pool_stats().stream_waits;

    pool_free(block, stream);

    cr_assert(eq(u64, pool_stats().stream_waits, waits + 1));
    gp_sim_advance(1000000);
}

/* ---- what fails ---- */

Test(guard, counts_blocks_that_it_could_not_look_at)
{
    cudaStream_t stream = pool_stream();
    const gp_sim_function functions[] = {GP_SIM_FN_MEMCPY_TO_HOST, GP_SIM_FN_EVENT_RECORD};
    for (size_t i = 0; i < 2; i++) {
        void *block = pool_alloc(1000, stream);
        gp_sim_fail(functions[i], 1, 1, 999);

        pool_free(block, stream);

        cr_assert(eq(u64, pool_stats().unchecked_blocks, i + 1));
        cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    }
}

Test(guard, fails_an_allocation_that_cannot_have_it)
{
    cudaStream_t stream = pool_stream();
    const gp_sim_function functions[] = {GP_SIM_FN_MEMSET, GP_SIM_FN_MEMSET,
                                         GP_SIM_FN_EVENT_RECORD};
    for (size_t i = 0; i < 3; i++) {
        void *none = NULL;
        gp_sim_fail(functions[i], i == 1 ? 2 : 1, 1, 999);

        FAILS(GP_ERR_CUDA, gp_alloc_from_pool_async(&none, 1000, pool, stream));

        gp_sim_fail(functions[i], 0, 0, 0);
        cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
        GP(gp_pool_check(pool));
    }
}

/* ---- the rest ---- */

Test(guard, finds_at_the_end_of_the_pool_what_nobody_looked_at)
{
    cudaStream_t stream = pool_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    char *block = pool_alloc(1000, stream);
    pool_write(block, 1001, stream);
    pool_free(block, stream);
    pool_open_gate(gate);
    pool_settle();
    cr_assert(eq(uint, found.count, 0));

    GP(gp_pool_destroy(pool));

    pool = NULL;
    cr_assert(eq(uint, found.count, 1));
    cr_assert(eq(int, (int)found.inside, (int)GP_ERR_INVALID_POOL));
}

Test(guard, holds_up_no_end_of_a_pool_behind_a_stream_that_stands)
{
    cudaStream_t stream = pool_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(1000, stream);

    GP(gp_pool_destroy(pool));

    pool = NULL;
    pool_open_gate(gate);
}

Test(guard, is_beside_poison_and_alignment)
{
    gp_pool_config config = guard_config();
    config.poison = true;
    config.alignment = KIB(4);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    char *block = NULL;
    size_t usable = 0;
    GP(gp_alloc_aligned_from_pool_async((void **)&block, 1000, KIB(64), pool, stream));
    GP(gp_usable_size(block, &usable));

    cr_assert(eq(sz, usable, 1000));
    cr_assert(eq(u64, (uintptr_t)block % KIB(64), 0));
    pool_write(block, 1000, stream);
    pool_free(block, stream);
    look();
    GP(gp_pool_check(pool));
}

Test(guard, is_found_in_every_one_of_many_blocks)
{
    enum { BLOCKS = 500 };
    cudaStream_t stream = pool_stream();
    for (int i = 0; i < BLOCKS; i++) {
        char *block = pool_alloc(1000, stream);
        pool_write(block, i % 2 == 0 ? 1001 : 1000, stream);
        pool_free(block, stream);
    }

    look();

    cr_assert(eq(u64, pool_stats().overruns, BLOCKS / 2));
    cr_assert(eq(uint, found.count, BLOCKS / 2));
    expect_corrupted("0 bytes past");
}

Test(guard, has_a_range)
{
    const size_t wrong[] = {1, 256, 513, KIB(64) + 512};
    gp_pool *none = NULL;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        gp_pool_config config = pool_config();
        config.guard_bytes = wrong[i];
        FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&none, &config));
    }
}
