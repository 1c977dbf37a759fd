/* A pool that was made ready for a recorded run: the run then needs nothing of the native pool. */
#include "pool_fixture.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(warm, .init = pool_open, .fini = pool_close);

/* With segments as programs have them. */
static void open_default(void)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(32);
    pool_reopen(NULL, &config);
}

/* ---- plans ---- */

Test(warm, powers_of_two_that_were_reserved_are_there)
{
    cudaStream_t stream = pool_attached_stream();
    GP(gp_pool_reserve_pow2(pool, stream, 5));
    const uint64_t before = pool_stats().native_allocs;
    void *blocks[12][5];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 60; i++)
            blocks[i / 5][i % 5] = pool_alloc((size_t)512 << i / 5, stream);
        for (int i = 0; i < 60; i++)
            pool_free(blocks[i / 5][i % 5], stream);
    }

    cr_assert(eq(u64, pool_stats().native_allocs, before));
    cr_assert(le(u64, 5 * 4095 * 512, pool_stats().reserved_bytes));
}

Test(warm, no_powers_of_two_are_no_memory)
{
    GP(gp_pool_reserve_pow2(pool, pool_attached_stream(), 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}

/* ---- a recorded run ---- */

/* One thread makes all calls in the order of the file, on streams of the test's. */
typedef struct replay {
    bench_trace trace;
    cudaStream_t streams[16];
    void **blocks;
} replay;

static void open_replay(replay *self)
{
    char error[BENCH_TRACE_ERROR_CHARS];
    cr_assert(bench_trace_read(&self->trace, GP_BENCH_TRACE, error), "%s", error);
    cr_assert(le(sz, self->trace.stream_count, 16));
    for (size_t i = 0; i < self->trace.stream_count; i++)
        self->streams[i] = pool_attached_stream();
    self->blocks = calloc(self->trace.block_count, sizeof(*self->blocks));
    cr_assert(self->blocks != NULL);
}

static void play(replay *self)
{
    for (size_t i = 0; i < self->trace.event_count; i++) {
        const bench_trace_event *event = &self->trace.events[i];
        void **block = &self->blocks[event->block];
        if (event->frees) {
            pool_free(*block, self->streams[event->stream]);
            *block = NULL;
        } else {
            *block =
                pool_alloc(self->trace.blocks[event->block].bytes, self->streams[event->stream]);
        }
    }
    for (size_t i = 0; i < self->trace.block_count; i++) {
        if (self->blocks[i] != NULL)
            pool_free(self->blocks[i], self->streams[self->trace.blocks[i].stream]);
        self->blocks[i] = NULL;
    }
}

static void close_replay(replay *self)
{
    free(self->blocks);
    bench_trace_destroy(&self->trace);
}

Test(warm, replay_of_a_run_makes_no_native_call)
{
    open_default();
    replay run;
    open_replay(&run);
    GP(gp_pool_warm_from_trace(pool, GP_BENCH_TRACE));
    const gp_pool_stats before = pool_stats();

    for (int pass = 0; pass < 3; pass++)
        play(&run);

    const gp_pool_stats after = pool_stats();
    cr_assert(eq(u64, after.native_allocs, before.native_allocs));
    cr_assert(eq(u64, after.native_frees, before.native_frees));
    cr_assert(lt(dbl, (double)after.reserved_bytes, 1.25 * (double)run.trace.peak_live_bytes));
    close_replay(&run);
}

/* ---- what is reserved ---- */

static char path[] = "/tmp/gp-warm-XXXXXX";

static void write_run(const char *rows)
{
    int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    cr_assert(file != NULL && fprintf(file, "t_us,op,id,size,stream\n%s", rows) > 0);
    cr_assert(eq(int, fclose(file), 0));
}

Test(warm, peaks_of_streams_add_up_whenever_they_were)
{
    write_run("0,a,1,67108864,0\n1,f,1,67108864,0\n2,a,2,67108864,1\n3,f,2,67108864,1\n");
    GP(gp_pool_warm_from_trace(pool, path));
    (void)unlink(path);
    cudaStream_t streams[2] = {pool_attached_stream(), pool_attached_stream()};
    const uint64_t before = pool_stats().native_allocs;

    void *first = pool_alloc(MIB(64), streams[0]);
    void *second = pool_alloc(MIB(64), streams[1]);

    cr_assert(eq(u64, pool_stats().native_allocs, before));
    pool_free(first, streams[0]);
    pool_free(second, streams[1]);
}

Test(warm, second_call_for_the_same_run_adds_nothing)
{
    write_run("0,a,1,67108864,0\n1,a,2,1000,0\n");
    GP(gp_pool_warm_from_trace(pool, path));
    const uint64_t reserved = pool_stats().reserved_bytes;

    GP(gp_pool_warm_from_trace(pool, path));
    (void)unlink(path);

    cr_assert(eq(u64, pool_stats().reserved_bytes, reserved));
}

Test(warm, memory_that_was_set_aside_stays_when_the_pool_grows)
{
    write_run("0,a,1,67108864,0\n");
    GP(gp_pool_warm_from_trace(pool, path));
    (void)unlink(path);
    cudaStream_t stream = pool_attached_stream();

    pool_use(MIB(200), stream);
    pool_settle();

    cr_assert(le(u64, MIB(264), pool_stats().reserved_bytes));
}

Test(warm, run_that_needs_more_than_the_limit_is_refused)
{
    gp_pool_config config = pool_config();
    config.max_bytes = MIB(64);
    pool_reopen(NULL, &config);
    write_run("0,a,1,67108864,0\n");

    FAILS(GP_ERR_LIMIT, gp_pool_warm_from_trace(pool, path));
    (void)unlink(path);

    GP(gp_pool_check(pool));
    pool_use(MIB(64), pool_attached_stream());
}

Test(warm, run_that_cannot_be_read_reserves_nothing)
{
    write_run("0,a,1,67108864,0\n1,f,1\n");

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_warm_from_trace(pool, path));
    (void)unlink(path);
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_warm_from_trace(pool, path));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_pool_warm_from_trace(pool, NULL));
    FAILS(GP_ERR_INVALID_POOL, gp_pool_warm_from_trace(NULL, path));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}
