/* The process: forked children and the end, where no native call may be made any more. */
#include "pool_fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(process, .init = pool_open, .fini = pool_close);

/* What a child found wrong, as its exit status; 0 if nothing. */
static int exit_status_of_child(int (*in_child)(void *), void *argument)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(in_child(argument));
    cr_assert(lt(int, 0, child));
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(ne(int, WIFEXITED(status), 0), "the child was killed");
    return WEXITSTATUS(status);
}

static uint64_t native_calls(void)
{
    uint64_t calls = 0;
    for (int i = 0; i < GP_SIM_FN_COUNT; i++)
        calls += gp_sim_call_count((gp_sim_function)i);
    return calls;
}

typedef struct inherited {
    cudaStream_t stream;
    void *block;
} inherited;

#define CHILD_EXPECT(number, condition)                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return number;                                                                         \
    } while (0)

static bool ignore(const gp_walk_entry *entry, void *unused)
{
    (void)entry;
    (void)unused;
    return true;
}

static int use_parents_pool(void *argument)
{
    const inherited *parent = argument;
    uint64_t calls = native_calls();
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    const gp_reserve_entry plan = {.bytes = 512, .count = 1};
    gp_device_info info = {.struct_bytes = sizeof(info)};
    cudaMemPool_t native = NULL;
    void *block = NULL;

    CHILD_EXPECT(1, gp_alloc_from_pool_async(&block, KIB(4), pool, parent->stream) ==
                        GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(2, gp_alloc_from_pool_async(&block, MIB(4), pool, NULL) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(3, gp_alloc_async(&block, KIB(4), parent->stream) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(4, gp_pool_trim_to(pool, 0) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(5, gp_pool_get_stats(pool, &stats) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(6, gp_pool_destroy(pool) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(7, gp_pool_destroy_forced(pool) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(8, gp_stream_attach(pool, parent->stream) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(9, gp_stream_detach(pool, parent->stream) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(10, gp_pool_reserve(pool, parent->stream, &plan, 1) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(11, gp_record_use(parent->block, parent->stream) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(12, gp_free_async(parent->block, parent->stream) == GP_OK);
    CHILD_EXPECT(13, gp_free_async(parent->block, parent->stream) == GP_OK);
    CHILD_EXPECT(14, gp_free_async((void *)(uintptr_t)0x1234, NULL) == GP_OK);
    CHILD_EXPECT(15, block == NULL);
    CHILD_EXPECT(17, gp_pool_check(pool) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(18, gp_pool_walk(pool, ignore, NULL) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(19, gp_pool_native_handle(pool, &native) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(20, gp_pool_get_device(pool, &info) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(21, gp_pool_reset_peak(pool) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(16, native_calls() == calls);
    return 0;
}

Test(process, forked_child_makes_no_native_call_and_its_frees_do_nothing)
{
    inherited mine = {.stream = pool_attached_stream()};
    pool_use(KIB(4), mine.stream);
    mine.block = pool_alloc(KIB(4), mine.stream);
    pool_use(KIB(4), mine.stream);

    cr_assert(eq(int, exit_status_of_child(use_parents_pool, &mine), 0));

    pool_free(mine.block, mine.stream);
    cr_assert(eq(u64, pool_stats().frees, 3));
}

static int make_own_pool(void *unused)
{
    (void)unused;
    gp_pool_config config = pool_config();
    gp_pool *own = NULL;
    CHILD_EXPECT(1, gp_pool_create(&own, &config) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(2, gp_default_pool(&own, 0) == GP_ERR_WRONG_PROCESS);
    CHILD_EXPECT(3, own == NULL);
    return 0;
}

Test(process, forked_child_cannot_make_a_pool_of_its_own)
{
    cr_assert(eq(int, exit_status_of_child(make_own_pool, NULL), 0));
}

static int end_normally(void *argument)
{
    exit(use_parents_pool(argument));
}

Test(process, forked_child_may_end_in_the_normal_way)
{
    inherited mine = {.stream = pool_attached_stream()};
    mine.block = pool_alloc(KIB(4), mine.stream);

    cr_assert(eq(int, exit_status_of_child(end_normally, &mine), 0));

    pool_free(mine.block, mine.stream);
}

TestSuite(default_pool);

Test(default_pool, of_the_parent_is_not_the_childs)
{
    gp_pool *parents = NULL;
    GP(gp_default_pool(&parents, 0));

    cr_assert(eq(int, exit_status_of_child(make_own_pool, NULL), 0));
}

/* ---- exit: C62 ----
 *
 * Each runs in a child that uses gp for the first time there, so that it is a process
 * like any other. Handlers of exit() run in reverse order of their registration. */

static uint64_t calls_at_exit;
static inherited left;

static void expect_no_call_since_exit(void)
{
    if (native_calls() != calls_at_exit)
        _exit(9);
}

static void use_at_exit(void)
{
    void *block = NULL;
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    calls_at_exit = native_calls();
    if (gp_free_async(left.block, left.stream) != GP_OK)
        _exit(1);
    if (gp_alloc_from_pool_async(&block, KIB(4), pool, left.stream) != GP_ERR_SHUTDOWN)
        _exit(2);
    if (gp_pool_get_stats(pool, &stats) != GP_ERR_SHUTDOWN)
        _exit(3);
    if (gp_pool_destroy_forced(pool) != GP_ERR_SHUTDOWN)
        _exit(4);
    expect_no_call_since_exit();
}

static void leave_work_behind(void)
{
    for (int i = 0; i < 4; i++) {
        cudaStream_t stream = i % 2 ? pool_attached_stream() : pool_stream();
        (void)pool_close_gate(stream);
        pool_use(KIB(4), stream);
        pool_use(MIB(4), stream);
        left = (inherited){.stream = stream, .block = pool_alloc(KIB(64), stream)};
    }
}

TestSuite(at_exit);

static int return_without_destroying(void *unused)
{
    (void)unused;
    (void)atexit(use_at_exit); /* before gp's own, so it runs after that */
    pool_open();
    leave_work_behind();
    exit(0);
}

Test(at_exit, calls_do_nothing_once_the_process_ends)
{
    for (int i = 0; i < 10; i++)
        cr_assert(eq(int, exit_status_of_child(return_without_destroying, NULL), 0));
}

static void exit_from_thread(void *unused)
{
    (void)unused;
    leave_work_behind();
    exit(0);
}

static int exit_in_a_thread(void *unused)
{
    (void)unused;
    (void)atexit(use_at_exit);
    pool_open();
    leave_work_behind();
    pool_in_thread(exit_from_thread, NULL);
    return 8;
}

Test(at_exit, may_begin_in_any_thread)
{
    for (int i = 0; i < 10; i++)
        cr_assert(eq(int, exit_status_of_child(exit_in_a_thread, NULL), 0));
}

static int shut_down_first(void *unused)
{
    (void)unused;
    pool_open();
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t checked = pool_stream();
    void *block = pool_alloc(MIB(2), stream);
    pool_use(MIB(2), checked);
    gp_sim_shut_down();

    void *none = NULL;
    CHILD_EXPECT(1, gp_alloc_from_pool_async(&none, MIB(2), pool, checked) == GP_ERR_SHUTDOWN);
    CHILD_EXPECT(2, gp_alloc_from_pool_async(&none, GIB(1), pool, stream) == GP_ERR_SHUTDOWN);
    CHILD_EXPECT(3, gp_free_async(block, stream) == GP_OK);
    (void)!gp_pool_trim_to(pool, 0);
    (void)!gp_stream_detach(pool, stream);
    CHILD_EXPECT(4, gp_pool_destroy(pool) == GP_OK);
    return 0;
}

Test(at_exit, driver_that_is_gone_first_is_survived)
{
    cr_assert(eq(int, exit_status_of_child(shut_down_first, NULL), 0));
}
