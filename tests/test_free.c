/* Freeing: where blocks go, from any thread and on any stream. */
#include "pool_fixture.h"

TestSuite(free, .init = pool_open, .fini = pool_close);

Test(free, of_null_does_nothing_whatever_the_stream)
{
    cudaStream_t stream = pool_stream();
    gp_pool_stats before = pool_stats();

    GP(gp_free_async(NULL, stream));
    GP(gp_free_async(NULL, NULL));
    GP(gp_free_async(NULL, (cudaStream_t)(uintptr_t)0xdead0000));

    pool_expect_unchanged(&before);
}

Test(free, accepts_every_kind_of_handle)
{
    static const uintptr_t special[] = {0, 1, 2};

    for (int i = 0; i < 3; i++) {
        cudaStream_t stream = (cudaStream_t)special[i];
        pool_use(KIB(4), stream);
        pool_use(MIB(4), stream);
    }

    cr_assert(eq(u64, pool_stats().frees, 6));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

Test(free, on_another_stream_brings_the_block_back_to_its_home)
{
    cudaStream_t home = pool_attached_stream();
    cudaStream_t user = pool_attached_stream();
    void *blocks[64];
    for (int i = 0; i < 64; i++)
        blocks[i] = pool_alloc(KIB(64), home);
    uint64_t reserved = pool_stats().reserved_bytes;
    pool_order(home, user);
    for (int i = 0; i < 64; i++)
        pool_free(blocks[i], user);
    pool_settle();

    for (int i = 0; i < 64; i++)
        blocks[i] = pool_alloc(KIB(64), home);

    /* All but what a thread cache keeps of one class and what is not worth a fence. */
    gp_pool_stats stats = pool_stats();
    cr_assert(ge(u64, stats.remote_frees, 64 - (MIB(1) + KIB(256)) / KIB(64)));
    cr_assert(le(u64, stats.reserved_bytes, reserved + MIB(2)));
    for (int i = 0; i < 64; i++)
        pool_free(blocks[i], home);
}

/* C06: a free on another stream is made safe by a wait, not by polling, so that a host
 * which runs ahead needs no more memory than one which does not. */
Test(free, ahead_of_the_device_needs_no_more_memory)
{
    cudaStream_t producer = pool_attached_stream();
    cudaStream_t consumer = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(producer);

    for (int i = 0; i < 200; i++) {
        void *block = pool_alloc(MIB(64), producer);
        pool_write(block, MIB(64), producer);
        pool_order(producer, consumer);
        pool_read(block, MIB(64), consumer);
        pool_free(block, consumer);
    }

    cr_assert(le(u64, pool_stats().reserved_bytes_high, 3 * MIB(64)));
    pool_open_gate(gate);
}

typedef struct parcel {
    cudaStream_t stream;
    void *block;
} parcel;

static void free_parcel(void *argument)
{
    parcel *sent = argument;
    pool_free(sent->block, sent->stream);
}

Test(free, by_another_thread_on_the_same_stream)
{
    cudaStream_t stream = pool_attached_stream();
    parcel sent = {.stream = stream, .block = pool_alloc(KIB(16), stream)};

    pool_in_thread(free_parcel, &sent);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.live_bytes, 0));
    cr_assert(eq(u64, stats.live_blocks, 0));
    cr_assert(eq(u64, stats.frees, 1));
}

/* C18: a clean-up moved the block between caches, and the free looked where it had been. */
static void exhaust(void *unused)
{
    (void)unused;
    void *none = NULL;
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(5), pool, NULL));
}

Test(free, finds_the_block_after_all_caches_were_cleaned_up)
{
    cudaStream_t stream = pool_stream();
    void *mine = pool_alloc(256, GP_SIM_STREAM_PER_THREAD);
    parcel sent = {.stream = stream, .block = pool_alloc(256, GP_SIM_STREAM_PER_THREAD)};
    pool_use(KIB(64), GP_SIM_STREAM_PER_THREAD);

    pool_in_thread(exhaust, NULL);
    pool_free(mine, GP_SIM_STREAM_PER_THREAD);
    SIM(gp_sim_stream_synchronize(GP_SIM_STREAM_PER_THREAD));
    pool_in_thread(free_parcel, &sent);

    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

/* C55: the account is the pool's, whatever device is current. */
Test(free, while_another_device_is_current)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_count = 2;
    pool_reopen(&machine, &config);
    cudaStream_t stream = pool_stream();
    void *block = pool_alloc(MIB(100), stream);
    SIM(gp_sim_set_device(1));

    pool_free(block, stream);

    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    cr_assert(eq(int, gp_sim_get_device(), 1));
    SIM(gp_sim_set_device(0));
}

/* ---- usable size ---- */

Test(free, usable_size_is_what_the_counters_count)
{
    cudaStream_t stream = pool_stream();
    size_t total = 0;

    for (size_t bytes = 1; bytes < MIB(20); bytes = bytes * 5 + 3) {
        size_t usable = 0;
        GP(gp_usable_size(pool_alloc(bytes, stream), &usable));
        total += usable;
    }

    cr_assert(eq(u64, pool_stats().live_bytes, total));
}
