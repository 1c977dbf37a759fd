/* Recordings on a device: the order of many processors' calls hangs on their clocks. */
#include "gpu_fixture.h"
#include "trace_fixture.h"

#include <stdatomic.h>

/* A thread's calls fit its ring, so that nothing is dropped, however fast it is. */
enum { THREADS = 8, PLACES = 32, STEPS = 7000 };

typedef struct trader {
    gpu_thread thread;
    cudaStream_t stream;
    uint64_t random;
} trader;

static _Atomic(void *) places[PLACES];
static _Atomic(uint64_t) calls;

static uint64_t next_random(trader *self)
{
    self->random = self->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return self->random >> 33;
}

static bool free_block(void *block, cudaStream_t stream)
{
    atomic_fetch_add(&calls, 1);
    return EXPECT_GP(gp_free_async(block, stream));
}

/* No work is queued on the blocks, so that any stream may free them. */
static void trade(void *argument)
{
    trader *self = argument;
    for (int i = 0; i < STEPS; i++) {
        uint64_t draw = next_random(self);
        void *block = NULL;
        size_t bytes = (size_t)512 << draw % 5;
        if (!EXPECT_GP(gp_alloc_from_pool_async(&block, bytes, pool, self->stream)))
            return;
        atomic_fetch_add(&calls, 1);
        void *other = atomic_exchange(&places[draw / 8 % PLACES], block);
        if (other != NULL && !free_block(other, self->stream))
            return;
    }
}

static void run_traders(void)
{
    static trader traders[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        traders[i].stream = gpu_stream();
        traders[i].random = i + 1;
        gpu_thread_start(&traders[i].thread, trade, &traders[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        gpu_thread_join(&traders[i].thread);
    for (size_t i = 0; i < PLACES; i++) {
        void *block = atomic_exchange(&places[i], NULL);
        if (block != NULL)
            (void)free_block(block, traders[0].stream);
    }
}

/* That each address is allocated and freed by turns is what the reader checks. */
GPU_TEST(gpu_record, has_the_calls_of_all_processors_in_their_order)
{
    gp_trace_totals totals = {.struct_bytes = sizeof(totals)};
    trace_make_path();

    GP(gp_trace_start(pool, trace_path));
    run_traders();
    GP(gp_trace_stop(pool, &totals));
    bool was_read = bench_trace_read(&trace_read_back, trace_path, trace_error);

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(u64, totals.dropped_events, 0));
    cr_assert(eq(u64, totals.recorded_events, atomic_load(&calls)));
    cr_assert(eq(sz, trace_read_back.event_count, (size_t)totals.recorded_events));
    cr_assert(eq(sz, trace_read_back.gaps.initial_blocks, 0));
    trace_remove_path();
}
