/* gp_pool_config.pass_through: each block is a native allocation by itself, and every call means
 * what it means without. */
#include "pool_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gp_pool_config passing_config(void)
{
    gp_pool_config config = pool_config();
    config.pass_through = true;
    return config;
}

static void open(void)
{
    const gp_pool_config config = passing_config();
    pool_open();
    pool_reopen(NULL, &config);
}

TestSuite(pass_through, .init = open, .fini = pool_close);

/* ---- what a tool sees: C87 ---- */

Test(pass_through, makes_each_block_a_native_one_of_just_its_bytes)
{
    cudaStream_t streams[] = {pool_attached_stream(), pool_stream(), NULL,
                              GP_SIM_STREAM_PER_THREAD};

    for (uint64_t i = 0; i < 4; i++) {
        void *small = pool_alloc(1000, streams[i]);
        void *large = pool_alloc(MIB(3) + 1, streams[i]);
        size_t usable = 0;
        GP(gp_usable_size(small, &usable));

        cr_assert(eq(sz, usable, 1000));
        cr_assert(eq(u64, pool_stats().native_allocs, 2 * i + 2));
        cr_assert(eq(u64, pool_stats().reserved_bytes, 1000 + MIB(3) + 1));
        pool_free(small, streams[i]);
        pool_free(large, streams[i]);
        cr_assert(eq(u64, pool_stats().native_frees, 2 * i + 2));
        cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    }
    cr_assert(eq(u64, pool_stats().l1_hits + pool_stats().l2_hits, 0));
}

/* What was found is the test's own doing: on to a machine that knows nothing of it. */
static void expect_one_hazard(gp_sim_hazard_kind kind)
{
    gp_sim_hazard hazard;
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
    (void)gp_sim_get_hazards(&hazard, 1);
    cr_assert(eq(int, (int)hazard.kind, (int)kind));

    const gp_sim_config machine = pool_machine();
    const gp_pool_config config = passing_config();
    GP(gp_pool_destroy_forced(pool));
    GP(gp_sim_reset(&machine));
    GP(gp_pool_create(&pool, &config));
}

static void drop_streams(const cudaStream_t *streams, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pool_drop_stream(streams[i]);
}

Test(pass_through, shows_an_access_to_the_byte_behind_a_block)
{
    cudaStream_t stream = pool_stream();
    char *block = pool_alloc(1000, stream);

    pool_write(block, 1000, stream);
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
    pool_write(block + 1, 1000, stream);

    drop_streams(&stream, 1);
    expect_one_hazard(GP_SIM_HAZARD_AFTER_FREE);
}

Test(pass_through, shows_a_free_that_is_not_ordered_behind_the_last_use)
{
    cudaStream_t streams[] = {pool_stream(), pool_stream()};
    void *block = pool_alloc(1000, streams[0]);

    pool_write(block, 1000, streams[0]);
    pool_free(block, streams[1]);

    drop_streams(streams, 2);
    expect_one_hazard(GP_SIM_HAZARD_AFTER_FREE);
}

/* ---- order ---- */

Test(pass_through, frees_on_the_stream_of_the_free)
{
    cudaStream_t home = pool_stream();
    cudaStream_t other = pool_stream();
    void *block = pool_alloc(MIB(2), home);
    pool_write(block, MIB(2), home);
    pool_order(home, other);
    gp_sim_gate gate = pool_close_gate(other);

    pool_free(block, other);

    void *at_home = pool_alloc(MIB(2), home);
    void *there = pool_alloc(MIB(2), other);
    cr_assert(ne(ptr, at_home, block), "the device is not past the free");
    cr_assert(eq(ptr, there, block), "what comes next on the stream is");
    pool_open_gate(gate);
    pool_free(at_home, home);
    pool_free(there, other);
}

Test(pass_through, lets_the_free_wait_for_recorded_uses)
{
    cudaStream_t home = pool_stream();
    cudaStream_t user = pool_stream();
    void *block = pool_alloc(MIB(2), home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_read(block, MIB(2), user);
    GP(gp_record_use((char *)block + 100, user));

    pool_free(block, home);

    cr_assert(eq(u64, pool_stats().stream_waits, 1));
    void *next = pool_alloc(MIB(2), home);
    pool_write(next, MIB(2), home);
    pool_open_gate(gate);
    pool_settle();
    pool_free(next, home);
}

/* ---- bad frees ---- */

Test(pass_through, tells_bad_frees_apart)
{
    cudaStream_t stream = pool_stream();
    char *block = pool_alloc(1000, stream);
    size_t usable;
    gp_pool_stats before = pool_stats();

    FAILS(GP_ERR_INTERIOR_POINTER, gp_free_async(block + 512, stream));
    FAILS(GP_ERR_INTERIOR_POINTER, gp_usable_size(block + 1, &usable));
    FAILS(GP_ERR_NOT_OWNED, gp_free_async(block + 1000, stream));
    FAILS(GP_ERR_NOT_OWNED, gp_record_use(block + 1000, stream));
    pool_expect_unchanged(&before);

    pool_free(block, stream);
    before = pool_stats();
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, stream));
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block + 512, stream));
    FAILS(GP_ERR_DOUBLE_FREE, gp_usable_size(block, &usable));
    FAILS(GP_ERR_DOUBLE_FREE, gp_record_use(block, stream));
    pool_expect_unchanged(&before);

    GP(gp_pool_trim_to(pool, 0));
    FAILS(GP_ERR_NOT_OWNED, gp_free_async(block, stream));
}

/* Two pools on one native pool: the address is the other's by now. */
Test(pass_through, knows_whose_an_address_is_now)
{
    cudaStream_t stream = pool_stream();
    gp_pool_config config = passing_config();
    gp_pool *other = NULL;
    void *again = NULL;
    GP(gp_pool_native_handle(pool, &config.native_pool));
    GP(gp_pool_create(&other, &config));
    void *block = pool_alloc(MIB(2), stream);
    pool_free(block, stream);

    GP(gp_alloc_from_pool_async(&again, MIB(2), other, stream));
    cr_assert(eq(ptr, again, block));

    pool_free(again, stream);
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(again, stream));
    GP(gp_pool_destroy(other));
}

/* ---- native calls that fail ---- */

Test(pass_through, leaves_a_block_live_whose_uses_cannot_be_waited_for)
{
    cudaStream_t home = pool_stream();
    cudaStream_t user = pool_stream();
    void *block = pool_alloc(MIB(2), home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_read(block, MIB(2), user);
    GP(gp_record_use(block, user));
    const gp_pool_stats before = pool_stats();

    gp_sim_fail(GP_SIM_FN_STREAM_WAIT, 1, 1, 999);
    FAILS(GP_ERR_CUDA, gp_free_async(block, home));
    pool_expect_unchanged(&before);

    pool_free(block, home);
    void *next = pool_alloc(MIB(2), home);
    pool_write(next, MIB(2), home);
    pool_open_gate(gate);
    pool_settle();
    pool_free(next, home);
}

/* It is free for the caller, and goes with the pool. */
Test(pass_through, frees_a_block_that_the_driver_does_not_take_back)
{
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(MIB(2), stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_write(block, MIB(2), stream);
    gp_sim_fail(GP_SIM_FN_FREE, 1, 1, 999);

    pool_free(block, stream);

    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, stream));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    cr_assert(eq(u64, pool_stats().cached_bytes, MIB(2)));
    GP(gp_pool_check(pool));
    pool_open_gate(gate);
    GP(gp_pool_destroy(pool));
    pool = NULL;
}

Test(pass_through, counts_nothing_of_an_allocation_that_failed)
{
    cudaStream_t stream = pool_stream();
    void *none = NULL;
    gp_sim_fail(GP_SIM_FN_MALLOC, 1, 1, 999);

    FAILS(GP_ERR_CUDA, gp_alloc_from_pool_async(&none, 1000, pool, stream));

    cr_assert(eq(ptr, none, NULL));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    cr_assert(eq(u64, pool_stats().failures, 1));
    cr_assert(eq(u64, pool_stats().live_blocks, 0));
}

/* ---- alignment ---- */

Test(pass_through, aligns_blocks_as_asked)
{
    cudaStream_t stream = pool_stream();
    for (size_t alignment = 1; alignment <= MIB(2); alignment *= 2) {
        void *pad = pool_alloc(100, stream);
        void *block = NULL;
        size_t usable = 0;

        GP(gp_alloc_aligned_from_pool_async(&block, 1000, alignment, pool, stream));

        cr_assert(eq(u64, (uintptr_t)block % alignment, 0));
        cr_assert(eq(u64, (uintptr_t)block % 512, 0));
        GP(gp_usable_size(block, &usable));
        cr_assert(eq(sz, usable, 1000));
        pool_write(block, 1000, stream);
        GP(gp_pool_check(pool));
        pool_free(pad, stream);
        pool_free(block, stream);
    }
}

static void open_poorly_aligned(void)
{
    const gp_pool_config config = passing_config();
    gp_sim_config machine = pool_machine();
    machine.base_offset = 256;
    pool_reopen(&machine, &config);
}

Test(pass_through, aligns_blocks_of_a_driver_that_does_not)
{
    open_poorly_aligned();
    cudaStream_t stream = pool_stream();

    void *block = pool_alloc(1000, stream);

    cr_assert(eq(u64, (uintptr_t)block % 512, 0));
    pool_write(block, 1000, stream);
    pool_free(block, stream);
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

Test(pass_through, keeps_account_of_memory_that_was_of_no_use_and_did_not_go_back)
{
    open_poorly_aligned();
    cudaStream_t stream = pool_stream();
    gp_sim_fail(GP_SIM_FN_FREE, 1, 1, 999);

    void *block = pool_alloc(1000, stream);

    pool_free(block, stream);
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    cr_assert(eq(u64, pool_stats().cached_bytes, 1000));
    GP(gp_pool_check(pool));
}

/* ---- captures ---- */

Test(pass_through, parks_a_block_that_is_freed_inside_a_capture)
{
    cudaStream_t stream = pool_stream();
    gp_sim_graph graph = NULL;
    void *block = pool_alloc(KIB(64), stream);
    void *used = pool_alloc(KIB(64), stream);
    cudaStream_t user = pool_stream();
    GP(gp_record_use(used, user));
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));

    pool_free(block, stream);
    pool_free(used, stream);
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, stream));

    cr_assert(eq(u64, pool_stats().pending_bytes, KIB(128)));
    cr_assert(eq(u64, pool_stats().live_blocks, 0));
    GP(gp_pool_check(pool));
    SIM(gp_sim_end_capture(stream, &graph));
    pool_use(100, stream);
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    SIM(gp_sim_graph_destroy(graph));
}

Test(pass_through, keeps_a_block_parked_whose_uses_cannot_be_waited_for)
{
    cudaStream_t stream = pool_stream();
    gp_sim_graph graph = NULL;
    void *block = pool_alloc(KIB(64), stream);
    GP(gp_record_use(block, pool_stream()));
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    pool_free(block, stream);
    SIM(gp_sim_end_capture(stream, &graph));
    SIM(gp_sim_graph_destroy(graph));

    gp_sim_fail(GP_SIM_FN_STREAM_WAIT, 1, 1, 999);
    void *other = pool_alloc(100, stream);
    cr_assert(eq(u64, pool_stats().pending_bytes, KIB(64)));
    GP(gp_pool_check(pool));
    pool_free(other, stream);

    cr_assert(eq(u64, pool_stats().pending_bytes, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

/* ---- limits ---- */

enum { CROWD = 8, CROWD_ROUNDS = 200 };

static void *allocate_in_a_crowd(void *unused)
{
    (void)unused;
    cudaStream_t stream = NULL;
    SIM(gp_sim_stream_create(&stream, true));
    for (int i = 0; i < CROWD_ROUNDS; i++) {
        void *block = NULL;
        gp_status status = gp_alloc_from_pool_async(&block, MIB(1), pool, stream);
        if (status == GP_OK)
            status = gp_free_async(block, stream);
        cr_assert(status == GP_OK || status == GP_ERR_LIMIT);
    }
    SIM(gp_sim_stream_destroy(stream));
    return NULL;
}

/* In a native pool that has no limit of its own. */
Test(pass_through, keeps_a_crowd_under_the_limit)
{
    gp_pool_config config = passing_config();
    config.max_bytes = MIB(3);
    GP(gp_pool_destroy(pool));
    SIM(gp_sim_pool_create(&config.native_pool));
    GP(gp_pool_create(&pool, &config));
    pthread_t threads[CROWD];

    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, allocate_in_a_crowd, NULL), 0));
    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    cr_assert(le(u64, pool_stats().reserved_bytes_high, MIB(3)));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    GP(gp_pool_destroy(pool));
    pool = NULL;
    SIM(gp_sim_pool_destroy(config.native_pool));
}

static void *held;

static bool free_held(void *stream, gp_pool *of, size_t bytes_missing)
{
    (void)of;
    (void)bytes_missing;
    void *block = held;
    held = NULL;
    return block != NULL && gp_free_async(block, stream) == GP_OK;
}

Test(pass_through, asks_the_caller_for_memory_before_it_fails)
{
    gp_pool_config config = passing_config();
    cudaStream_t stream = pool_stream();
    config.max_bytes = MIB(64);
    config.on_pressure = free_held;
    config.pressure_user = stream;
    pool_reopen(NULL, &config);
    held = pool_alloc(MIB(40), stream);
    void *none = NULL;

    void *block = pool_alloc(MIB(40), stream);

    cr_assert(eq(ptr, held, NULL));
    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(40), pool, stream));
    cr_assert(ne(ptr, strstr(gp_last_error(), "live 41943040"), NULL), "%s", gp_last_error());
    cr_assert(ne(ptr, strstr(gp_last_error(), "the caller's on_pressure"), NULL));
    pool_free(block, stream);
}

/* The pool's own count has room, the native pool's not before the device is past the free. */
Test(pass_through, names_the_limit_while_what_was_freed_is_in_use)
{
    gp_pool_config config = passing_config();
    config.max_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_stream();
    cudaStream_t other = pool_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(MIB(40), stream);
    void *none = NULL;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(40), pool, other));

    pool_open_gate(gate);
    pool_settle();
    pool_use(MIB(40), other);
}

/* ---- the rest ---- */

Test(pass_through, reserves_what_the_native_pool_then_has)
{
    const gp_reserve_entry plan = {.bytes = MIB(3), .count = 4};
    cudaStream_t stream = pool_stream();

    GP(gp_pool_reserve(pool, stream, &plan, 1));

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.live_bytes, 0));
    cr_assert(le(u64, MIB(12), stats.native_reserved_bytes));

    gp_sim_fail(GP_SIM_FN_FREE, 2, 1, 999);
    GP(gp_pool_reserve(pool, stream, &plan, 1));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    cr_assert(eq(u64, pool_stats().live_blocks, 0));
    cr_assert(eq(u64, pool_stats().cached_bytes, MIB(3)));
}

typedef struct seen {
    gp_walk_entry entries[8];
    size_t count;
} seen;

static bool keep(const gp_walk_entry *entry, void *user)
{
    seen *all = user;
    all->entries[all->count++] = *entry;
    return all->count < 8;
}

Test(pass_through, shows_each_block_in_a_native_span_of_its_own)
{
    cudaStream_t stream = pool_stream();
    uint64_t id = pool_stream_id(stream);
    void *first = pool_alloc(1000, stream);
    void *second = NULL;
    GP(gp_alloc_aligned_from_pool_async(&second, 100, KIB(4), pool, stream));
    seen all = {.count = 0};

    GP(gp_pool_walk(pool, keep, &all));

    cr_assert(eq(sz, all.count, 4));
    for (size_t i = 0; i < 4; i++) {
        const gp_walk_kind kind = i % 2 == 0 ? GP_WALK_SEGMENT : GP_WALK_LIVE;
        cr_assert(eq(int, (int)all.entries[i].kind, (int)kind));
        cr_assert(eq(u64, all.entries[i].stream_id, id));
    }
    cr_assert(eq(ptr, (void *)all.entries[1].address, first));
    cr_assert(eq(sz, all.entries[1].bytes, 1000));
    cr_assert(eq(sz, all.entries[2].bytes, 100 + KIB(4)));
    cr_assert(eq(ptr, (void *)all.entries[3].address, second));
    pool_free(first, stream);
    pool_free(second, stream);
}

Test(pass_through, refuses_to_end_while_blocks_are_live_and_then_is_forced)
{
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(1000, stream);
    char address[32];
    (void)snprintf(address, sizeof(address), "%p", block);
    pool_write(block, 1000, stream);

    FAILS(GP_ERR_BUSY, gp_pool_destroy(pool));
    cr_assert(ne(ptr, strstr(gp_last_error(), address), NULL), "%s", gp_last_error());

    GP(gp_pool_destroy_forced(pool));
    pool = NULL;
    FAILS(GP_ERR_NOT_OWNED, gp_free_async(block, stream));
}

Test(pass_through, is_asked_for_by_the_environment)
{
    gp_pool_config config;

    unsetenv("GP_PASS_THROUGH");
    gp_pool_config_init(&config);
    cr_assert(not(config.pass_through));
    setenv("GP_PASS_THROUGH", "1", 1);
    gp_pool_config_init(&config);
    cr_assert(config.pass_through);
}
