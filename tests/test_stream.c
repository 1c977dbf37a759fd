/* Streams: who they are, whatever their handle says, and what attaching promises. */
#include "pool_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

TestSuite(stream, .init = pool_open, .fini = pool_close);

/* ---- identity ---- */

/* C11: the driver issues the handle of a destroyed stream again at once. The new stream
 * must not find the old one's memory as its own. */
static void reissue(size_t bytes)
{
    cudaStream_t old = pool_stream();
    gp_sim_gate gate = pool_close_gate(old);
    void *first = pool_alloc(bytes, old);
    pool_write(first, bytes, old);
    pool_free(first, old);
    pool_drop_stream(old);
    cudaStream_t new = pool_stream();
    cr_assert(eq(ptr, (void *)new, (void *)old), "the handle was not issued again");

    void *second = pool_alloc(bytes, new);
    pool_write(second, bytes, new);

    pool_open_gate(gate);
    pool_settle();
    pool_free(second, new);
    pool_drop_stream(new);
}

Test(stream, that_got_the_handle_of_a_destroyed_one_is_another)
{
    static const size_t sizes[] = {512, KIB(300), MIB(1), MIB(16)};
    for (int i = 0; i < 4; i++)
        reissue(sizes[i]);
}

Test(stream, that_got_the_handle_of_a_detached_one_is_another)
{
    for (size_t bytes = 512; bytes <= MIB(32); bytes *= 8) {
        cudaStream_t old = pool_attached_stream();
        gp_sim_gate gate = pool_close_gate(old);
        pool_use(bytes, old);
        GP(gp_stream_detach(pool, old));
        pool_drop_stream(old);
        cudaStream_t new = pool_stream();
        cr_assert(eq(ptr, (void *)new, (void *)old));

        void *block = pool_alloc(bytes, new);
        pool_write(block, bytes, new);

        pool_open_gate(gate);
        pool_settle();
        pool_free(block, new);
        pool_drop_stream(new);
    }
}

/* C11, second part: the new stream is on another device. */
Test(stream, with_a_reissued_handle_on_another_device_is_of_that_device)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_count = 2;
    pool_reopen(&machine, &config);
    cudaStream_t old = pool_stream();
    pool_use(KIB(4), old);
    pool_drop_stream(old);
    SIM(gp_sim_set_device(1));
    cudaStream_t new = pool_stream();
    SIM(gp_sim_set_device(0));
    cr_assert(eq(ptr, (void *)new, (void *)old));

    void *none = NULL;
    FAILS(GP_ERR_WRONG_DEVICE, gp_alloc_from_pool_async(&none, KIB(4), pool, new));
}

Test(stream, null_and_legacy_are_one)
{
    cr_assert(eq(u64, pool_stream_id(NULL), pool_stream_id(GP_SIM_STREAM_LEGACY)));
    void *block = pool_alloc(MIB(4), NULL);
    pool_write(block, MIB(4), NULL);
    pool_free(block, GP_SIM_STREAM_LEGACY);

    void *again = pool_alloc(MIB(4), GP_SIM_STREAM_LEGACY);

    cr_assert(eq(ptr, again, block));
    cr_assert(eq(u32, pool_stats().streams, 1));
    pool_free(again, NULL);
}

/* C17: one handle value, another stream in each thread. */
static void write_on_own_stream(void *unused)
{
    (void)unused;
    void *block = pool_alloc(MIB(8), GP_SIM_STREAM_PER_THREAD);
    pool_write(block, MIB(8), GP_SIM_STREAM_PER_THREAD);
    pool_free(block, GP_SIM_STREAM_PER_THREAD);
    block = pool_alloc(KIB(8), GP_SIM_STREAM_PER_THREAD);
    pool_write(block, KIB(8), GP_SIM_STREAM_PER_THREAD);
    pool_free(block, GP_SIM_STREAM_PER_THREAD);
}

Test(stream, per_thread_handle_means_another_stream_in_each_thread)
{
    gp_sim_gate gate = pool_close_gate(GP_SIM_STREAM_PER_THREAD);
    write_on_own_stream(NULL);

    pool_in_thread(write_on_own_stream, NULL);
    pool_in_thread(write_on_own_stream, NULL);

    cr_assert(ge(u32, pool_stats().streams, 2));
    pool_open_gate(gate);
}

static void free_on_own_stream(void *block)
{
    pool_free(block, GP_SIM_STREAM_PER_THREAD);
}

Test(stream, per_thread_handle_may_free_what_another_thread_allocated_on_its_own)
{
    void *block = pool_alloc(KIB(64), GP_SIM_STREAM_PER_THREAD);
    pool_write(block, KIB(64), GP_SIM_STREAM_PER_THREAD);
    SIM(gp_sim_stream_synchronize(GP_SIM_STREAM_PER_THREAD));

    pool_in_thread(free_on_own_stream, block);

    void *next = pool_alloc(KIB(64), GP_SIM_STREAM_PER_THREAD);
    pool_write(next, KIB(64), GP_SIM_STREAM_PER_THREAD);
    pool_free(next, GP_SIM_STREAM_PER_THREAD);
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

/* ---- attach ---- */

Test(stream, attached_twice_is_attached_once)
{
    cudaStream_t stream = pool_attached_stream();

    GP(gp_stream_attach(pool, stream));
    GP(gp_stream_detach(pool, stream));

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_stream_detach(pool, stream));
}

Test(stream, per_thread_handle_cannot_be_attached)
{
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_stream_attach(pool, GP_SIM_STREAM_PER_THREAD));
}

Test(stream, that_captures_cannot_be_attached)
{
    cudaStream_t stream = pool_stream();
    gp_sim_graph graph = NULL;
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_RELAXED));

    FAILS(GP_ERR_CAPTURE, gp_stream_attach(pool, stream));

    SIM(gp_sim_end_capture(stream, &graph));
    SIM(gp_sim_graph_destroy(graph));
    GP(gp_stream_attach(pool, stream));
}

Test(stream, legacy_stream_can_be_attached)
{
    GP(gp_stream_attach(pool, NULL));
    pool_use(KIB(64), NULL);
    pool_use(KIB(64), GP_SIM_STREAM_LEGACY);
    GP(gp_stream_detach(pool, NULL));
    pool_use(KIB(64), NULL);
}

Test(stream, may_be_attached_to_one_pool_and_checked_by_another)
{
    gp_pool_config config = pool_config();
    gp_pool *second = NULL;
    GP(gp_pool_create(&second, &config));
    cudaStream_t stream = pool_attached_stream();

    for (int i = 0; i < 3; i++) {
        void *block = NULL;
        GP(gp_alloc_from_pool_async(&block, KIB(4), second, stream));
        pool_use(KIB(4), stream);
        pool_write(block, KIB(4), stream);
        pool_free(block, stream);
    }

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_stream_detach(second, stream));
    GP(gp_pool_check(second));
    GP(gp_pool_destroy(second));
}

Test(stream, attached_serves_hits_to_every_thread_without_the_driver)
{
    cudaStream_t stream = pool_attached_stream();
    pool_use(KIB(64), stream);
    uint64_t before = gp_sim_call_count(GP_SIM_FN_STREAM_GET_ID) +
                      gp_sim_call_count(GP_SIM_FN_STREAM_IS_CAPTURING);

    for (int i = 0; i < 100; i++)
        pool_free(pool_alloc(KIB(64), stream), stream);

    cr_assert(eq(u64,
                 gp_sim_call_count(GP_SIM_FN_STREAM_GET_ID) +
                     gp_sim_call_count(GP_SIM_FN_STREAM_IS_CAPTURING),
                 before));
}

/* ---- detach ---- */

Test(stream, detached_leaves_its_idle_memory_to_others)
{
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    void *small = pool_alloc(KIB(512), first);
    pool_use(MIB(12), first);
    pool_free(small, first);
    uint64_t allocs = pool_stats().native_allocs;

    GP(gp_stream_detach(pool, first));
    pool_settle();
    pool_use(KIB(512), second);
    pool_use(MIB(12), second);

    cr_assert(eq(u64, pool_stats().native_allocs, allocs));
}

Test(stream, detached_leaves_live_blocks_valid)
{
    cudaStream_t first = pool_attached_stream();
    cudaStream_t second = pool_attached_stream();
    void *small = pool_alloc(KIB(2), first);
    void *large = pool_alloc(MIB(12), first);
    pool_write(small, KIB(2), first);
    pool_order(first, second);

    GP(gp_stream_detach(pool, first));
    pool_drop_stream(first);

    pool_write(small, KIB(2), second);
    pool_write(large, MIB(12), second);
    cr_assert(eq(u64, pool_stats().live_blocks, 2));
    pool_free(small, second);
    pool_free(large, second);
    pool_settle();
}

Test(stream, detached_is_checked_again)
{
    cudaStream_t stream = pool_attached_stream();
    GP(gp_stream_detach(pool, stream));
    pool_use(KIB(4), stream);
    uint64_t ids = gp_sim_call_count(GP_SIM_FN_STREAM_GET_ID);

    pool_use(KIB(4), stream);

    cr_assert(lt(u64, ids, gp_sim_call_count(GP_SIM_FN_STREAM_GET_ID)));
}

static void fill_own_cache(void *stream)
{
    for (size_t bytes = 512; bytes <= KIB(512); bytes *= 2)
        pool_use(bytes, (cudaStream_t)stream);
}

typedef struct keeper {
    cudaStream_t stream;
    atomic_int stage; /* 1: its cache is full; 2: it may go on */
} keeper;

static void *keep_then_use(void *started)
{
    keeper *self = started;
    fill_own_cache(self->stream);
    atomic_store(&self->stage, 1);
    while (atomic_load(&self->stage) != 2) {
    }
    return NULL;
}

Test(stream, detach_flushes_the_caches_of_threads_that_live_on)
{
    pthread_t thread;
    keeper other = {.stream = pool_attached_stream()};
    cr_assert(eq(int, pthread_create(&thread, NULL, keep_then_use, &other), 0));
    while (atomic_load(&other.stage) != 1) {
    }
    cr_assert(lt(u64, 0, pool_stats().l1_cached_bytes));

    GP(gp_stream_detach(pool, other.stream));

    cr_assert(eq(u64, pool_stats().l1_cached_bytes, 0));
    cr_assert(eq(u32, pool_stats().threads, 0));
    atomic_store(&other.stage, 2);
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
}

/* ---- many streams ---- */

/* C15: each call made a stream of its own and left its memory with it. */
static void one_stream_a_request(int attached, int destroyed)
{
    gp_pool_config config = pool_config();
    config.max_bytes = GIB(3);
    pool_reopen(NULL, &config);
    for (int i = 0; i < 64; i++) {
        cudaStream_t stream = attached ? pool_attached_stream() : pool_stream();
        pool_use(GIB(1), stream);
        SIM(gp_sim_stream_synchronize(stream));
        if (destroyed && attached)
            GP(gp_stream_detach(pool, stream));
        if (destroyed)
            pool_drop_stream(stream);
    }
    cr_assert(le(u64, pool_stats().reserved_bytes_high, GIB(2)));
}

Test(stream, of_its_own_for_each_request_does_not_strand_memory)
{
    one_stream_a_request(0, 0);
    one_stream_a_request(0, 1);
    one_stream_a_request(1, 0);
    one_stream_a_request(1, 1);
}

/* C16: events and table entries of short-lived streams must not pile up. */
Test(stream, attached_and_detached_by_the_thousand_leaves_nothing_behind)
{
    for (int i = 0; i < 100; i++) {
        cudaStream_t stream = pool_attached_stream();
        pool_use(KIB(4), stream);
        GP(gp_stream_detach(pool, stream));
        pool_drop_stream(stream);
    }
    gp_pool_stats early = pool_stats();
    size_t events = gp_sim_live_events();

    for (int i = 0; i < 3000; i++) {
        cudaStream_t stream = pool_attached_stream();
        pool_use(KIB(4), stream);
        GP(gp_stream_detach(pool, stream));
        pool_drop_stream(stream);
    }

    gp_pool_stats late = pool_stats();
    cr_assert(le(sz, gp_sim_live_events(), events + 4));
    cr_assert(le(u64, late.metadata_bytes, early.metadata_bytes + KIB(64)));
    cr_assert(le(u64, late.reserved_bytes, MIB(8)));
    cr_assert(eq(u32, late.streams, 0));
}

Test(stream, by_the_hundred_each_has_its_own_memory)
{
    cudaStream_t streams[300];
    void *blocks[300];
    for (int i = 0; i < 300; i++) {
        streams[i] = i % 2 ? pool_attached_stream() : pool_stream();
        blocks[i] = pool_alloc(KIB(4), streams[i]);
        pool_write(blocks[i], KIB(4), streams[i]);
    }
    for (int i = 0; i < 300; i++)
        pool_free(blocks[i], streams[i]);
    for (int i = 0; i < 300; i++)
        pool_use(KIB(4), streams[299 - i]);

    cr_assert(eq(u32, pool_stats().streams, 300));
}
