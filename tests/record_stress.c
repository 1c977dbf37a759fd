/*
 * Recordings of many threads that hand blocks to each other: whatever the threads do, each address
 * is allocated and freed by turns in the file. Read here with nothing of the harness, so that it
 * runs under ThreadSanitizer as well.
 *
 *   record_stress [--rounds N]
 */
#include "gp/gp.h"
#include "gp/sim.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define PLACES 64
#define STEPS 1500 /* A thread's: less than a ring holds, so that nothing is dropped. */
#define HOARD 300
#define MOST_CALLS (2 * THREADS * STEPS + PLACES)

static gp_pool *pool;
static cudaStream_t streams[2];
static _Atomic(void *) places[PLACES];
static char path[] = "/tmp/gp_record_stress_XXXXXX";

static void expect(bool condition, const char *what)
{
    if (condition)
        return;
    (void)fprintf(stderr, "record_stress: %s: %s; see %s\n", what, gp_last_error(), path);
    exit(1);
}

/* ---- threads ---- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void free_block(void *block, cudaStream_t stream)
{
    expect(gp_free_async(block, stream) == GP_OK, "gp_free_async");
}

/* Each step puts a block where all threads do, and frees what was there. A few sizes, on streams
 * that threads share, so that caches are flushed and filled all the time. */
static void *exchange_blocks(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    for (int i = 0; i < STEPS; i++) {
        uint64_t draw = next_random(&random);
        cudaStream_t stream = streams[draw % 2];
        void *block = NULL;
        size_t bytes = draw % 97 == 0 ? (size_t)3 << 20 : (size_t)512 << (draw / 2 % 3);
        expect(gp_alloc_from_pool_async(&block, bytes, pool, stream) == GP_OK,
               "gp_alloc_from_pool_async");
        void *other = atomic_exchange(&places[draw / 8 % PLACES], block);
        if (other != NULL)
            free_block(other, stream);
    }
    return NULL;
}

/* Each round frees so many blocks of its own that most leave the thread's cache, and then takes
 * as many, of which some were another thread's: all but the first by hits. */
static void *hoard_blocks(void *argument)
{
    void *blocks[HOARD];
    (void)argument;
    for (int round = 0; round < STEPS / HOARD; round++) {
        for (int i = 0; i < HOARD; i++)
            expect(gp_alloc_from_pool_async(&blocks[i], 512, pool, streams[0]) == GP_OK,
                   "gp_alloc_from_pool_async");
        for (int i = 0; i < HOARD; i++)
            free_block(blocks[i], streams[0]);
    }
    return NULL;
}

static void run_threads(uintptr_t seed)
{
    void *(*const run)(void *) = seed % 2 == 0 ? exchange_blocks : hoard_blocks;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        expect(pthread_create(&threads[i], NULL, run, (void *)(seed * THREADS + i + 1)) == 0,
               "pthread_create");
    for (int i = 0; i < THREADS; i++)
        expect(pthread_join(threads[i], NULL) == 0, "pthread_join");
    for (int i = 0; i < PLACES; i++) {
        void *block = atomic_exchange(&places[i], NULL);
        if (block != NULL)
            free_block(block, streams[0]);
    }
}

/* ---- the file ---- */

/* A call: where it stands in the file, which sorts those of one address. */
typedef struct call {
    uint64_t address;
    uint32_t line;
    char op;
} call;

static int compare_calls(const void *left, const void *right)
{
    const call *a = left;
    const call *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->line < b->line ? -1 : 1;
}

static size_t read_calls(call *calls)
{
    char line[128];
    size_t count = 0;
    bool ended = false;
    FILE *file = fopen(path, "r");
    expect(file != NULL && fgets(line, sizeof(line), file) != NULL &&
               fgets(line, sizeof(line), file) != NULL,
           "the first lines");
    while (fgets(line, sizeof(line), file) != NULL) {
        char *rest = strchr(line, ',');
        expect(!ended && rest != NULL && count < MOST_CALLS, "a line too many");
        ended = rest[1] == 'e';
        if (!ended)
            calls[count] = (call){
                .address = strtoull(rest + 3, NULL, 10), .line = (uint32_t)count, .op = rest[1]};
        count += !ended;
    }
    expect(ended && fclose(file) == 0, "the last line");
    return count;
}

static void check_order(const gp_trace_totals *totals)
{
    static call calls[MOST_CALLS];
    size_t count = read_calls(calls);
    expect(totals->dropped_events == 0, "calls were dropped");
    expect(count == totals->recorded_events, "the number of calls");
    qsort(calls, count, sizeof(*calls), compare_calls);
    for (size_t i = 0; i < count; i++) {
        bool is_first = i == 0 || calls[i - 1].address != calls[i].address;
        char expected = is_first || calls[i - 1].op == 'f' ? 'a' : 'f';
        if (calls[i].op != expected)
            (void)fprintf(stderr, "line %u, id %" PRIu64 "\n", calls[i].line + 3, calls[i].address);
        expect(calls[i].op == expected, "calls out of order");
    }
}

int main(int argc, char **argv)
{
    long rounds = argc == 3 && strcmp(argv[1], "--rounds") == 0 ? atol(argv[2]) : 20;
    gp_pool_config config;
    gp_pool_config_init(&config);
    config.backend = GP_BACKEND_SIM;
    config.l1_refill_percent = 90; /* Many refills that no allocation waits for. */
    int file = mkstemp(path);
    expect(file >= 0 && close(file) == 0, "mkstemp");
    expect(gp_pool_create(&pool, &config) == GP_OK, "gp_pool_create");
    for (int i = 0; i < 2; i++)
        expect(gp_sim_stream_create(&streams[i], true) == 0, "gp_sim_stream_create");
    expect(gp_stream_attach(pool, streams[0]) == GP_OK, "gp_stream_attach");

    for (long i = 0; i < rounds; i++) {
        gp_trace_totals totals = {.struct_bytes = sizeof(totals)};
        expect(gp_trace_start(pool, path) == GP_OK, "gp_trace_start");
        run_threads((uintptr_t)i);
        expect(gp_trace_stop(pool, &totals) == GP_OK, "gp_trace_stop");
        check_order(&totals);
    }
    expect(gp_stream_detach(pool, streams[0]) == GP_OK, "gp_stream_detach");
    expect(gp_pool_destroy(pool) == GP_OK, "gp_pool_destroy");
    (void)unlink(path);
    (void)printf("%ld recordings in order\n", rounds);
    return 0;
}
