/* A recording that is played back and recorded again is the same recording. */
#include "record_fixture.h"

#include "contender.h"
#include "random.h"
#include "session.h"

#include "gp/record.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* ---- a contender that is the pool of the test, for the harness to play on ---- */

static bench_contender the_pool;

static int open_pool(const bench_contender_ops *ops, bench_contender **contender,
                     const device_ops *device, bench_mode mode)
{
    (void)mode;
    the_pool = (bench_contender){.ops = ops, .device = device};
    *contender = &the_pool;
    return 0;
}

static void close_pool(bench_contender *contender)
{
    (void)contender;
}

static int enter_stream(bench_contender *contender, cudaStream_t stream)
{
    (void)contender;
    return (int)gp_stream_attach(pool, stream);
}

static int leave_stream(bench_contender *contender, cudaStream_t stream)
{
    (void)contender;
    return (int)gp_stream_detach(pool, stream);
}

static int alloc_block(bench_contender *contender, void **ptr, size_t bytes, cudaStream_t stream)
{
    (void)contender;
    return (int)gp_alloc_from_pool_async(ptr, bytes, pool, stream);
}

static int free_block(bench_contender *contender, void *ptr, size_t bytes, cudaStream_t stream)
{
    (void)contender;
    (void)bytes;
    return (int)gp_free_async(ptr, stream);
}

static int get_usage(bench_contender *contender, bench_usage *usage)
{
    (void)contender;
    *usage = (bench_usage){0};
    return 0;
}

static int reset_peak(bench_contender *contender)
{
    (void)contender;
    return 0;
}

static const char *error_text(int code)
{
    (void)code;
    return gp_last_error();
}

static const bench_contender_ops pool_contender = {
    .struct_bytes = sizeof(pool_contender),
    .name = "pool",
    .open = open_pool,
    .close = close_pool,
    .enter = enter_stream,
    .leave = leave_stream,
    .alloc = alloc_block,
    .free = free_block,
    .get_usage = get_usage,
    .reset_peak = reset_peak,
    .error = error_text,
};

/* As gp-bench replay does with one thread. */
static void play(const bench_trace *trace)
{
    bench_ticks ticks;
    bench_progress progress = {0};
    bench_session session;
    bench_result result;
    char error[BENCH_ERROR_CHARS] = "";
    bench_ticks_calibrate(&ticks);
    bench_session_config config = {.device = device_sim(),
                                   .contender = &pool_contender,
                                   .ticks = &ticks,
                                   .progress = &progress};
    cr_assert(bench_session_open(&session, &config, trace, error), "%s", error);
    cr_assert(bench_session_play(&session, &result, NULL, error), "%s", error);
    bench_session_close(&session);
}

/* ---- what is recorded ---- */

#define WORKERS 3
#define STEPS 1500
#define LIVE 16

typedef struct worker {
    cudaStream_t streams[2];
    bench_random random;
} worker;

/* Random sizes on two streams; half of what is live stays so. */
static void *work(void *argument)
{
    worker *self = argument;
    void *blocks[LIVE] = {NULL};
    for (int i = 0; i < STEPS; i++) {
        size_t place = bench_random_below(&self->random, LIVE);
        cudaStream_t stream = self->streams[place % 2];
        if (blocks[place] != NULL && gp_free_async(blocks[place], stream) != GP_OK)
            abort();
        size_t bytes = bench_random_bytes(&self->random, 1, MIB(1));
        if (gp_alloc_from_pool_async(&blocks[place], bytes, pool, stream) != GP_OK)
            abort();
    }
    return NULL;
}

static void record_workers(void)
{
    pthread_t threads[WORKERS];
    worker workers[WORKERS];
    cudaStream_t shared = pool_attached_stream();
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] =
            (worker){.streams = {shared, pool_attached_stream()}, .random = bench_random_seed(i)};
        cr_assert(eq(int, pthread_create(&threads[i], NULL, work, &workers[i]), 0));
    }
    for (size_t i = 0; i < WORKERS; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
}

static void read_whole(bench_trace *trace, const gp_trace_totals *totals)
{
    cr_assert(eq(u64, totals->dropped_events, 0));
    cr_assert(bench_trace_read(trace, trace_path, trace_error), "%s", trace_error);
}

static void close_all(void)
{
    trace_remove_path();
    gp_status ignored = gp_pool_destroy_forced(pool);
    (void)ignored;
}

Test(record_replay, reproduces_bytes_and_order, .init = record_open, .fini = close_all)
{
    gp_trace_totals totals = {.struct_bytes = sizeof(totals)};
    bench_trace first;
    bench_trace second;

    GP(gp_trace_start(pool, trace_path));
    record_workers();
    GP(gp_trace_stop(pool, &totals));
    read_whole(&first, &totals);
    GP(gp_trace_start(pool, trace_path));
    play(&first);
    GP(gp_trace_stop(pool, &totals));
    read_whole(&second, &totals);

    /* What the first leaves live is freed at the end of the second. */
    cr_assert(lt(sz, WORKERS * STEPS, first.event_count));
    cr_assert(ge(sz, second.event_count, first.event_count));
    cr_assert(eq(sz, second.peak_live_bytes, first.peak_live_bytes));
    cr_assert(eq(sz, second.block_count, first.block_count));
    for (size_t i = 0; i < first.event_count; i++) {
        const bench_trace_event *one = &first.events[i];
        const bench_trace_event *other = &second.events[i];
        cr_assert(eq(int, one->frees, other->frees), "event %zu", i);
        cr_assert(eq(u32, one->block, other->block), "event %zu", i);
        cr_assert(eq(u16, one->stream, other->stream), "event %zu", i);
        cr_assert(eq(sz, first.blocks[one->block].bytes, second.blocks[other->block].bytes),
                  "event %zu", i);
    }
    bench_trace_destroy(&first);
    bench_trace_destroy(&second);
}
