/* Ends: of threads in odd ways, of the process in the middle of things, of what was destroyed. */
#include "pool_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(case_ends, .init = pool_open, .fini = pool_close);

/* ---- threads ---- */

static atomic_int stage;

static void *fill_and_wait_to_be_cancelled(void *stream)
{
    for (size_t i = 0; i < 100; i++)
        pool_use(KIB(64), (cudaStream_t)stream);
    atomic_store(&stage, 1);
    while (atomic_load(&stage) == 1)
        (void)pause(); /* a cancellation point */
    return NULL;
}

/* C63: a thread that is cancelled ends as any other: its cache goes to the next. */
Test(case_ends, cancelled_thread_leaves_its_cache_behind)
{
    cudaStream_t stream = pool_attached_stream();
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, fill_and_wait_to_be_cancelled, stream), 0));
    while (atomic_load(&stage) != 1)
        (void)sched_yield();
    cr_assert(lt(u64, 0, pool_stats().l1_cached_bytes));
    uint64_t allocs = pool_stats().native_allocs;

    cr_assert(eq(int, pthread_cancel(thread), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));

    cr_assert(eq(u32, pool_stats().threads, 0));
    cr_assert(eq(u64, pool_stats().l1_cached_bytes, 0));
    pool_use(KIB(64), stream);
    cr_assert(eq(u64, pool_stats().native_allocs, allocs));
}

static pthread_key_t late_key;
static void *late_block;

static void free_late(void *stream)
{
    (void)!gp_free_async(late_block, (cudaStream_t)stream);
    void *block = NULL;
    if (gp_alloc_from_pool_async(&block, KIB(8), pool, (cudaStream_t)stream) == GP_OK)
        (void)!gp_free_async(block, (cudaStream_t)stream);
}

static void *leave_a_destructor(void *stream)
{
    late_block = pool_alloc(KIB(64), (cudaStream_t)stream);
    /* Made after gp's own key, so that it may run after it. */
    cr_assert(eq(int, pthread_key_create(&late_key, free_late), 0));
    cr_assert(eq(int, pthread_setspecific(late_key, stream), 0));
    return NULL;
}

/* C63: a thread-local object frees and allocates in its destructor, whichever runs first. */
Test(case_ends, destructor_of_a_thread_local_may_still_use_the_pool)
{
    cudaStream_t stream = pool_attached_stream();
    pthread_t thread;

    cr_assert(eq(int, pthread_create(&thread, NULL, leave_a_destructor, stream), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));

    gp_pool_stats stats = pool_stats();
    cr_assert(eq(u64, stats.live_blocks, 0));
    cr_assert(eq(u64, stats.frees, 2));
    cr_assert(eq(u32, stats.threads, 0));
}

/* ---- pools ---- */

/* C64: buffers outlive their pool; a pool at the same address, or with the same memory, must not
 * take them for its own. */
Test(case_ends, block_of_a_pool_that_is_gone_is_nobodys)
{
    cudaStream_t stream = pool_stream();
    for (int round = 0; round < 50; round++) {
        gp_pool_config config = pool_config();
        void *old[5];
        for (size_t i = 0; i < 5; i++) {
            old[i] = pool_alloc(KIB(64) << i, stream);
            pool_write(old[i], KIB(64), stream);
        }
        pool_settle();
        GP(gp_pool_destroy_forced(pool));
        GP(gp_pool_create(&pool, &config));

        for (int i = 0; i < 5; i++)
            FAILS(GP_ERR_NOT_OWNED, gp_free_async(old[i], stream));

        pool_use(MIB(1), stream);
        cr_assert(eq(u64, pool_stats().frees, 1));
    }
}

/* C69: two pools, each with settings of its own, on one device; the first one goes. */
Test(case_ends, settings_of_a_pool_do_not_go_with_another)
{
    gp_pool_config first = pool_config();
    gp_pool_config other = pool_config();
    gp_pool *second = NULL;
    cudaStream_t stream = pool_stream();
    first.max_bytes = GIB(1);
    first.policy = gp_policy_first_fit();
    other.max_bytes = GIB(2);
    other.policy = gp_policy_best_fit();
    pool_reopen(NULL, &first);
    GP(gp_pool_create(&second, &other));
    pool_use(MIB(100), stream);
    void *block = NULL;
    void *none = NULL;
    GP(gp_alloc_from_pool_async(&block, GIB(1) + MIB(512), second, stream));
    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, GIB(1) + MIB(512), pool, stream));

    GP(gp_pool_destroy(pool));
    pool = second;

    FAILS(GP_ERR_LIMIT, gp_alloc_from_pool_async(&none, GIB(1), second, stream));
    GP(gp_free_async(block, stream));
    pool_use(GIB(2), stream);
}

/* ---- the process ---- */

static int exit_status_of_child(void (*in_child)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(20); /* A child that hangs is killed, and so fails. */
        in_child();
        _exit(99);
    }
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(ne(int, WIFEXITED(status), 0), "the child was killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* gp was not used before the fork, so the child is a process like any other. */
TestSuite(case_exit);

static void use_gp_and_exit(void)
{
    pool_open();
    pool_use(MIB(1), pool_stream());
    pool_close();
    exit(0);
}

Test(case_exit, child_forked_before_the_first_use_is_a_process_like_any_other)
{
    cr_assert(eq(int, exit_status_of_child(use_gp_and_exit), 0));
}

/* ---- fork beside threads that are inside calls, with whatever locks they hold ---- */

static cudaStream_t inherited_stream;
static void *inherited_block;
static atomic_bool stop;

static bool visit_nothing(const gp_walk_entry *entry, void *unused)
{
    (void)entry;
    (void)unused;
    return true;
}

static void expect_every_call_to_return(void)
{
    void *block = NULL;
    gp_pool *other = NULL;
    cudaMemPool_t native = NULL;
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    gp_device_info info = {.struct_bytes = sizeof(info)};
    const gp_reserve_entry plan = {.bytes = 512, .count = 1};
    const gp_status statuses[] = {
        gp_alloc_from_pool_async(&block, KIB(4), pool, inherited_stream),
        gp_alloc_from_pool_async(&block, MIB(4), pool, NULL),
        gp_alloc_async(&block, KIB(4), inherited_stream),
        gp_record_use(inherited_block, inherited_stream),
        gp_stream_attach(pool, inherited_stream),
        gp_stream_detach(pool, inherited_stream),
        gp_capture_begin(pool, inherited_stream),
        gp_capture_end(pool, inherited_stream),
        gp_pool_reserve(pool, inherited_stream, &plan, 1),
        gp_pool_trim_to(pool, 0),
        gp_pool_get_stats(pool, &stats),
        gp_pool_reset_peak(pool),
        gp_pool_check(pool),
        gp_pool_walk(pool, visit_nothing, NULL),
        gp_pool_native_handle(pool, &native),
        gp_pool_get_device(pool, &info),
        gp_default_pool(&other, 0),
        gp_pool_create(&other, NULL),
        gp_pool_destroy(pool),
        gp_pool_destroy_forced(pool),
    };
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i] != GP_ERR_WRONG_PROCESS)
            _exit(50 + (int)i);
    }
    _exit(gp_free_async(inherited_block, inherited_stream) == GP_OK ? 0 : 1);
}

static void *take_every_lock(void *own_stream)
{
    cudaStream_t stream = (cudaStream_t)own_stream;
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    while (!atomic_load(&stop)) {
        GP(gp_stream_attach(pool, stream));
        pool_use(MIB(3), stream);
        pool_use(KIB(4), stream);
        GP(gp_pool_get_stats(pool, &stats));
        GP(gp_stream_detach(pool, stream));
        GP(gp_pool_trim_to(pool, 0));
    }
    return NULL;
}

Test(case_ends, child_forked_in_the_middle_of_other_threads_calls_returns_from_every_call)
{
    pthread_t threads[3];
    inherited_stream = pool_attached_stream();
    inherited_block = pool_alloc(KIB(4), inherited_stream);
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, take_every_lock, pool_stream()), 0));

    for (int i = 0; i < 100; i++)
        cr_assert(eq(int, exit_status_of_child(expect_every_call_to_return), 0));

    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
    pool_free(inherited_block, inherited_stream);
}

/* ---- exit ---- */

static atomic_int started;

static void *allocate_for_ever(void *stream)
{
    for (unsigned i = 0;; i++) {
        void *block = NULL;
        gp_status status = gp_alloc_from_pool_async(&block, i % 16 == 0 ? MIB(3) : KIB(4), pool,
                                                    (cudaStream_t)stream);
        if (status == GP_OK)
            status = gp_free_async(block, (cudaStream_t)stream);
        if (status != GP_OK && status != GP_ERR_SHUTDOWN)
            _exit(7);
        if (i == 100)
            atomic_fetch_add(&started, 1);
    }
}

static void exit_beside_threads(void)
{
    pool_open();
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        cudaStream_t stream = i % 2 ? pool_attached_stream() : pool_stream();
        if (pthread_create(&thread, NULL, allocate_for_ever, stream) != 0)
            _exit(8);
    }
    while (atomic_load(&started) != 4)
        (void)sched_yield();
    exit(0);
}

/* C62: the process ends while other threads are in the middle of an allocation. */
Test(case_exit, may_come_while_other_threads_allocate)
{
    for (int i = 0; i < 50; i++)
        cr_assert(eq(int, exit_status_of_child(exit_beside_threads), 0));
}

/* ---- static destructors ---- */

static cudaStream_t left_stream;
static void *left_blocks[2];

/* C62: a static object frees two blocks in its destructor; only in a child that left some. */
__attribute__((destructor)) static void free_what_was_left(void)
{
    if (left_stream == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        if (gp_free_async(left_blocks[i], left_stream) != GP_OK)
            _exit(11);
    }
    void *block = NULL;
    if (gp_alloc_from_pool_async(&block, KIB(4), pool, left_stream) != GP_ERR_SHUTDOWN)
        _exit(12);
    _exit(42); /* so that the parent sees that this ran */
}

static void leave_blocks_to_a_destructor(void)
{
    pool_open();
    left_stream = pool_attached_stream();
    (void)pool_close_gate(left_stream);
    for (int i = 0; i < 2; i++)
        left_blocks[i] = pool_alloc(KIB(64), left_stream);
    pool_use(MIB(4), left_stream);
    exit(0);
}

Test(case_exit, static_destructor_may_free_what_is_left)
{
    for (int i = 0; i < 50; i++)
        cr_assert(eq(int, exit_status_of_child(leave_blocks_to_a_destructor), 42));
}
