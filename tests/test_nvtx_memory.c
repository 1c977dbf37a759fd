/* What a memory checker hears of a pool with annotate_memory. */
#include "nvtx_fixture.h"

#include <pthread.h>
#include <stdlib.h>

TestSuite(nvtx_memory, .init = nvtx_open, .fini = nvtx_close);

static void reopen_annotated(gp_trace_level level)
{
    gp_pool_config config = nvtx_config(level);
    config.annotate_memory = true;
    pool_reopen(NULL, &config);
}

Test(nvtx_memory, hears_of_each_block_just_what_was_asked)
{
    reopen_annotated(GP_TRACE_OFF);
    cudaStream_t stream = pool_attached_stream();

    void *small = pool_alloc(1000, stream);
    void *large = pool_alloc(MIB(3) + 7, stream);
    cr_assert(eq(sz, recorder_region_bytes(small), 1000));
    cr_assert(eq(sz, recorder_region_bytes(large), MIB(3) + 7));
    pool_free(small, stream);
    pool_free(large, stream);
    cr_assert(eq(sz, recorder_regions(), 0));
    void *again = pool_alloc(900, stream); /* a hit */
    cr_assert(eq(sz, recorder_region_bytes(again), 900));
    pool_free(again, stream);

    cr_assert(eq(sz, recorder_regions(), 0));
    cr_assert(not(recorder_is_memory_misused()));
}

Test(nvtx_memory, hears_of_the_memory_that_the_pool_holds)
{
    reopen_annotated(GP_TRACE_SLOW);
    cudaStream_t stream = pool_attached_stream();

    void *block = pool_alloc(MIB(8), stream);
    cr_assert(recorder_has_heap(block, MIB(8)));
    cr_assert(eq(sz, recorder_heaps(), 1));
    pool_free(block, stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(sz, recorder_heaps(), 0));
    pool_use(MIB(8), stream);
    GP(gp_pool_destroy(pool));
    pool = NULL;

    cr_assert(eq(sz, recorder_heaps(), 0));
    cr_assert(not(recorder_is_memory_misused()));
}

Test(nvtx_memory, hears_of_a_block_that_is_never_freed)
{
    reopen_annotated(GP_TRACE_SLOW);

    void *leaked = pool_alloc(KIB(3), pool_attached_stream());

    cr_assert(eq(sz, recorder_regions(), 1));
    cr_assert(eq(sz, recorder_region_bytes(leaked), KIB(3)));
}

static void *churn_blocks(void *stream)
{
    for (int i = 0; i < 500; i++) {
        pool_use(KIB(1) + 13, stream);
        pool_use(KIB(700), stream);
    }
    return NULL;
}

/* A block is unregistered before another thread can get it. */
Test(nvtx_memory, hears_in_order_what_many_threads_do)
{
    reopen_annotated(GP_TRACE_OFF);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        cr_assert(
            eq(int, pthread_create(&threads[i], NULL, churn_blocks, pool_attached_stream()), 0));
    for (int i = 0; i < 20; i++)
        GP(gp_pool_trim_to(pool, 0));
    for (int i = 0; i < 4; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    cr_assert(eq(sz, recorder_regions(), 0));
    cr_assert(not(recorder_is_memory_misused()));
}

static void open_with_checker(void)
{
    setenv("NVTX_RECORDER_ONLY_MEMORY", "1", 1);
    nvtx_open();
}

TestSuite(nvtx_memory_only, .init = open_with_checker, .fini = nvtx_close);

Test(nvtx_memory_only, hears_of_blocks_though_it_knows_no_ranges)
{
    reopen_annotated(GP_TRACE_ALL);
    void *block = pool_alloc(1000, pool_attached_stream());

    cr_assert(eq(sz, recorder_region_bytes(block), 1000));
    cr_assert(eq(sz, recorder_heaps(), 1));
    cr_assert(eq(sz, recorder_count(), 0));
}

Test(nvtx_memory, hears_nothing_unless_asked)
{
    pool_use(MIB(8), pool_attached_stream());

    cr_assert(eq(sz, recorder_heaps(), 0));
}
