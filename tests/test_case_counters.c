/* Counters against a model that knows nothing of gp, through a million operations of all kinds. */
#include "pool.h"

#include "pool_fixture.h"
#include "seeded_random.h"

TestSuite(case_counters, .init = pool_open, .fini = pool_close);

enum { HELD = 96, OPERATIONS = 1000000 };

typedef struct model {
    uint64_t seed;
    uint64_t requests, frees, failures, live_bytes, live_blocks;
    void *blocks[HELD];
    size_t bytes[HELD];
    cudaStream_t streams[4];
} model;

static cudaStream_t some_stream(model *expected)
{
    return expected->streams[seeded_random_below(&expected->seed, 4)];
}

static void release(model *expected, size_t place)
{
    pool_free(expected->blocks[place], some_stream(expected));
    expected->blocks[place] = NULL;
    expected->frees++;
    expected->live_blocks--;
    expected->live_bytes -= expected->bytes[place];
}

static void acquire(model *expected, size_t place)
{
    size_t bytes = (size_t)1 << seeded_random_below(&expected->seed, 22);
    bytes += seeded_random_below(&expected->seed, bytes);
    expected->blocks[place] = pool_alloc(bytes, some_stream(expected));
    GP(gp_usable_size(expected->blocks[place], &expected->bytes[place]));
    expected->requests++;
    expected->live_blocks++;
    expected->live_bytes += expected->bytes[place];
}

/* What must change nothing, and what counts as a failure. */
static void misbehave(model *expected)
{
    cudaStream_t stream = some_stream(expected);
    void *none = NULL;
    FAILS(GP_ERR_SIZE_OVERFLOW, gp_alloc_from_pool_async(&none, SIZE_MAX - 1, pool, stream));
    FAILS(GP_ERR_NOT_OWNED, gp_free_async((void *)(uintptr_t)4096, stream));
    GP(gp_alloc_from_pool_async(&none, 0, pool, stream));
    GP(gp_free_async(NULL, stream));
    void *block = pool_alloc(KIB(2), stream);
    pool_free(block, stream);
    FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(block, stream));
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(5), pool, stream));
    expected->requests += 2;
    expected->frees++;
    expected->failures++;
}

static void step_many(void *started)
{
    model *expected = started;
    for (int i = 0; i < 1000; i++) {
        size_t place = seeded_random_below(&expected->seed, HELD);
        if (expected->blocks[place] != NULL)
            release(expected, place);
        else
            acquire(expected, place);
    }
}

static void replace_stream(model *expected)
{
    cudaStream_t *stream = &expected->streams[seeded_random_below(&expected->seed, 2)];
    GP(gp_stream_detach(pool, *stream));
    pool_drop_stream(*stream);
    *stream = pool_attached_stream();
}

static void compare(const model *expected)
{
    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.requests, expected->requests));
    cr_assert(eq(u64, stats.frees, expected->frees));
    cr_assert(eq(u64, stats.failures, expected->failures));
    cr_assert(eq(u64, stats.live_blocks, expected->live_blocks));
    cr_assert(eq(u64, stats.live_bytes, expected->live_bytes));
    cr_assert(le(u64, stats.l1_cached_bytes + stats.pending_bytes, stats.cached_bytes));
    cr_assert(eq(u64, stats.native_allocs, gp_sim_call_count(GP_SIM_FN_MALLOC)));
    cr_assert(eq(u64, stats.native_frees, gp_sim_call_count(GP_SIM_FN_FREE)));
}

/* C86: totals that were not lowered, live counts below zero, asked and rounded bytes mixed up. */
Test(case_counters, agree_with_a_model_through_a_million_operations)
{
    static model expected = {.seed = 86};
    for (int i = 0; i < 4; i++)
        expected.streams[i] = i < 2 ? pool_attached_stream() : pool_stream();

    for (int i = 0; i < OPERATIONS / 1000; i++) {
        if (i % 4 == 1)
            pool_in_thread(step_many, &expected);
        else
            step_many(&expected);
        if (i % 50 == 7)
            misbehave(&expected);
        if (i % 100 == 13)
            replace_stream(&expected);
        if (i % 100 == 42)
            GP(gp_pool_trim_to(pool, 0));
        compare(&expected);
        if (i % 50 == 0)
            GP(gp_pool_check(pool));
    }
}

/* ---- where native memory comes from and goes to ---- */

static gp_backend_ops ops;
static const gp_backend_ops *real_ops;
static cudaStream_t seen; /* the stream of all native calls so far */
static bool saw_others;

static void see(cudaStream_t stream)
{
    saw_others = saw_others || (seen != NULL && seen != stream);
    seen = stream;
}

static gp_status alloc_and_see(gp_backend *backend, void **ptr, size_t bytes, cudaMemPool_t native,
                               cudaStream_t stream)
{
    see(stream);
    return real_ops->alloc(backend, ptr, bytes, native, stream);
}

static gp_status free_and_see(gp_backend *backend, void *ptr, cudaStream_t stream)
{
    see(stream);
    return real_ops->free(backend, ptr, stream);
}

/* C08: drivers whose own reuse across streams was unsafe. gp gives them no occasion for any: all
 * native calls are ordered on one stream. */
Test(case_counters, native_memory_comes_and_goes_on_one_stream_of_gps_own)
{
    real_ops = pool->backend->ops;
    ops = *real_ops;
    ops.alloc = alloc_and_see;
    ops.free = free_and_see;
    pool->backend->ops = &ops;
    for (int i = 0; i < 20; i++) {
        cudaStream_t stream = i % 2 ? pool_attached_stream() : pool_stream();
        pool_use(MIB(3) << i % 6, stream);
        pool_use(KIB(64), stream);
        pool_settle();
        if (i % 4 == 3)
            GP(gp_pool_trim_to(pool, 0));
        cr_assert(ne(ptr, (void *)seen, (void *)stream));
    }

    cr_assert(lt(u64, 5, pool_stats().native_allocs));
    cr_assert(lt(u64, 5, pool_stats().native_frees));
    cr_assert(not(saw_others));
}
