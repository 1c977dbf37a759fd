/* Threads: what they leave behind when they end, and what they do to each other. */
#include "pool_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

TestSuite(threads, .init = pool_open, .fini = pool_close);

/* ---- the end of a thread: C63 ---- */

static void fill_cache(void *stream)
{
    void *blocks[64];
    for (int i = 0; i < 64; i++)
        blocks[i] = pool_alloc(KIB(16), (cudaStream_t)stream);
    for (int i = 0; i < 64; i++)
        pool_free(blocks[i], (cudaStream_t)stream);
}

Test(threads, that_end_leave_their_blocks_to_the_next)
{
    cudaStream_t stream = pool_attached_stream();
    fill_cache(stream);
    uint64_t reserved = pool_stats().reserved_bytes;

    for (int i = 0; i < 64; i++)
        pool_in_thread(fill_cache, stream);

    gp_pool_stats stats = pool_stats();
    cr_assert(le(u64, stats.reserved_bytes, reserved + MIB(2)));
    cr_assert(eq(u32, stats.threads, 1));
    cr_assert(eq(u64, stats.frees, 65 * 64));
}

Test(threads, that_end_make_no_native_call)
{
    cudaStream_t stream = pool_attached_stream();
    uint64_t frees = gp_sim_call_count(GP_SIM_FN_FREE);
    gp_sim_gate gate = pool_close_gate(stream);

    pool_in_thread(fill_cache, stream);

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_FREE), frees));
    pool_open_gate(gate);
}

static void *live_block;

static void leave_a_live_block(void *stream)
{
    live_block = pool_alloc(KIB(64), (cudaStream_t)stream);
}

Test(threads, that_end_leave_their_live_blocks_valid)
{
    cudaStream_t stream = pool_attached_stream();

    pool_in_thread(leave_a_live_block, stream);

    cr_assert(eq(u64, pool_stats().live_blocks, 1));
    pool_write(live_block, KIB(64), stream);
    pool_free(live_block, stream);
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

typedef struct waiter {
    cudaStream_t stream;
    atomic_int stage;
} waiter;

static void *outlive_the_pool(void *started)
{
    waiter *self = started;
    fill_cache(self->stream);
    atomic_store(&self->stage, 1);
    while (atomic_load(&self->stage) != 2) {
    }
    return NULL;
}

Test(threads, may_end_after_their_pool)
{
    pthread_t thread;
    waiter self = {.stream = pool_attached_stream()};
    gp_pool_config config = pool_config();
    cr_assert(eq(int, pthread_create(&thread, NULL, outlive_the_pool, &self), 0));
    while (atomic_load(&self.stage) != 1) {
    }

    GP(gp_pool_destroy(pool));
    GP(gp_pool_create(&pool, &config));
    pool_use(KIB(16), self.stream);
    atomic_store(&self.stage, 2);
    cr_assert(eq(int, pthread_join(thread, NULL), 0));

    cr_assert(eq(u64, pool_stats().frees, 1));
}

static void *use_two_pools(void *started)
{
    waiter *self = started;
    gp_pool_config config = pool_config();
    gp_pool *second = NULL;
    void *block = NULL;
    if (gp_pool_create(&second, &config) != GP_OK)
        return NULL;
    for (int i = 0; i < 20; i++) {
        fill_cache(self->stream);
        if (gp_alloc_from_pool_async(&block, KIB(16), second, self->stream) != GP_OK ||
            gp_free_async(block, self->stream) != GP_OK)
            return NULL;
    }
    return gp_pool_destroy(second) == GP_OK ? self : NULL;
}

Test(threads, may_use_a_pool_while_another_thread_ends_another)
{
    pthread_t threads[4];
    waiter selves[4];
    for (int i = 0; i < 4; i++) {
        selves[i] = (waiter){.stream = i % 2 ? pool_attached_stream() : pool_stream()};
        cr_assert(eq(int, pthread_create(&threads[i], NULL, use_two_pools, &selves[i]), 0));
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        cr_assert(eq(int, pthread_join(threads[i], &result), 0));
        cr_assert(eq(ptr, result, (void *)&selves[i]));
    }
    cr_assert(eq(u64, pool_stats().frees, 4 * 20 * 64));
}

/* ---- one stream, many threads ---- */

enum { SHARERS = 6, ROUNDS = 3000 };

static _Atomic(void *) exchange;

static void *share_a_stream(void *stream)
{
    for (int i = 0; i < ROUNDS; i++) {
        void *block = NULL;
        size_t bytes = (size_t)512 << i % 9;
        if (gp_alloc_from_pool_async(&block, bytes, pool, (cudaStream_t)stream) != GP_OK)
            return NULL;
        /* Half of the blocks are freed by another thread than the one that took them. */
        if (i % 2 == 0)
            block = atomic_exchange(&exchange, block);
        if (gp_free_async(block, (cudaStream_t)stream) != GP_OK)
            return NULL;
    }
    return stream;
}

Test(threads, may_share_a_stream_and_free_each_others_blocks)
{
    pthread_t threads[SHARERS];
    cudaStream_t stream = pool_attached_stream();
    for (int i = 0; i < SHARERS; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, share_a_stream, stream), 0));
    for (int i = 0; i < SHARERS; i++) {
        void *result = NULL;
        cr_assert(eq(int, pthread_join(threads[i], &result), 0));
        cr_assert(eq(ptr, result, (void *)stream));
    }
    pool_free(atomic_load(&exchange), stream);

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.live_bytes, 0));
    cr_assert(eq(u64, stats.requests, SHARERS * ROUNDS));
    cr_assert(le(u64, stats.reserved_bytes, MIB(64)));
}

/* ---- growing together: C50 ---- */

static pthread_barrier_t barrier;

static void *grow_at_once(void *stream)
{
    void *block = NULL;
    (void)pthread_barrier_wait(&barrier);
    if (gp_alloc_from_pool_async(&block, KIB(64), pool, (cudaStream_t)stream) != GP_OK)
        return NULL;
    return block;
}

Test(threads, that_find_the_pool_empty_together_grow_it_once)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(64);
    pool_reopen(NULL, &config);
    pthread_t threads[16];
    void *blocks[16];
    cudaStream_t stream = pool_attached_stream();
    cr_assert(eq(int, pthread_barrier_init(&barrier, NULL, 16), 0));
    for (int i = 0; i < 16; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, grow_at_once, stream), 0));
    for (int i = 0; i < 16; i++) {
        cr_assert(eq(int, pthread_join(threads[i], &blocks[i]), 0));
        cr_assert(ne(ptr, blocks[i], NULL));
    }

    cr_assert(eq(u64, pool_stats().native_allocs, 1));
    for (int i = 0; i < 16; i++)
        pool_free(blocks[i], stream);
    (void)pthread_barrier_destroy(&barrier);
}
