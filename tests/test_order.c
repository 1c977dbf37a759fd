/*
 * Stream order: whatever a block's past, its next owner comes after it.
 *
 * The hazard checker looks at every access; a test has only to bring about the
 * situation. Each runs with attached and with checked streams, which learn how far
 * a stream has come in different ways.
 */
#include "pool_fixture.h"

#include <stdlib.h>

TestSuite(order, .init = pool_open, .fini = pool_close);

static cudaStream_t make_stream(int attached)
{
    return attached ? pool_attached_stream() : pool_stream();
}

/* ---- frees on another stream ---- */

/* C02: freed on a stream that waits for a third one; then asked for where it came from. */
static void free_behind_a_third_stream(int attached, size_t bytes)
{
    cudaStream_t home = make_stream(attached);
    cudaStream_t user = make_stream(attached);
    cudaStream_t collective = make_stream(attached);
    void *first = pool_alloc(bytes, home);
    pool_write(first, bytes, home);
    pool_order(home, user);
    pool_order(user, collective);
    gp_sim_gate gate = pool_close_gate(collective);
    pool_write(first, bytes, collective);
    pool_order(collective, user);

    pool_free(first, user);
    void *second = pool_alloc(bytes, home);
    pool_write(second, bytes, home);

    pool_open_gate(gate);
    pool_settle();
    pool_free(second, home);
}

Test(order, block_freed_elsewhere_waits_for_the_work_there)
{
    static const size_t sizes[] = {KIB(4), KIB(512), MIB(64)};
    for (int i = 0; i < 6; i++)
        free_behind_a_third_stream(i % 2, sizes[i / 2]);
}

/* C04, variant a: the consumer frees what the producer allocated. */
static void hand_over(int attached, size_t bytes)
{
    cudaStream_t producer = make_stream(attached);
    cudaStream_t consumer = make_stream(attached);
    void *message = pool_alloc(bytes, producer);
    pool_write(message, bytes, producer);
    pool_order(producer, consumer);
    gp_sim_gate gate = pool_close_gate(consumer);
    pool_read(message, bytes, consumer);
    pool_free(message, consumer);

    for (int i = 0; i < 4; i++) {
        void *next = pool_alloc(bytes, producer);
        pool_write(next, bytes, producer);
        pool_free(next, producer);
    }

    pool_open_gate(gate);
    pool_settle();
}

Test(order, producer_does_not_overwrite_what_the_consumer_reads)
{
    static const size_t sizes[] = {512, KIB(100), MIB(32)};
    for (int i = 0; i < 6; i++)
        hand_over(i % 2, sizes[i / 2]);
}

Test(order, block_freed_elsewhere_may_be_used_there_at_once)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(KIB(64), home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_write(block, KIB(64), user);
    pool_free(block, user);

    void *again = pool_alloc(KIB(64), user);

    cr_assert(eq(ptr, again, block));
    pool_write(again, KIB(64), user);
    pool_open_gate(gate);
    pool_free(again, user);
}

/* A fence behind which many blocks go home must be newer than every one of them. */
Test(order, blocks_go_home_in_bulk_behind_the_work_on_the_last_of_them)
{
    for (int attached = 0; attached < 2; attached++) {
        cudaStream_t home = make_stream(attached);
        cudaStream_t user = make_stream(attached);
        void *blocks[200];
        for (int i = 0; i < 200; i++)
            blocks[i] = pool_alloc(KIB(8), home);
        pool_order(home, user);
        gp_sim_gate gate = pool_close_gate(user);
        for (int i = 0; i < 200; i++) {
            pool_write(blocks[i], KIB(8), user);
            pool_free(blocks[i], user);
        }
        for (int i = 0; i < 200; i++) {
            blocks[i] = pool_alloc(KIB(8), home);
            pool_write(blocks[i], KIB(8), home);
        }
        pool_open_gate(gate);
        pool_settle();
        for (int i = 0; i < 200; i++)
            pool_free(blocks[i], home);
    }
}

/* ---- recorded uses ---- */

/* C03: the free names a stream that never waited for the use; the use was recorded. */
static void record_then_free(int attached, size_t bytes, size_t offset)
{
    cudaStream_t home = make_stream(attached);
    cudaStream_t user = make_stream(attached);
    char *block = pool_alloc(bytes, home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_write(block, bytes, user);
    /* C05: a view that starts inside the block counts for the block. */
    GP(gp_record_use(block + offset, user));

    pool_free(block, home);
    void *next = pool_alloc(bytes, home);
    pool_write(next, bytes, home);

    pool_open_gate(gate);
    pool_settle();
    pool_free(next, home);
}

Test(order, recorded_use_keeps_a_block_from_its_own_stream)
{
    static const size_t sizes[] = {KIB(2), MIB(1), MIB(16)};
    for (int i = 0; i < 6; i++) {
        record_then_free(i % 2, sizes[i / 2], 0);
        record_then_free(i % 2, sizes[i / 2], 700);
    }
}

Test(order, recorded_use_counts_up_to_the_call_only)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(MIB(4), home);
    pool_order(home, user);
    pool_read(block, MIB(4), user);
    GP(gp_record_use(block, user));
    SIM(gp_sim_stream_synchronize(user));
    gp_sim_gate gate = pool_close_gate(user); /* later work there is none of its business */

    pool_free(block, home);
    SIM(gp_sim_stream_synchronize(home));
    void *next = pool_alloc(MIB(4), home);

    cr_assert(eq(ptr, next, block));
    cr_assert(eq(u64, pool_stats().stream_waits, 0));
    pool_open_gate(gate);
    pool_free(next, home);
}

/* More streams than a batch has places for fences. */
Test(order, block_waits_for_every_stream_that_used_it)
{
    enum { USERS = 12 };
    for (int late = 0; late < USERS; late++) {
        cudaStream_t home = pool_attached_stream();
        cudaStream_t users[USERS];
        gp_sim_gate gates[USERS];
        void *block = pool_alloc(KIB(32), home);
        for (int i = 0; i < USERS; i++) {
            users[i] = make_stream(i % 2);
            pool_order(home, users[i]);
            gates[i] = pool_close_gate(users[i]);
            pool_read(block, KIB(32), users[i]);
            GP(gp_record_use(block, users[i]));
        }
        pool_free(block, home);
        for (int i = 0; i < USERS; i++) {
            if (i != late)
                pool_open_gate(gates[i]);
        }
        void *next = pool_alloc(KIB(32), home);
        pool_write(next, KIB(32), home);
        pool_open_gate(gates[late]);
        pool_settle();
        pool_free(next, home);
    }
}

Test(order, last_recorded_use_of_a_stream_is_the_one_that_counts)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(MIB(2), home);
    pool_order(home, user);
    pool_read(block, MIB(2), user);
    GP(gp_record_use(block, user));
    gp_sim_gate gate = pool_close_gate(user);
    pool_read(block, MIB(2), user);
    GP(gp_record_use(block, user));

    pool_free(block, home);
    void *next = pool_alloc(MIB(2), home);
    pool_write(next, MIB(2), home);

    pool_open_gate(gate);
    pool_settle();
    pool_free(next, home);
}

/* The next owner's uses are its own. */
Test(order, recorded_use_ends_with_the_block)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(KIB(4), home);
    pool_order(home, user);
    pool_read(block, KIB(4), user);
    GP(gp_record_use(block, user));
    pool_free(block, home);
    pool_settle();
    GP(gp_pool_trim_to(pool, SIZE_MAX));
    uint64_t remote = pool_stats().remote_frees;
    cr_assert(eq(u64, remote, 1));

    for (int i = 0; i < 50; i++)
        pool_use(KIB(4), home);

    cr_assert(eq(u64, pool_stats().remote_frees, remote));
}

/* ---- blocks that change owner ---- */

/* Rule 1, second sentence: A lends to B behind a wait, B at once to C. C's wait must
 * reach back to A's work. */
Test(order, dependency_travels_with_a_block_from_owner_to_owner)
{
    for (int attached = 0; attached < 2; attached++) {
        cudaStream_t streams[4];
        for (int i = 0; i < 4; i++)
            streams[i] = make_stream(attached);
        void *held = pool_alloc(MIB(8), streams[0]);
        gp_sim_gate gate = pool_close_gate(streams[0]);
        pool_write(held, MIB(8), streams[0]);
        pool_free(held, streams[0]);
        for (int i = 1; i < 4; i++) {
            held = pool_alloc(MIB(8), streams[i]);
            pool_write(held, MIB(8), streams[i]);
            pool_free(held, streams[i]);
        }
        pool_open_gate(gate);
        pool_settle();
    }
}

/* C56: the event that should have guarded the block could not be recorded. */
static void fail_records(gp_sim_function function)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    cudaStream_t third = pool_attached_stream();
    void *shared = pool_alloc(MIB(6), home);
    void *plain = pool_alloc(MIB(6), home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_write(shared, MIB(6), user);
    pool_write(plain, MIB(6), user);
    GP(gp_record_use(shared, third));
    gp_sim_fail(function, 1, UINT64_MAX, 999);

    GP(gp_free_async(shared, user));
    GP(gp_free_async(plain, user));
    void *first = pool_alloc(MIB(6), third);
    void *second = pool_alloc(MIB(6), home);
    gp_sim_fail(function, 0, 0, 0);
    pool_write(first, MIB(6), third);
    pool_write(second, MIB(6), home);

    void *fourth = pool_alloc(MIB(6), third);
    pool_write(fourth, MIB(6), third);
    pool_open_gate(gate);
    pool_settle();
    pool_free(first, third);
    pool_free(second, home);
    pool_free(fourth, third);
    GP(gp_pool_check(pool));
}

Test(order, block_without_a_fence_is_kept_back_when_no_event_can_be_recorded)
{
    fail_records(GP_SIM_FN_EVENT_RECORD);
}

Test(order, block_without_a_fence_is_kept_back_when_no_event_can_be_made)
{
    fail_records(GP_SIM_FN_EVENT_CREATE);
}

Test(order, memory_does_not_move_when_its_wait_cannot_be_queued)
{
    fail_records(GP_SIM_FN_STREAM_WAIT);
}

Test(order, memory_is_busy_while_its_fence_cannot_be_asked)
{
    fail_records(GP_SIM_FN_EVENT_QUERY);
}

/* What a detached stream leaves goes over to the next one; blocks of others' that were freed there
 * must not, if they could not be sent home behind a fence. */
static void detach_with_guest(uint64_t failures)
{
    cudaStream_t home = pool_stream();
    cudaStream_t user = pool_attached_stream();
    pool_use(MIB(4), user);
    void *block = pool_alloc(KIB(4), home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_write(block, KIB(4), user);
    pool_free(block, user);
    gp_sim_fail(GP_SIM_FN_EVENT_RECORD, 1, failures, 999);
    GP(gp_stream_detach(pool, user));
    gp_sim_fail(GP_SIM_FN_EVENT_RECORD, 0, 0, 0);
    pool_drop_stream(user);

    cudaStream_t next = pool_attached_stream();
    GP(gp_pool_trim_to(pool, 0));
    void *again = pool_alloc(KIB(4), home);
    pool_write(again, KIB(4), home);

    pool_open_gate(gate);
    pool_settle();
    pool_free(again, home);
    GP(gp_stream_detach(pool, next));
}

Test(order, guests_of_a_detached_stream_are_not_handed_on_without_a_fence)
{
    detach_with_guest(1);
    detach_with_guest(UINT64_MAX);
}

Test(order, block_stays_live_when_its_uses_can_be_neither_fenced_nor_waited_for)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *block = pool_alloc(KIB(4), home);
    pool_order(home, user);
    gp_sim_gate gate = pool_close_gate(user);
    pool_read(block, KIB(4), user);
    GP(gp_record_use(block, user));
    gp_pool_stats before = pool_stats();
    gp_sim_fail(GP_SIM_FN_EVENT_RECORD, 1, UINT64_MAX, 999);
    gp_sim_fail(GP_SIM_FN_STREAM_WAIT, 1, UINT64_MAX, 999);

    FAILS(GP_ERR_CUDA, gp_free_async(block, home));

    gp_sim_fail(GP_SIM_FN_EVENT_RECORD, 0, 0, 0);
    gp_sim_fail(GP_SIM_FN_STREAM_WAIT, 0, 0, 0);
    pool_expect_unchanged(&before);
    GP(gp_free_async(block, home));
    void *next = pool_alloc(KIB(4), home);
    pool_write(next, KIB(4), home);
    pool_open_gate(gate);
    pool_free(next, home);
}

/* ---- everything at once ---- */

enum { STREAMS = 5, HELD = 24, ROUNDS = 4000 };

typedef struct holding {
    void *block;
    size_t bytes;
    int stream; /* where its last use was */
} holding;

static size_t random_size(void)
{
    size_t bytes = (size_t)1 << (6 + rand() % 17);
    return bytes + (size_t)rand() % bytes;
}

static void move_to(holding *held, const cudaStream_t *streams, int to)
{
    if (held->stream != to)
        pool_order(streams[held->stream], streams[to]);
    pool_write(held->block, held->bytes, streams[to]);
    held->stream = to;
}

static void random_step(holding *held, const cudaStream_t *streams)
{
    int at = rand() % STREAMS;
    if (held->block == NULL) {
        *held = (holding){.bytes = random_size(), .stream = at};
        held->block = pool_alloc(held->bytes, streams[at]);
        pool_write(held->block, held->bytes, streams[at]);
        return;
    }
    switch (rand() % 4) {
    case 0:
        move_to(held, streams, at);
        break;
    case 1: /* read elsewhere, announced, freed where it was last written */
        if (held->stream != at)
            pool_order(streams[held->stream], streams[at]);
        pool_read(held->block, held->bytes, streams[at]);
        GP(gp_record_use(held->block, streams[at]));
        pool_free(held->block, streams[held->stream]);
        held->block = NULL;
        break;
    default:
        pool_free(held->block, streams[held->stream]);
        held->block = NULL;
        break;
    }
}

static void run_randomly(gp_share_mode share, unsigned seed)
{
    gp_pool_config config = pool_config();
    config.share = share;
    config.max_bytes = MIB(640);
    pool_reopen(NULL, &config);
    cudaStream_t streams[STREAMS];
    holding held[HELD] = {{NULL, 0, 0}};
    for (int i = 0; i < STREAMS; i++)
        streams[i] = make_stream(i % 2);
    srand(seed);

    gp_sim_gate gate = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        if (gate == NULL && rand() % 40 == 0)
            gate = pool_close_gate(streams[rand() % STREAMS]);
        random_step(&held[rand() % HELD], streams);
        if (gate != NULL && rand() % 40 == 0) {
            pool_open_gate(gate);
            gate = NULL;
        }
        if (rand() % 200 == 0)
            GP(gp_pool_trim_to(pool, MIB(32)));
        if (rand() % 500 == 0)
            GP(gp_pool_check(pool));
    }
    if (gate != NULL)
        pool_open_gate(gate);
    pool_settle();
    for (int i = 0; i < HELD; i++) {
        if (held[i].block != NULL)
            pool_free(held[i].block, streams[held[i].stream]);
    }
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

Test(order, holds_in_a_random_run_with_waits)
{
    for (unsigned seed = 1; seed <= 3; seed++)
        run_randomly(GP_SHARE_WAIT, seed);
}

Test(order, holds_in_a_random_run_with_completed_memory_only)
{
    for (unsigned seed = 4; seed <= 6; seed++)
        run_randomly(GP_SHARE_COMPLETED, seed);
}

Test(order, holds_in_a_random_run_without_sharing)
{
    run_randomly(GP_SHARE_NEVER, 7);
}
