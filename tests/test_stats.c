/* Statistics: every counter against what the test itself knows. */
#include "pool_fixture.h"

#include <stdlib.h>

TestSuite(stats, .init = pool_open, .fini = pool_close);

Test(stats, of_a_new_pool_are_zero)
{
    gp_pool_stats stats = pool_stats();

    cr_assert(eq(u64, stats.live_bytes_high, 0));
    cr_assert(eq(u64, stats.requests, 0));
    cr_assert(eq(u64, stats.frees, 0));
    cr_assert(eq(u64, stats.native_allocs, 0));
    cr_assert(eq(u64, stats.event_records, 0));
    cr_assert(eq(u32, stats.streams, 0));
    cr_assert(eq(u32, stats.threads, 0));
}

Test(stats, tell_the_tiers_apart)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();

    pool_use(KIB(4), stream);  /* grows */
    pool_use(KIB(4), stream);  /* L1 */
    pool_use(KIB(8), stream);  /* L2: the same segment */
    pool_use(MIB(16), stream); /* grows */
    pool_use(MIB(16), stream); /* L2 */
    pool_settle();
    pool_use(MIB(16), other); /* another stream's */

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.requests, 6));
    cr_assert(eq(u64, stats.frees, 6));
    cr_assert(eq(u64, stats.l1_hits, 1));
    cr_assert(eq(u64, stats.l2_hits, 2));
    cr_assert(eq(u64, stats.shared_hits, 1));
    cr_assert(eq(u64, stats.shared_waits, 0));
    cr_assert(eq(u64, stats.native_allocs, 2));
    cr_assert(eq(u64, stats.native_allocs, gp_sim_call_count(GP_SIM_FN_MALLOC)));
    cr_assert(eq(u64, stats.event_records, gp_sim_call_count(GP_SIM_FN_EVENT_RECORD)));
    cr_assert(
        eq(u64, stats.event_queries,
           gp_sim_call_count(GP_SIM_FN_EVENT_QUERY) + gp_sim_call_count(GP_SIM_FN_STREAM_QUERY)));
    cr_assert(eq(u64, stats.stream_waits, gp_sim_call_count(GP_SIM_FN_STREAM_WAIT)));
    cr_assert(eq(u32, stats.streams, 2));
    cr_assert(eq(u32, stats.threads, 2));
}

Test(stats, count_a_wait_for_shared_memory)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(busy);
    pool_use(MIB(16), busy);

    pool_use(MIB(16), other);

    cr_assert(eq(u64, pool_stats().shared_hits, 1));
    cr_assert(eq(u64, pool_stats().shared_waits, 1));
    cr_assert(eq(u64, pool_stats().stream_waits, 1));
    pool_open_gate(gate);
}

Test(stats, failures_count_as_requests)
{
    cudaStream_t stream = pool_stream();
    void *none = NULL;

    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(8), pool, stream));

    cr_assert(eq(u64, pool_stats().requests, 1));
    cr_assert(eq(u64, pool_stats().failures, 1));
    cr_assert(eq(u64, pool_stats().live_blocks, 0));
}

Test(stats, pending_bytes_are_those_behind_a_fence)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(MIB(4), home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_write(block, MIB(4), user);
    GP(gp_record_use(block, user));
    pool_free(block, home);
    cr_assert(eq(u64, pool_stats().pending_bytes, MIB(4)));

    pool_open_gate(gate);
    pool_settle();
    pool_use(MIB(4), home);

    cr_assert(eq(u64, pool_stats().pending_bytes, 0));
}

/* ---- fragmentation and idle memory ---- */

Test(stats, rounding_shows_as_internal_fragmentation)
{
    cudaStream_t stream = pool_attached_stream();
    cr_assert(eq(dbl, pool_stats().internal_fragmentation, 0.0));
    void *small = pool_alloc(512, stream);
    cr_assert(eq(dbl, pool_stats().internal_fragmentation, 0.0));
    void *large = pool_alloc(MIB(1) - KIB(16), stream);

    const double given = (double)(MIB(1) + 512);
    cr_assert(epsilon_eq(dbl, pool_stats().internal_fragmentation, (double)KIB(16) / given, 1e-9));
    pool_free(small, stream);
    pool_free(large, stream);
}

Test(stats, free_memory_in_pieces_shows_as_external_fragmentation)
{
    void *blocks[4];
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    for (int i = 0; i < 4; i++)
        blocks[i] = pool_alloc(MIB(16), stream);
    cr_assert(eq(dbl, pool_stats().external_fragmentation, 0.0));

    pool_free(blocks[0], stream);
    pool_free(blocks[2], stream);

    cr_assert(eq(u64, pool_stats().largest_free_bytes, MIB(16)));
    cr_assert(eq(dbl, pool_stats().external_fragmentation, 0.5));
    cr_assert(eq(dbl, pool_stats().idle_share, 0.5));
    pool_free(blocks[1], stream);
    pool_free(blocks[3], stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, GIB(1))); /* nothing goes, but all of it is joined */
    cr_assert(eq(dbl, pool_stats().external_fragmentation, 0.0));
    cr_assert(eq(dbl, pool_stats().idle_share, 1.0));
}

Test(stats, free_pieces_that_a_busy_stream_keeps_count_too)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    pool_use(KIB(512), other);
    gp_sim_gate gate = pool_close_gate(busy);

    pool_use(MIB(4), busy); /* kept whole */
    cr_assert(eq(u64, pool_stats().largest_free_bytes, MIB(4)));
    pool_use(MIB(24), busy); /* joined */
    cr_assert(eq(u64, pool_stats().largest_free_bytes, MIB(24)));

    pool_open_gate(gate);
}

/* 64 MiB idle in the commons, of which `used` is taken and given back now. */
static void look_after(uint64_t ns, size_t used, cudaStream_t stream)
{
    gp_sim_advance(ns);
    if (used > 0)
        pool_use(used, stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, GIB(1)));
}

Test(stats, memory_that_nobody_takes_ages)
{
    const uint64_t second = 1000000000;
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(64);
    pool_reopen(NULL, &config);
    cudaStream_t stream = pool_attached_stream();
    look_after(0, MIB(64), stream);
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[0], 0));

    look_after(second, 0, stream); /* ends the window in which it was used */
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[0], 0));
    look_after(second, 0, stream);
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[0], MIB(64)));
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[1], 0));
    for (int i = 0; i < 4; i++)
        look_after(second, MIB(16), stream);

    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[0], MIB(48)));
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[1], MIB(48)));
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[2], 0));
    look_after(second, 0, stream);
    look_after(second, 0, stream);
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[0], MIB(64)));
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[1], MIB(48)));
    look_after(100 * second, 0, stream); /* nobody looked for long */
    cr_assert(eq(u64, pool_stats().idle_bytes_by_age[3], MIB(64)));
}

/* ---- peaks ---- */

Test(stats, peak_of_live_bytes_is_exact_with_one_thread)
{
    cudaStream_t stream = pool_attached_stream();
    void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = pool_alloc(KIB(8), stream);
    for (int i = 0; i < 100; i++)
        pool_free(blocks[i], stream);
    for (int i = 0; i < 50; i++)
        blocks[i] = pool_alloc(KIB(8), stream);

    cr_assert(eq(u64, pool_stats().live_bytes_high, 100 * KIB(8)));
    for (int i = 0; i < 50; i++)
        pool_free(blocks[i], stream);
}

Test(stats, peaks_start_anew_from_the_present)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(MIB(64), stream);
    void *held = pool_alloc(MIB(2), stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    GP(gp_pool_reset_peak(pool));

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.live_bytes_high, MIB(2)));
    cr_assert(eq(u64, stats.reserved_bytes_high, stats.reserved_bytes));
    cr_assert(eq(u64, stats.native_reserved_bytes_high, stats.native_reserved_bytes));
    pool_free(held, stream);
    cr_assert(eq(u64, pool_stats().live_bytes_high, MIB(2)));
}

static void hold_and_free(void *stream)
{
    pool_use(KIB(512), (cudaStream_t)stream);
}

Test(stats, of_threads_that_ended_are_kept)
{
    cudaStream_t stream = pool_attached_stream();

    for (int i = 0; i < 5; i++)
        pool_in_thread(hold_and_free, stream);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.requests, 5));
    cr_assert(eq(u64, stats.frees, 5));
    cr_assert(eq(u32, stats.threads, 0));
    cr_assert(ge(u64, stats.live_bytes_high, KIB(512)));
}

/* Host memory of gp stays small beside the memory it looks after. */
Test(stats, metadata_is_at_most_one_percent_of_reserved_bytes)
{
    cudaStream_t stream = pool_attached_stream();
    static void *blocks[20000];
    for (int i = 0; i < 20000; i++)
        blocks[i] = pool_alloc(KIB(4), stream);

    gp_pool_stats stats = pool_stats();

    cr_assert(le(u64, stats.metadata_bytes, stats.reserved_bytes / 100 + KIB(256)), "%llu of %llu",
              (unsigned long long)stats.metadata_bytes, (unsigned long long)stats.reserved_bytes);
    for (int i = 0; i < 20000; i++)
        pool_free(blocks[i], stream);
}

/* ---- against a model: C86 ---- */

enum { HELD = 64 };

typedef struct model {
    uint64_t requests, frees, live_bytes, live_blocks, high;
    void *blocks[HELD];
} model;

static void step(model *expected, cudaStream_t stream)
{
    int at = rand() % HELD;
    size_t usable = 0;
    if (expected->blocks[at] != NULL) {
        GP(gp_usable_size(expected->blocks[at], &usable));
        pool_free(expected->blocks[at], stream);
        expected->blocks[at] = NULL;
        expected->frees++;
        expected->live_blocks--;
        expected->live_bytes -= usable;
        return;
    }
    size_t bytes = (size_t)1 << rand() % 22;
    expected->blocks[at] = pool_alloc(bytes + (size_t)rand() % bytes, stream);
    GP(gp_usable_size(expected->blocks[at], &usable));
    expected->requests++;
    expected->live_blocks++;
    expected->live_bytes += usable;
    if (expected->live_bytes > expected->high)
        expected->high = expected->live_bytes;
}

static void misbehave(cudaStream_t stream)
{
    void *none = NULL;
    FAILS(GP_ERR_SIZE_OVERFLOW, gp_alloc_from_pool_async(&none, SIZE_MAX, pool, stream));
    FAILS(GP_ERR_NOT_OWNED, gp_free_async((void *)(uintptr_t)4096, stream));
    GP(gp_alloc_from_pool_async(&none, 0, pool, stream));
    GP(gp_free_async(NULL, stream));
}

Test(stats, agree_with_a_model_through_a_long_random_run)
{
    cudaStream_t streams[3] = {pool_attached_stream(), pool_stream(), pool_attached_stream()};
    model expected = {0};
    srand(42);

    for (int i = 0; i < 30000; i++) {
        step(&expected, streams[rand() % 3]);
        if (i % 500 != 0)
            continue;
        misbehave(streams[1]);
        if (i % 3000 == 0)
            GP(gp_pool_trim_to(pool, MIB(16)));
        gp_pool_stats stats = pool_stats();
        cr_assert(eq(u64, stats.requests, expected.requests));
        cr_assert(eq(u64, stats.frees, expected.frees));
        cr_assert(eq(u64, stats.live_blocks, expected.live_blocks));
        cr_assert(eq(u64, stats.live_bytes, expected.live_bytes));
        cr_assert(eq(u64, stats.live_bytes_high, expected.high));
        cr_assert(eq(u64,
                     stats.l1_hits + stats.l2_hits + stats.shared_hits +
                         (stats.requests - stats.l1_hits - stats.l2_hits - stats.shared_hits),
                     stats.requests));
        GP(gp_pool_check(pool));
    }
}

/* ---- the walk ---- */

typedef struct walk_sum {
    uint64_t segments, live, cached, live_bytes, segment_bytes;
    const void *last_segment;
    int stop_after;
} walk_sum;

static bool add_entry(const gp_walk_entry *entry, void *user)
{
    walk_sum *sum = user;
    if (entry->kind == GP_WALK_SEGMENT) {
        cr_assert(le(u64, (uintptr_t)sum->last_segment, (uintptr_t)entry->address));
        sum->last_segment = entry->address;
        sum->segments++;
        /* What a stream holds lies inside what the pool holds for all of them. */
        sum->segment_bytes += entry->stream_id == 0 ? entry->bytes : 0;
    } else if (entry->kind == GP_WALK_LIVE) {
        sum->live++;
        sum->live_bytes += entry->bytes;
    } else {
        sum->cached++;
    }
    return --sum->stop_after != 0;
}

Test(stats, walk_finds_every_segment_and_block)
{
    cudaStream_t stream = pool_attached_stream();
    (void)pool_alloc(KIB(1), stream);
    (void)pool_alloc(KIB(100), stream);
    (void)pool_alloc(MIB(7), stream);
    pool_use(KIB(2), stream);
    walk_sum sum = {.stop_after = -1};

    GP(gp_pool_walk(pool, add_entry, &sum));

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, sum.live, 3));
    cr_assert(eq(u64, sum.live_bytes, stats.live_bytes));
    cr_assert(ge(u64, sum.cached, 1));
    cr_assert(eq(u64, sum.segment_bytes, stats.reserved_bytes));
}

Test(stats, walk_ends_when_the_visitor_says_so)
{
    cudaStream_t stream = pool_attached_stream();
    for (int i = 0; i < 10; i++)
        (void)pool_alloc(KIB(64), stream);
    walk_sum sum = {.stop_after = 3};

    GP(gp_pool_walk(pool, add_entry, &sum));

    cr_assert(eq(u64, sum.segments + sum.live + sum.cached, 3));
}
