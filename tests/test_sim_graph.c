/* Captures of the simulated device, what spoils them, and replay. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "gp/sim.h"

#include <pthread.h>

#define KIB(n) ((size_t)(n) << 10)

static cudaStream_t captured; /* non-blocking */
static cudaStream_t eager;
static cudaMemPool_t pool;
static gp_sim_event event;

static void reset_machine(void)
{
    cr_assert(eq(int, gp_sim_reset(NULL), GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&captured, true), 0));
    cr_assert(eq(int, gp_sim_stream_create(&eager, true), 0));
    cr_assert(eq(int, gp_sim_pool_create(&pool), 0));
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    cr_assert(eq(int, gp_sim_event_record(event, eager), 0));
}

static void begin(gp_sim_capture_mode mode)
{
    cr_assert(eq(int, gp_sim_begin_capture(captured, mode), 0));
}

static int end(void)
{
    gp_sim_graph graph = NULL;
    return gp_sim_end_capture(captured, &graph);
}

static gp_sim_graph finish(void)
{
    gp_sim_graph graph = NULL;
    cr_assert(eq(int, gp_sim_end_capture(captured, &graph), 0));
    return graph;
}

static gp_sim_capture_status status_of(cudaStream_t stream)
{
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    cr_assert(eq(int, gp_sim_stream_is_capturing(stream, &status), 0));
    return status;
}

static int write_to(void *base, size_t bytes, cudaStream_t stream)
{
    gp_sim_access access = {.base = base, .bytes = bytes, .writes = true};
    return gp_sim_launch(stream, &access, 1, 1000);
}

TestSuite(sim_graph, .init = reset_machine);

/* ---- what spoils a capture ---- */

typedef int (*unsafe_call)(void);

static int query_event(void)
{
    return gp_sim_event_query(event);
}

static int allocate_on_another_stream(void)
{
    void *ptr;
    return gp_sim_malloc_async(&ptr, 1, pool, eager);
}

static int trim(void)
{
    return gp_sim_pool_trim_to(pool, 0);
}

static int create_pool(void)
{
    cudaMemPool_t made;
    return gp_sim_pool_create(&made);
}

static int synchronize_event(void)
{
    return gp_sim_event_synchronize(event);
}

static int query_stream(void)
{
    return gp_sim_stream_query(eager);
}

static const unsafe_call unsafe_calls[] = {
    query_event, allocate_on_another_stream, trim, create_pool, query_stream, synchronize_event};

enum { UNSAFE_CALLS = sizeof(unsafe_calls) / sizeof(unsafe_calls[0]) };

static int result_elsewhere;

static void *make_unsafe_call(void *call)
{
    result_elsewhere = unsafe_calls[*(const int *)call]();
    return NULL;
}

static int call_elsewhere(int call)
{
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, make_unsafe_call, &call), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    return result_elsewhere;
}

static void *begin_global(void *unused)
{
    (void)unused;
    result_elsewhere = gp_sim_begin_capture(captured, GP_SIM_CAPTURE_GLOBAL);
    return NULL;
}

static void begin_elsewhere(void)
{
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, begin_global, NULL), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    cr_assert(eq(int, result_elsewhere, 0));
}

Test(sim_graph, an_unsafe_call_from_any_thread_invalidates_a_global_capture)
{
    for (int i = 0; i < UNSAFE_CALLS; i++) {
        begin(GP_SIM_CAPTURE_GLOBAL);
        cr_assert(eq(int, call_elsewhere(i), 900), "call %d", i);
        cr_assert(eq(int, status_of(captured), GP_SIM_CAPTURE_INVALIDATED));
        cr_assert(eq(int, end(), 901), "call %d", i);
        cr_assert(eq(int, status_of(captured), GP_SIM_CAPTURE_NONE));
    }
}

Test(sim_graph, an_unsafe_call_hurts_a_thread_local_capture_only_from_its_own_thread)
{
    for (int i = 0; i < UNSAFE_CALLS; i++) {
        begin(GP_SIM_CAPTURE_THREAD_LOCAL);
        cr_assert(eq(int, call_elsewhere(i), 0), "call %d", i);
        cr_assert(eq(int, status_of(captured), GP_SIM_CAPTURE_ACTIVE));
        cr_assert(eq(int, unsafe_calls[i](), 900), "call %d", i);
        cr_assert(eq(int, end(), 901));
    }
}

Test(sim_graph, an_unsafe_call_does_not_hurt_a_relaxed_capture)
{
    begin(GP_SIM_CAPTURE_RELAXED);
    for (int i = 0; i < UNSAFE_CALLS; i++)
        cr_assert(eq(int, unsafe_calls[i](), 0), "call %d", i);
    cr_assert(eq(int, end(), 0));
}

Test(sim_graph, inside_a_relaxed_exchange_every_call_is_safe)
{
    begin(GP_SIM_CAPTURE_GLOBAL);
    gp_sim_capture_mode mode = GP_SIM_CAPTURE_RELAXED;
    cr_assert(eq(int, gp_sim_exchange_capture_mode(&mode), 0));
    cr_assert(eq(int, mode, GP_SIM_CAPTURE_GLOBAL));

    for (int i = 0; i < UNSAFE_CALLS; i++)
        cr_assert(eq(int, unsafe_calls[i](), 0), "call %d", i);

    cr_assert(eq(int, gp_sim_exchange_capture_mode(&mode), 0));
    cr_assert(eq(int, mode, GP_SIM_CAPTURE_RELAXED));
    cr_assert(eq(int, end(), 0));
}

Test(sim_graph, inside_a_thread_local_exchange_only_the_thread_s_own_captures_count)
{
    cudaStream_t own = eager;
    gp_sim_graph graph;
    gp_sim_capture_mode mode = GP_SIM_CAPTURE_THREAD_LOCAL;
    begin_elsewhere();
    cr_assert(eq(int, gp_sim_exchange_capture_mode(&mode), 0));

    cr_assert(eq(int, query_event(), 0));
    cr_assert(eq(int, gp_sim_begin_capture(own, GP_SIM_CAPTURE_GLOBAL), 0));
    cr_assert(eq(int, query_event(), 900));

    cr_assert(eq(int, gp_sim_end_capture(own, &graph), 901));
    cr_assert(eq(int, status_of(captured), GP_SIM_CAPTURE_ACTIVE));
}

Test(sim_graph, reading_a_capturing_stream_s_id_invalidates_in_every_mode)
{
    for (int mode = GP_SIM_CAPTURE_GLOBAL; mode <= GP_SIM_CAPTURE_RELAXED; mode++) {
        uint64_t id = 0;
        begin((gp_sim_capture_mode)mode);
        cr_assert(eq(int, gp_sim_stream_get_id(eager, &id), 0));

        cr_assert(eq(int, gp_sim_stream_get_id(captured, &id), 900));

        cr_assert(eq(int, end(), 901));
    }
}

Test(sim_graph, synchronising_the_device_of_a_capturing_stream_invalidates_in_every_mode)
{
    begin(GP_SIM_CAPTURE_RELAXED);

    cr_assert(eq(int, gp_sim_device_synchronize(), 900));

    cr_assert(eq(int, end(), 901));
}

Test(sim_graph, an_event_may_be_recorded_and_waited_for_while_others_capture)
{
    begin(GP_SIM_CAPTURE_GLOBAL);

    cr_assert(eq(int, gp_sim_event_record(event, eager), 0));
    cr_assert(eq(int, gp_sim_stream_wait_event(eager, event), 0));

    cr_assert(eq(int, end(), 0));
}

/* C21 */
Test(sim_graph, an_event_recorded_in_a_capture_can_never_be_queried)
{
    begin(GP_SIM_CAPTURE_RELAXED);
    cr_assert(eq(int, gp_sim_event_record(event, captured), 0));
    cr_assert(eq(int, gp_sim_event_query(event), 907));
    cr_assert(eq(int, end(), 901));

    cr_assert(eq(int, gp_sim_event_query(event), 907));
    cr_assert(eq(int, gp_sim_event_record(event, eager), 0));
    cr_assert(eq(int, gp_sim_event_query(event), 0));
}

Test(sim_graph, a_capture_cannot_depend_on_eager_work)
{
    begin(GP_SIM_CAPTURE_RELAXED);

    cr_assert(eq(int, gp_sim_stream_wait_event(captured, event), 905));
    cr_assert(eq(int, end(), 901));
}

/* C28 */
Test(sim_graph, the_legacy_stream_is_out_of_reach_while_a_blocking_stream_captures)
{
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    cudaStream_t blocking = NULL;
    cr_assert(eq(int, gp_sim_stream_create(&blocking, false), 0));
    cr_assert(eq(int, gp_sim_begin_capture(blocking, GP_SIM_CAPTURE_RELAXED), 0));

    cr_assert(eq(int, gp_sim_stream_is_capturing(NULL, &status), 906));
    cr_assert(eq(int, status_of(blocking), GP_SIM_CAPTURE_ACTIVE), "asking does no harm");
    cr_assert(eq(int, gp_sim_launch(NULL, NULL, 0, 1), 906));
    cr_assert(eq(int, status_of(blocking), GP_SIM_CAPTURE_INVALIDATED));
}

Test(sim_graph, the_legacy_stream_does_not_mind_a_non_blocking_stream_s_capture)
{
    begin(GP_SIM_CAPTURE_RELAXED);

    cr_assert(eq(int, status_of(NULL), GP_SIM_CAPTURE_NONE));
    cr_assert(eq(int, gp_sim_launch(NULL, NULL, 0, 1), 0));
    cr_assert(eq(int, end(), 0));
}

static void *end_elsewhere(void *unused)
{
    (void)unused;
    result_elsewhere = end();
    return NULL;
}

Test(sim_graph, only_the_thread_that_began_a_global_capture_ends_it)
{
    pthread_t thread;
    begin(GP_SIM_CAPTURE_GLOBAL);
    cr_assert(eq(int, pthread_create(&thread, NULL, end_elsewhere, NULL), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));

    cr_assert(eq(int, result_elsewhere, 908));
    cr_assert(eq(int, end(), 0));
    cr_assert(eq(int, end(), 401));
}

Test(sim_graph, destroying_a_capturing_stream_ends_its_capture)
{
    begin(GP_SIM_CAPTURE_GLOBAL);
    cr_assert(eq(int, gp_sim_stream_destroy(captured), 0));

    cr_assert(eq(int, gp_sim_event_query(event), 0), "nothing captures any more");
}

/* ---- branches ---- */

static void fork_to(cudaStream_t from, cudaStream_t to)
{
    gp_sim_event fork;
    cr_assert(eq(int, gp_sim_event_create(&fork), 0));
    cr_assert(eq(int, gp_sim_event_record(fork, from), 0));
    cr_assert(eq(int, gp_sim_stream_wait_event(to, fork), 0));
}

Test(sim_graph, a_stream_that_waits_for_a_captured_event_joins_the_capture)
{
    begin(GP_SIM_CAPTURE_RELAXED);
    fork_to(captured, eager);
    cr_assert(eq(int, status_of(eager), GP_SIM_CAPTURE_ACTIVE));
    cr_assert(eq(int, gp_sim_launch(eager, NULL, 0, 1000), 0));
    fork_to(eager, captured);

    (void)finish();

    cr_assert(eq(int, status_of(eager), GP_SIM_CAPTURE_NONE));
}

Test(sim_graph, a_branch_that_was_not_joined_fails_the_capture)
{
    begin(GP_SIM_CAPTURE_RELAXED);
    fork_to(captured, eager);

    cr_assert(eq(int, end(), 904));
    cr_assert(eq(int, status_of(eager), GP_SIM_CAPTURE_NONE));
}

Test(sim_graph, two_captures_cannot_merge)
{
    begin(GP_SIM_CAPTURE_RELAXED);
    cr_assert(eq(int, gp_sim_begin_capture(eager, GP_SIM_CAPTURE_RELAXED), 0));
    gp_sim_event fork;
    cr_assert(eq(int, gp_sim_event_create(&fork), 0));
    cr_assert(eq(int, gp_sim_event_record(fork, captured), 0));

    cr_assert(eq(int, gp_sim_stream_wait_event(eager, fork), 902));
    cr_assert(eq(int, end(), 901));
}

/* ---- memory and replay ---- */

Test(sim_graph, a_replay_takes_the_time_of_its_longest_branch)
{
    begin(GP_SIM_CAPTURE_RELAXED);
    fork_to(captured, eager);
    cr_assert(eq(int, gp_sim_launch(captured, NULL, 0, 3000), 0));
    cr_assert(eq(int, gp_sim_launch(eager, NULL, 0, 5000), 0));
    fork_to(eager, captured);
    gp_sim_graph graph = finish();
    cr_assert(eq(int, gp_sim_stream_query(eager), 0), "nothing has run yet");
    uint64_t start = gp_sim_now_ns();

    cr_assert(eq(int, gp_sim_graph_launch(graph, captured), 0));
    cr_assert(eq(int, gp_sim_stream_synchronize(captured), 0));

    cr_assert(eq(u64, gp_sim_now_ns() - start, 5000));
    cr_assert(eq(int, gp_sim_graph_destroy(graph), 0));
}

Test(sim_graph, memory_allocated_and_freed_in_a_graph_is_used_by_every_replay)
{
    void *ptr = NULL;
    begin(GP_SIM_CAPTURE_GLOBAL);
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, KIB(4), pool, captured), 0));
    cr_assert(eq(int, write_to(ptr, KIB(4), captured), 0));
    cr_assert(eq(int, gp_sim_free_async(ptr, captured), 0));
    gp_sim_graph graph = finish();

    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, gp_sim_graph_launch(graph, i % 2 == 0 ? captured : eager), 0));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

/* C26 */
Test(sim_graph, a_graph_whose_memory_is_still_live_cannot_run_again)
{
    void *ptr = NULL;
    begin(GP_SIM_CAPTURE_GLOBAL);
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, KIB(4), pool, captured), 0));
    gp_sim_graph graph = finish();
    cr_assert(eq(int, gp_sim_free_async(ptr, captured), 1), "it was never launched");

    cr_assert(eq(int, gp_sim_graph_launch(graph, captured), 0));
    cr_assert(eq(int, write_to(ptr, KIB(4), captured), 0));
    cr_assert(eq(int, gp_sim_graph_launch(graph, captured), 1));
    cr_assert(eq(int, gp_sim_free_async(ptr, captured), 0));
    cr_assert(eq(int, gp_sim_graph_launch(graph, captured), 0));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

/* C25 */
Test(sim_graph, an_eager_block_cannot_be_freed_by_a_graph_and_the_capture_goes_on)
{
    void *ptr = NULL;
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, KIB(4), pool, captured), 0));
    begin(GP_SIM_CAPTURE_GLOBAL);

    cr_assert(eq(int, gp_sim_free_async(ptr, captured), 1));

    cr_assert(eq(int, end(), 0));
    cr_assert(eq(int, gp_sim_free_async(ptr, captured), 0));
}

/* C25 */
Test(sim_graph, a_replay_that_touches_memory_freed_since_is_a_hazard)
{
    void *ptr = NULL;
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, KIB(4), pool, captured), 0));
    begin(GP_SIM_CAPTURE_GLOBAL);
    cr_assert(eq(int, write_to(ptr, KIB(4), captured), 0));
    gp_sim_graph graph = finish();
    cr_assert(eq(u64, gp_sim_hazard_count(), 0), "a capture touches nothing");
    cr_assert(eq(int, gp_sim_graph_launch(graph, captured), 0));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
    cr_assert(eq(int, gp_sim_free_async(ptr, captured), 0));

    cr_assert(eq(int, gp_sim_graph_launch(graph, captured), 0));

    gp_sim_hazard hazard;
    cr_assert(eq(sz, gp_sim_get_hazards(&hazard, 1), 1));
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_AFTER_FREE));
}

/* C10 */
Test(sim_graph, branches_of_a_graph_that_touch_the_same_bytes_are_a_race)
{
    void *ptr = NULL;
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, KIB(4), pool, captured), 0));
    begin(GP_SIM_CAPTURE_GLOBAL);
    fork_to(captured, eager);
    cr_assert(eq(int, write_to(ptr, KIB(4), captured), 0));
    cr_assert(eq(int, write_to(ptr, KIB(4), eager), 0));
    fork_to(eager, captured);
    gp_sim_graph graph = finish();

    cr_assert(eq(int, gp_sim_graph_launch(graph, captured), 0));

    gp_sim_hazard hazard;
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
    cr_assert(eq(sz, gp_sim_get_hazards(&hazard, 1), 1));
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_RACE));
}

Test(sim_graph, memory_of_a_launched_graph_is_taken_from_the_device_until_it_is_destroyed)
{
    size_t before;
    size_t during;
    size_t after;
    size_t total;
    void *ptr = NULL;
    cr_assert(eq(int, gp_sim_mem_get_info(&before, &total), 0));
    begin(GP_SIM_CAPTURE_GLOBAL);
    cr_assert(eq(int, gp_sim_malloc_async(&ptr, KIB(64), pool, captured), 0));
    cr_assert(eq(int, gp_sim_free_async(ptr, captured), 0));
    gp_sim_graph graph = finish();

    cr_assert(eq(int, gp_sim_graph_launch(graph, captured), 0));
    cr_assert(eq(int, gp_sim_mem_get_info(&during, &total), 0));
    cr_assert(eq(int, gp_sim_graph_destroy(graph), 0));
    cr_assert(eq(int, gp_sim_mem_get_info(&after, &total), 0));

    cr_assert(eq(sz, before - during, KIB(64)));
    cr_assert(eq(sz, after, before));
}
