/* Sharing: what one stream may do with memory that lies idle on another. */
#include "pool_fixture.h"

TestSuite(share, .init = pool_open, .fini = pool_close);

static void share_in_mode(gp_share_mode mode)
{
    gp_pool_config config = pool_config();
    config.share = mode;
    pool_reopen(NULL, &config);
}

Test(share, completed_memory_serves_another_stream_before_the_pool_grows)
{
    for (int mode = GP_SHARE_WAIT; mode <= GP_SHARE_COMPLETED; mode++) {
        share_in_mode((gp_share_mode)mode);
        cudaStream_t first = pool_attached_stream();
        cudaStream_t second = pool_attached_stream();
        pool_use(MIB(24), first);
        SIM(gp_sim_stream_synchronize(first));

        pool_use(MIB(24), second);

        gp_pool_stats stats = pool_stats();
        cr_assert(eq(u64, stats.native_allocs, 1));
        cr_assert(eq(u64, stats.shared_hits, 1));
        cr_assert(eq(u64, stats.stream_waits, 0), "completed memory needs no wait");
    }
}

Test(share, pending_memory_serves_another_stream_behind_a_wait)
{
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(first);
    pool_use(MIB(24), first);

    pool_use(MIB(24), second);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.native_allocs, 1));
    cr_assert(eq(u64, stats.shared_waits, 1));
    pool_open_gate(gate);
}

/* Shorter than what is joined at once: it is kept whole. */
Test(share, block_that_a_busy_stream_keeps_whole_serves_another_behind_a_wait)
{
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(first);
    pool_use(MIB(4), first);

    pool_use(MIB(4), second);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.native_allocs, 1));
    cr_assert(eq(u64, stats.shared_waits, 1));
    pool_open_gate(gate);
}

/* C81: no stream is made to wait for a slower one. */
Test(share, pending_memory_is_left_alone_where_waits_are_not_allowed)
{
    share_in_mode(GP_SHARE_COMPLETED);
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(first);
    pool_use(MIB(24), first);

    pool_use(MIB(24), second);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.native_allocs, 2));
    cr_assert(eq(u64, stats.stream_waits, 0));
    pool_open_gate(gate);
}

/* A call on a stream's handle takes long while its own threads queue work there. */
Test(share, busy_stream_says_by_its_own_fences_how_far_it_has_come)
{
    share_in_mode(GP_SHARE_COMPLETED);
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(busy);
    pool_use(MIB(24), busy);
    void *grown = pool_alloc(MIB(24), other); /* Finds it busy. */
    pool_use(KIB(4), busy);                   /* Leaves a fence. */
    pool_open_gate(gate);
    SIM(gp_sim_stream_synchronize(busy));
    gate = pool_close_gate(busy);
    pool_use(KIB(4), busy);
    const gp_pool_stats before = pool_stats();
    const uint64_t queries = gp_sim_call_count(GP_SIM_FN_STREAM_QUERY);

    void *shared = pool_alloc(MIB(24), other);

    cr_assert(eq(u64, pool_stats().native_allocs, before.native_allocs));
    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_STREAM_QUERY), queries));
    pool_open_gate(gate);
    pool_free(grown, other);
    pool_free(shared, other);
}

Test(share, stream_that_nobody_asks_about_any_more_leaves_no_fences)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(busy);
    pool_use(MIB(24), busy);
    pool_use(MIB(24), other); /* Finds it busy. */
    pool_open_gate(gate);
    const uint64_t none = gp_sim_call_count(GP_SIM_FN_EVENT_RECORD);
    for (int i = 0; i < 40; i++)
        pool_use(MIB(2), busy);
    const uint64_t owed = gp_sim_call_count(GP_SIM_FN_EVENT_RECORD);

    for (int i = 0; i < 40; i++)
        pool_use(MIB(2), busy);

    cr_assert(lt(u64, none, owed), "it left none at all");
    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_EVENT_RECORD), owed));
}

Test(share, completed_memory_comes_before_pending_memory)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t done = pool_attached_stream();
    cudaStream_t third = pool_attached_stream();
    void *used = pool_alloc(MIB(24), busy);
    void *idle = pool_alloc(MIB(24), done);
    gp_sim_gate gate = pool_close_gate(busy);
    pool_write(used, MIB(24), busy);
    pool_free(used, busy);
    pool_write(idle, MIB(24), done);
    pool_free(idle, done);
    SIM(gp_sim_stream_synchronize(done));

    void *block = pool_alloc(MIB(24), third);

    cr_assert(eq(ptr, block, idle));
    cr_assert(eq(u64, pool_stats().shared_waits, 0));
    pool_open_gate(gate);
    pool_free(block, third);
}

Test(share, never_means_that_each_stream_keeps_what_it_used)
{
    share_in_mode(GP_SHARE_NEVER);
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    pool_use(MIB(24), first);
    pool_settle();

    pool_use(MIB(24), second);
    pool_use(KIB(4), first);
    pool_use(KIB(4), second);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.shared_hits, 0));
    cr_assert(eq(u64, stats.native_allocs, 4));
}

/* C81: with fresh memory at hand a fast stream need not wait for a slow one; the order
 * of gp is to share first, so the wait is at least counted. */
Test(share, every_wait_is_counted)
{
    cudaStream_t slow = pool_attached_stream();
    cudaStream_t fast = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(slow);
    for (int i = 0; i < 6; i++)
        pool_use(MIB(8) << (i % 3), slow);

    for (int i = 0; i < 6; i++)
        pool_use(MIB(8) << (i % 3), fast);

    cr_assert(eq(u64, pool_stats().stream_waits, gp_sim_call_count(GP_SIM_FN_STREAM_WAIT)));
    pool_open_gate(gate);
}

Test(share, small_blocks_of_a_quiet_stream_make_room_for_a_large_one_elsewhere)
{
    gp_pool_config config = pool_config();
    config.max_bytes = MIB(32);
    pool_reopen(NULL, &config);
    cudaStream_t quiet = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    static void *blocks[480];
    for (int i = 0; i < 480; i++)
        blocks[i] = pool_alloc(KIB(64), quiet);
    for (int i = 0; i < 480; i++)
        pool_free(blocks[i], quiet);
    SIM(gp_sim_stream_synchronize(quiet));

    pool_use(MIB(28), other);

    cr_assert(le(u64, pool_stats().reserved_bytes_high, MIB(32)));
}

/* ---- large blocks of a busy stream ---- */

Test(share, large_memory_of_a_busy_stream_is_cut_for_another_behind_a_wait)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(busy);
    char *all = pool_alloc(MIB(24), busy);
    pool_write(all, MIB(24), busy);
    pool_free(all, busy);

    char *cut = pool_alloc(MIB(5), other);
    pool_write(cut, MIB(5), other);
    char *rest = pool_alloc(MIB(19), busy);
    pool_write(rest, MIB(19), busy);

    cr_assert(cut >= all && cut + MIB(5) <= all + MIB(24));
    cr_assert(rest >= all && rest + MIB(19) <= all + MIB(24));
    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    cr_assert(eq(u64, pool_stats().shared_waits, 1));
    cr_assert(eq(u64, pool_stats().stream_waits, 1));
    pool_free(cut, other);
    pool_free(rest, busy);
    GP(gp_pool_check(pool));
    pool_open_gate(gate);
    pool_settle();
    cr_assert(eq(ptr, pool_alloc(MIB(24), other), all), "what was cut is joined again");
    pool_free(all, other);
}

Test(share, large_memory_stays_where_it_is_when_its_wait_cannot_be_queued)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(busy);
    char *all = pool_alloc(MIB(24), busy);
    pool_write(all, MIB(24), busy);
    pool_free(all, busy);
    gp_sim_fail(GP_SIM_FN_STREAM_WAIT, 1, 3, 999); /* It is tried twice more before growth. */

    char *grown = pool_alloc(MIB(5), other);
    pool_write(grown, MIB(5), other);
    GP(gp_pool_check(pool));

    cr_assert(grown >= all + MIB(24) || grown + MIB(5) <= all);
    cr_assert(eq(u64, pool_stats().shared_waits, 0));
    cr_assert(eq(ptr, pool_alloc(MIB(24), busy), all), "the part that was cut off came back");
    pool_free(all, busy);
    pool_free(grown, other);
    pool_open_gate(gate);
}

/* ---- blocks with recorded uses ---- */

/* Two fences: of the use, and of the stream that frees. Whichever cannot be waited for. */
Test(share, used_block_is_neither_lent_nor_lost_when_a_wait_for_it_cannot_be_queued)
{
    for (uint64_t failing = 1; failing <= 2; failing++) {
        share_in_mode(GP_SHARE_WAIT);
        cudaStream_t home = pool_attached_stream();
        cudaStream_t user = pool_attached_stream();
        cudaStream_t third = pool_attached_stream();
        void *block = pool_alloc(MIB(6), home);
        pool_order(home, user);
        gp_sim_gate gates[2] = {pool_close_gate(user), pool_close_gate(home)};
        pool_read(block, MIB(6), user);
        pool_read(block, MIB(6), home);
        GP(gp_record_use(block, user));
        pool_free(block, home);
        gp_sim_fail(GP_SIM_FN_STREAM_WAIT, failing, 3, 999); /* It is tried again before growth. */

        void *grown = pool_alloc(MIB(6), third);
        gp_sim_fail(GP_SIM_FN_STREAM_WAIT, 1, 0, 0);
        pool_write(grown, MIB(6), third);
        GP(gp_pool_check(pool));
        void *lent = pool_alloc(MIB(6), third);
        pool_write(lent, MIB(6), third);
        GP(gp_pool_check(pool));

        cr_assert(ne(ptr, grown, block));
        cr_assert(eq(ptr, lent, block));
        cr_assert(eq(u64, pool_stats().native_allocs, 2));
        cr_assert(eq(u64, pool_stats().shared_waits, 1));
        pool_open_gate(gates[failing - 1]);
        pool_open_gate(gates[2 - failing]);
        pool_settle();
        pool_free(grown, third);
        pool_free(lent, third);
    }
}

/* ---- chunks ---- */

enum { SMALL_BLOCKS = 64, CHUNKS = SMALL_BLOCKS / 4 };

static void write_small_blocks(void *blocks[SMALL_BLOCKS], cudaStream_t stream)
{
    for (int i = 0; i < SMALL_BLOCKS; i++) {
        blocks[i] = pool_alloc(KIB(512), stream);
        pool_write(blocks[i], KIB(512), stream);
    }
}

static void free_small_blocks(void *blocks[SMALL_BLOCKS], cudaStream_t stream)
{
    for (int i = 0; i < SMALL_BLOCKS; i++)
        pool_free(blocks[i], stream);
    GP(gp_pool_check(pool));
}

Test(share, freed_chunks_of_one_stream_serve_another)
{
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        share_in_mode(GP_SHARE_WAIT);
        cudaStream_t first = pool_attached_stream();
        cudaStream_t second = pool_attached_stream();
        gp_sim_gate gate = is_busy ? pool_close_gate(first) : NULL;
        void *blocks[SMALL_BLOCKS];
        write_small_blocks(blocks, first);
        free_small_blocks(blocks, first);
        if (!is_busy)
            SIM(gp_sim_stream_synchronize(first));

        /* All but what a thread keeps of one class, and a chunk for the first stream. */
        void *others[SMALL_BLOCKS / 2];
        for (int i = 0; i < SMALL_BLOCKS / 2; i++) {
            others[i] = pool_alloc(KIB(512), second);
            pool_write(others[i], KIB(512), second);
        }

        cr_assert(eq(u64, pool_stats().native_allocs, CHUNKS));
        cr_assert(eq(u64, pool_stats().stream_waits > 0, is_busy));
        if (is_busy)
            pool_open_gate(gate);
        pool_settle();
        for (int i = 0; i < SMALL_BLOCKS / 2; i++)
            pool_free(others[i], second);
    }
}

Test(share, freed_chunks_serve_their_own_stream_again_while_it_is_busy)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    void *blocks[SMALL_BLOCKS];
    write_small_blocks(blocks, stream);
    free_small_blocks(blocks, stream);

    write_small_blocks(blocks, stream);

    cr_assert(eq(u64, pool_stats().native_allocs, CHUNKS));
    cr_assert(eq(u64, pool_stats().stream_waits, 0));
    free_small_blocks(blocks, stream);
    pool_open_gate(gate);
}
