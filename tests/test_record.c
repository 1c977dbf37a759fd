/* Recordings: what is in the file. */
#include "record_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(record, .init = record_open, .fini = record_close);

/* ---- what is in the file ---- */

Test(record, has_every_call_with_its_bytes_and_stream)
{
    cudaStream_t one = pool_attached_stream();
    cudaStream_t other = pool_stream();

    GP(gp_trace_start(pool, trace_path));
    void *small = pool_alloc(1000, one);
    void *large = pool_alloc(MIB(3), other);
    pool_free(small, one);
    void *again = pool_alloc(24, one);
    pool_free(large, other);
    pool_free(again, one);
    record_stop_and_read();

    cr_assert(eq(sz, trace_read_back.event_count, 6));
    trace_assert_event(0, 'a', 1000, 0, 0);
    trace_assert_event(1, 'a', MIB(3), 1, 0);
    trace_assert_event(2, 'f', 1000, 0, 0);
    trace_assert_event(3, 'a', 24, 0, 0);
    trace_assert_event(4, 'f', MIB(3), 1, 0);
    trace_assert_event(5, 'f', 24, 0, 0);
    cr_assert(eq(u64, record_totals.recorded_events, 6));
    cr_assert(eq(u64, record_totals.dropped_events, 0));
}

static void use_a_little(void *stream)
{
    pool_use(64, (cudaStream_t)stream);
}

Test(record, tells_threads_apart)
{
    cudaStream_t stream = pool_attached_stream();

    GP(gp_trace_start(pool, trace_path));
    pool_in_thread(use_a_little, stream);
    pool_use(128, stream);
    pool_in_thread(use_a_little, stream);
    record_stop_and_read();

    cr_assert(eq(sz, trace_read_back.event_count, 6));
    cr_assert(eq(sz, trace_read_back.thread_count, 3));
    trace_assert_event(1, 'f', 64, 0, 0);
    trace_assert_event(2, 'a', 128, 0, 1);
    trace_assert_event(4, 'a', 64, 0, 2);
}

Test(record, knows_what_was_live_before_by_its_free)
{
    cudaStream_t stream = pool_attached_stream();
    void *before = pool_alloc(1000, stream);

    GP(gp_trace_start(pool, trace_path));
    void *after = pool_alloc(64, stream);
    pool_free(before, stream);
    record_stop_and_read();

    cr_assert(eq(sz, trace_read_back.gaps.initial_blocks, 1));
    trace_assert_event(0, 'a', 1024, 0, 0);
    trace_assert_event(1, 'a', 64, 0, 0);
    trace_assert_event(2, 'f', 1024, 0, 0);
    pool_free(after, stream);
}

Test(record, leaves_calls_of_captures_out_and_counts_them)
{
    cudaStream_t stream = pool_stream();
    void *eager = pool_alloc(KIB(1), stream);
    gp_sim_graph graph = NULL;

    GP(gp_trace_start(pool, trace_path));
    SIM(gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL));
    pool_use(MIB(1), stream);
    pool_free(eager, stream);
    SIM(gp_sim_end_capture(stream, &graph));
    pool_use(KIB(2), stream);
    record_stop_and_read();

    cr_assert(eq(u64, record_totals.captured_events, 2));
    cr_assert(eq(u64, record_totals.recorded_events, 3));
    trace_assert_event(1, 'f', KIB(1), 0, 0);
    trace_assert_event(2, 'a', KIB(2), 1, 0);
    SIM(gp_sim_graph_destroy(graph));
}

Test(record, has_nothing_of_other_pools_nor_of_failed_calls)
{
    cudaStream_t stream = pool_attached_stream();
    gp_pool_config config = pool_config();
    gp_pool *other = NULL;
    void *block = NULL;
    GP(gp_pool_create(&other, &config));

    GP(gp_trace_start(pool, trace_path));
    GP(gp_alloc_from_pool_async(&block, 64, other, stream));
    GP(gp_free_async(block, stream));
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&block, GIB(64), pool, stream));
    GP(gp_alloc_from_pool_async(&block, 0, pool, stream));
    pool_use(512, stream);
    record_stop_and_read();

    cr_assert(eq(sz, trace_read_back.event_count, 2));
    GP(gp_pool_destroy(other));
}

/* ---- order across threads ---- */

#define HANDED 4000
#define HANDS 3

/* Blocks go round: each thread allocates one, puts it down, and frees what the one before it put
 * there; so most addresses are used by all. */
typedef struct hand {
    cudaStream_t stream;
    _Atomic(void *) *from, *to;
} hand;

static void *hand_round(void *argument)
{
    hand *self = argument;
    for (int i = 0; i < HANDED; i++) {
        void *block = NULL;
        if (gp_alloc_from_pool_async(&block, 64, pool, self->stream) != GP_OK)
            abort();
        void *given = atomic_exchange(self->from, NULL);
        if (given != NULL && gp_free_async(given, self->stream) != GP_OK)
            abort();
        given = atomic_exchange(self->to, block);
        if (given != NULL && gp_free_async(given, self->stream) != GP_OK)
            abort();
    }
    return NULL;
}

static void run_hands(_Atomic(void *) places[HANDS])
{
    cudaStream_t stream = pool_attached_stream();
    pthread_t threads[HANDS];
    hand hands[HANDS];
    for (int i = 0; i < HANDS; i++) {
        hands[i] = (hand){stream, &places[i], &places[(i + 1) % HANDS]};
        cr_assert(eq(int, pthread_create(&threads[i], NULL, hand_round, &hands[i]), 0));
    }
    for (int i = 0; i < HANDS; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
    for (int i = 0; i < HANDS; i++) {
        if (places[i] != NULL)
            pool_free(places[i], stream);
    }
}

/* That each address is allocated and freed by turns is what the reader checks. */
Test(record, has_the_calls_of_all_threads_in_their_order)
{
    static _Atomic(void *) places[HANDS];

    GP(gp_trace_start(pool, trace_path));
    run_hands(places);
    record_stop_and_read();

    cr_assert(eq(u64, record_totals.dropped_events, 0));
    cr_assert(eq(sz, trace_read_back.event_count, 2 * HANDS * HANDED));
    cr_assert(eq(sz, trace_read_back.gaps.initial_blocks, 0));
    cr_assert(eq(sz, trace_read_back.thread_count, HANDS + 1));
}

static atomic_bool stop_using;

static void *use_on(void *stream)
{
    while (!atomic_load(&stop_using)) {
        void *block = NULL;
        if (gp_alloc_from_pool_async(&block, 512, pool, (cudaStream_t)stream) != GP_OK ||
            gp_free_async(block, (cudaStream_t)stream) != GP_OK)
            abort();
    }
    return NULL;
}

/* So many frees of other threads, however busy the machine is. */
static void wait_for_frees(uint64_t count)
{
    uint64_t before = pool_stats().frees;
    while (pool_stats().frees < before + count)
        usleep(100);
}

Test(record, can_be_stopped_and_started_while_threads_allocate)
{
    cudaStream_t streams[2] = {pool_attached_stream(), pool_stream()};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, use_on, streams[i]), 0));

    for (int i = 0; i < 10; i++) {
        uint64_t seen = 0;
        GP(gp_trace_start(pool, trace_path));
        wait_for_frees(100);
        GP(gp_trace_stop(pool, &record_totals));
        record_read();
        seen = trace_read_back.event_count - trace_read_back.gaps.initial_blocks;
        /* Dropped calls leave frees that the reader puts in, or leaves out. */
        if (record_totals.dropped_events == 0)
            cr_assert(eq(u64, seen, record_totals.recorded_events));
        cr_assert(eq(u64, trace_read_back.gaps.dropped_events, record_totals.dropped_events));
    }

    atomic_store(&stop_using, true);
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
}

Test(record, gives_the_rings_of_threads_that_ended_to_the_next)
{
    cudaStream_t stream = pool_attached_stream();

    GP(gp_trace_start(pool, trace_path));
    for (int i = 0; i < 600; i++)
        pool_in_thread(use_a_little, stream);
    record_stop_and_read();

    cr_assert(eq(u64, record_totals.dropped_events, 0));
    cr_assert(eq(sz, trace_read_back.thread_count, 600));
}

/* So many threads at once that some get no ring. */
#define CROWD 270

static pthread_barrier_t crowd;

static void *use_and_stay(void *stream)
{
    pool_use(64, (cudaStream_t)stream);
    (void)pthread_barrier_wait(&crowd);
    return NULL;
}

Test(record, counts_the_calls_of_threads_that_are_too_many)
{
    cudaStream_t stream = pool_attached_stream();
    static pthread_t threads[CROWD];
    cr_assert(eq(int, pthread_barrier_init(&crowd, NULL, CROWD + 1), 0));

    GP(gp_trace_start(pool, trace_path));
    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, use_and_stay, stream), 0));
    (void)pthread_barrier_wait(&crowd);
    for (int i = 0; i < CROWD; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
    record_stop_and_read();

    cr_assert(eq(u64, record_totals.recorded_events, 2 * 256));
    cr_assert(eq(u64, record_totals.dropped_events, 2 * (CROWD - 256)));
    cr_assert(eq(u64, trace_read_back.gaps.dropped_events, record_totals.dropped_events));
}

Test(record, hears_several_pools_of_one_thread_each_in_its_own_file)
{
    cudaStream_t stream = pool_attached_stream();
    gp_pool_config config = pool_config();
    gp_pool *others[5] = {NULL};
    char paths[5][96];
    void *block = NULL;
    for (int i = 0; i < 5; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s.%d", trace_path, i);
        GP(gp_pool_create(&others[i], &config));
        GP(gp_trace_start(others[i], paths[i]));
    }
    GP(gp_trace_start(pool, trace_path));
    pool_use(KIB(1), stream);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 5; i++) {
            GP(gp_alloc_from_pool_async(&block, 64, others[i], stream));
            GP(gp_free_async(block, stream));
        }
    }
    record_stop_and_read();

    cr_assert(eq(u64, record_totals.recorded_events, 2));
    for (int i = 0; i < 5; i++) {
        GP(gp_trace_stop(others[i], &record_totals));
        cr_assert(eq(u64, record_totals.recorded_events, 6));
        GP(gp_pool_destroy(others[i]));
        (void)unlink(paths[i]);
    }
}
