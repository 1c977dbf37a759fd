/* When memory is short: what is tried, in which order, and what the caller is told. */
#include "pool_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

TestSuite(case_pressure, .init = pool_open, .fini = pool_close);

static void limit_pool(size_t bytes, const gp_policy_ops *policy)
{
    gp_pool_config config = pool_config();
    config.max_bytes = bytes;
    config.policy = policy;
    pool_reopen(NULL, &config);
}

static size_t device_free_bytes(void)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    SIM(gp_sim_mem_get_info(&free_bytes, &total_bytes));
    return free_bytes;
}

static void work_for(void *block, size_t bytes, uint64_t ns, cudaStream_t stream)
{
    const gp_sim_access access = {.base = block, .bytes = bytes, .writes = true};
    SIM(gp_sim_launch(stream, &access, 1, ns));
}

/* ---- the order of the ladder ---- */

/* C45: the free was not observed yet when the pool was trimmed, so nothing came of it. The work
 * is over within the time that an allocation may wait. */
Test(case_pressure, waits_a_little_for_work_under_way_before_a_larger_request_fails)
{
    for (int attached = 0; attached < 2; attached++) {
        limit_pool(MIB(400), NULL);
        cudaStream_t stream = attached ? pool_attached_stream() : pool_stream();
        void *block = pool_alloc(MIB(256), stream);
        work_for(block, MIB(256), 20000, stream);
        pool_free(block, stream);

        void *larger = pool_alloc(MIB(300), stream);

        pool_write(larger, MIB(300), stream);
        pool_free(larger, stream);
        pool_settle();
    }
}

/* C45: what a trim cannot give back yet is still there to be seen, and somebody else can have
 * it after the next trim. */
Test(case_pressure, trim_tells_pending_memory_from_what_it_gave_back)
{
    cudaStream_t busy = pool_attached_stream();
    cudaStream_t done = pool_attached_stream();
    void *used = pool_alloc(GIB(2), busy);
    void *idle = pool_alloc(GIB(1), done);
    gp_sim_gate gate = pool_close_gate(busy);
    pool_write(used, GIB(2), busy);
    pool_free(used, busy);
    pool_free(idle, done);

    GP(gp_pool_trim_to(pool, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, GIB(2)));
    cr_assert(eq(sz, device_free_bytes(), GIB(2)));
    pool_open_gate(gate);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    cr_assert(eq(sz, device_free_bytes(), GIB(4)));
}

/* C48: clean-up on the way to the error walked the cache wrongly: under each policy, with the
 * cache empty, with one block in it, and with nothing but pending ones. */
Test(case_pressure, request_larger_than_the_device_fails_cleanly_under_every_policy)
{
    const gp_policy_ops *const policies[] = {gp_policy_cache_first(), gp_policy_best_fit(),
                                             gp_policy_first_fit()};
    for (int p = 0; p < 3; p++) {
        for (int state = 0; state < 3; state++) {
            limit_pool(0, policies[p]);
            cudaStream_t stream = pool_attached_stream();
            gp_sim_gate gate = state == 2 ? pool_close_gate(stream) : NULL;
            for (int i = 0; i < state; i++) {
                pool_use(MIB(100), stream);
                pool_use(KIB(4), stream);
            }
            void *none = NULL;

            FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(5), pool, stream));

            GP(gp_pool_check(pool));
            cr_assert(eq(ptr, none, NULL));
            if (gate != NULL)
                pool_open_gate(gate);
            pool_use(GIB(1), stream);
        }
    }
}

/* ---- waiting, and who else waits ---- */

typedef struct bystander {
    cudaStream_t stream;
    atomic_bool stop;
    atomic_uint pairs;
    gp_status status;
} bystander;

static void *keep_allocating(void *started)
{
    bystander *self = started;
    while (!atomic_load(&self->stop) && self->status == GP_OK) {
        void *block = NULL;
        self->status = gp_alloc_from_pool_async(&block, KIB(4), pool, self->stream);
        if (self->status == GP_OK)
            self->status = gp_free_async(block, self->stream);
        atomic_fetch_add(&self->pairs, 1);
    }
    return NULL;
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* C07: the wait is bounded, and nobody else waits with the one who does. */
Test(case_pressure, bounded_wait_holds_up_no_other_thread)
{
    limit_pool(MIB(64), NULL);
    cudaStream_t stream = pool_attached_stream();
    bystander other = {.stream = pool_attached_stream(), .status = GP_OK};
    pool_use(KIB(4), other.stream);
    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(MIB(32), stream);
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, keep_allocating, &other), 0));
    while (atomic_load(&other.pairs) == 0)
        (void)sched_yield();
    unsigned before = atomic_load(&other.pairs);
    double longest = 0;

    /* On a busy machine the other thread may not get to run in every wait. */
    for (int i = 0; i < 5 || (i < 500 && atomic_load(&other.pairs) - before < 100); i++) {
        void *none = NULL;
        double start = seconds_now();
        FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, MIB(48), pool, NULL));
        double waited = seconds_now() - start;
        longest = waited > longest ? waited : longest;
    }

    unsigned pairs = atomic_load(&other.pairs) - before;
    atomic_store(&other.stop, true);
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    cr_assert(lt(dbl, longest, 5.0));
    cr_assert(eq(int, (int)other.status, (int)GP_OK));
    cr_assert(le(uint, 100, pairs));
    pool_open_gate(gate);
}

/* ---- other users of the device ---- */

/* C52: another allocator fails while the pool holds what it needs idle. gp cannot hear of that;
 * the call that gives memory back at once is gp_pool_trim_to(). */
Test(case_pressure, idle_memory_is_there_for_other_allocators_after_a_trim)
{
    gp_pool_config config = pool_config();
    gp_pool *second = NULL;
    cudaMemPool_t foreign = NULL;
    cudaStream_t stream = pool_attached_stream();
    void *block = NULL;
    SIM(gp_sim_pool_create(&foreign));
    GP(gp_pool_create(&second, &config));
    pool_use(GIB(4) / 10 * 9, stream);
    SIM(gp_sim_stream_synchronize(stream));
    cr_assert(eq(int, gp_sim_malloc_async(&block, GIB(1), foreign, stream), 2));

    GP(gp_pool_trim_to(pool, 0));

    SIM(gp_sim_malloc_async(&block, GIB(1), foreign, stream));
    SIM(gp_sim_free_async(block, stream));
    GP(gp_alloc_from_pool_async(&block, GIB(1), second, stream));
    GP(gp_free_async(block, stream));
    GP(gp_pool_destroy(second));
    SIM(gp_sim_pool_destroy(foreign));
}

/* C92: the number of free bytes is no promise, and no decision of gp hangs on it. */
Test(case_pressure, number_of_free_bytes_decides_nothing)
{
    cudaStream_t stream = pool_attached_stream();
    void *none = NULL;
    gp_sim_fail(GP_SIM_FN_MEM_GET_INFO, 1, UINT64_MAX, 999);

    pool_use(MIB(64), stream);
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(5), pool, stream));
    cr_assert(eq(int, gp_last_native_error(), 2));
    gp_sim_fail(GP_SIM_FN_MEM_GET_INFO, 0, 0, 0);

    /* The device has 4 GiB free and refuses all the same. */
    gp_sim_fail(GP_SIM_FN_MALLOC, 1, UINT64_MAX, 2);
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(1), pool, stream));
    gp_sim_fail(GP_SIM_FN_MALLOC, 0, 0, 0);
    pool_use(GIB(1), stream);
}

/* C91: no silent change to another kind of memory: whatever is handed out is the device's. */
Test(case_pressure, full_device_is_an_error_and_never_another_kind_of_memory)
{
    cudaStream_t stream = pool_attached_stream();
    void *blocks[64];
    int count = 0;
    gp_status status = GP_OK;

    while (count < 64 && status == GP_OK) {
        status = gp_alloc_from_pool_async(&blocks[count], MIB(96), pool, stream);
        if (status == GP_OK)
            count++;
    }

    cr_assert(eq(int, (int)status, (int)GP_ERR_OUT_OF_MEMORY));
    cr_assert(le(int, 40, count));
    for (int i = 0; i < count; i++) {
        uintptr_t base = (uintptr_t)blocks[i];
        cr_assert(base >= GP_SIM_BASE_ADDRESS && base < GP_SIM_BASE_ADDRESS + ((uintptr_t)1 << 44));
        pool_free(blocks[i], stream);
    }
}

/* C51: a pool that is gone gives everything back, however much of its work was queued then. */
Test(case_pressure, pools_made_and_destroyed_by_the_hundred_leave_nothing)
{
    gp_pool_config config = pool_config();
    cudaStream_t stream = pool_stream();
    for (int round = 0; round < 10; round++) {
        gp_sim_gate gate = pool_close_gate(stream);
        for (int i = 0; i < 50; i++) {
            gp_pool *passing = NULL;
            void *block = NULL;
            GP(gp_pool_create(&passing, &config));
            GP(gp_stream_attach(passing, stream));
            GP(gp_alloc_from_pool_async(&block, KIB(1), passing, stream));
            pool_write(block, KIB(1), stream);
            GP(gp_free_async(block, stream));
            GP(gp_pool_destroy(passing));
        }
        pool_open_gate(gate);
        pool_settle();
        cr_assert(eq(sz, gp_sim_live_pools(), 1));
        cr_assert(eq(sz, device_free_bytes(), GIB(4)));
    }
}

/* C51: making the native pool fails for want of room once. */
Test(case_pressure, pool_that_cannot_be_made_for_want_of_memory_can_be_made_later)
{
    gp_pool_config config = pool_config();
    gp_pool *made = NULL;
    gp_sim_fail(GP_SIM_FN_POOL_CREATE, 1, 1, 2);

    FAILS(GP_ERR_OUT_OF_MEMORY, gp_pool_create(&made, &config));
    cr_assert(eq(ptr, made, NULL));
    cr_assert(eq(sz, gp_sim_live_pools(), 1));

    GP(gp_pool_create(&made, &config));
    GP(gp_pool_destroy(made));
}
