/*
 * Everything at once: sixteen threads, sixty-four streams, a pattern in every block, frees on
 * other streams, recorded uses, captures with replays, trims, and streams that end. How long:
 * GP_TEST_SECONDS. Runs on the simulated device too.
 */
#include "gpu_fixture.h"

#include "seeded_random.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 16, STREAMS = 4, HELD = 16, SYNC_EVERY = 256 };

typedef struct held_block {
    void *ptr;
    size_t bytes;
    int stream; /* that filled it */
    uint8_t value;
} held_block;

typedef struct torturer {
    gpu_thread thread;
    uint64_t seed;
    double seconds;
    cudaStream_t streams[STREAMS]; /* the first two are attached */
    device_event event;
    held_block held[HELD];
} torturer;

static bool wait_between(torturer *self, int earlier, int later)
{
    return earlier == later ||
           (EXPECT_RUN(device->event_record(self->event, self->streams[earlier])) &&
            EXPECT_RUN(device->stream_wait(self->streams[later], self->event)));
}

/* Log-uniform from 1 byte to 8 MiB. */
static size_t random_bytes(torturer *self)
{
    size_t most = (size_t)1 << seeded_random_below(&self->seed, 24);
    return 1 + seeded_random_below(&self->seed, most);
}

static bool take(torturer *self, held_block *block)
{
    block->stream = (int)seeded_random_below(&self->seed, STREAMS);
    block->bytes = random_bytes(self);
    block->value = (uint8_t)seeded_random(&self->seed);
    cudaStream_t stream = self->streams[block->stream];
    return EXPECT_GP(gp_alloc_from_pool_async(&block->ptr, block->bytes, pool, stream)) &&
           EXPECT_RUN(device->fill(stream, block->ptr, block->bytes, block->value));
}

/* Checked on some stream, freed there or, with the use recorded, where it was filled. */
static bool drop(torturer *self, held_block *block)
{
    int user = (int)seeded_random_below(&self->seed, STREAMS);
    bool recorded = user != block->stream && seeded_random_below(&self->seed, 2) == 0;
    void *ptr = block->ptr;
    block->ptr = NULL;
    return wait_between(self, block->stream, user) &&
           EXPECT_RUN(device->check(self->streams[user], ptr, block->bytes, block->value)) &&
           (!recorded || EXPECT_GP(gp_record_use(ptr, self->streams[user]))) &&
           EXPECT_GP(gp_free_async(ptr, self->streams[recorded ? block->stream : user]));
}

/* A graph on the last stream, which is checked; its blocks are its own. Not in global mode, in
 * which the synchronisations of the other threads, which are the test's, would invalidate it. */
static bool capture(torturer *self)
{
    cudaStream_t stream = self->streams[STREAMS - 1];
    device_graph graph = NULL;
    size_t bytes = random_bytes(self);
    void *ptr = NULL;
    device_capture_mode mode = (device_capture_mode)(1 + seeded_random_below(&self->seed, 2));
    bool fine = EXPECT_RUN(device->capture_begin(stream, mode)) &&
                EXPECT_GP(gp_alloc_from_pool_async(&ptr, bytes, pool, stream)) &&
                EXPECT_RUN(device->fill(stream, ptr, bytes, 0x5A)) &&
                EXPECT_RUN(device->check(stream, ptr, bytes, 0x5A)) &&
                EXPECT_GP(gp_free_async(ptr, stream)) &&
                EXPECT_RUN(device->capture_end(stream, &graph));
    for (int i = 0; i < 3 && fine; i++)
        fine = EXPECT_RUN(device->graph_launch(graph, stream));
    return fine && EXPECT_RUN(device->stream_synchronize(stream)) &&
           EXPECT_RUN(device->graph_destroy(graph));
}

static bool synchronize_all(torturer *self)
{
    bool fine = true;
    for (int i = 0; i < STREAMS && fine; i++)
        fine = EXPECT_RUN(device->stream_synchronize(self->streams[i]));
    return fine;
}

/* One stream ends with work queued; a new one takes its place, ordered after it. */
static bool replace_stream(torturer *self)
{
    int place = (int)seeded_random_below(&self->seed, STREAMS);
    bool attached = place < 2;
    cudaStream_t old = self->streams[place];
    return EXPECT_RUN(device->event_record(self->event, old)) &&
           (!attached || EXPECT_GP(gp_stream_detach(pool, old))) &&
           EXPECT_RUN(device->stream_destroy(old)) &&
           EXPECT_RUN(device->stream_create(&self->streams[place], true)) &&
           (!attached || EXPECT_GP(gp_stream_attach(pool, self->streams[place]))) &&
           EXPECT_RUN(device->stream_wait(self->streams[place], self->event));
}

static bool torture_once(torturer *self)
{
    size_t what = seeded_random_below(&self->seed, 1000);
    if (what == 0)
        return EXPECT_GP(gp_pool_trim_to(pool, seeded_random_below(&self->seed, 2) ? 0 : MIB(64)));
    if (what < 4)
        return capture(self);
    if (what < 6)
        return replace_stream(self);
    held_block *block = &self->held[seeded_random_below(&self->seed, HELD)];
    return block->ptr == NULL ? take(self, block) : drop(self, block);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool begin(torturer *self)
{
    bool fine = EXPECT_RUN(device->event_create(&self->event));
    for (int i = 0; i < STREAMS && fine; i++)
        fine = EXPECT_RUN(device->stream_create(&self->streams[i], true)) &&
               (i >= 2 || EXPECT_GP(gp_stream_attach(pool, self->streams[i])));
    return fine;
}

static void end(torturer *self)
{
    bool fine = true;
    for (int i = 0; i < HELD && fine; i++)
        fine = self->held[i].ptr == NULL || drop(self, &self->held[i]);
    fine = fine && synchronize_all(self);
    for (int i = 0; i < STREAMS && fine; i++)
        fine = (i >= 2 || EXPECT_GP(gp_stream_detach(pool, self->streams[i]))) &&
               EXPECT_RUN(device->stream_destroy(self->streams[i]));
    EXPECT_RUN(device->event_destroy(self->event));
}

static void torture(void *argument)
{
    torturer *self = argument;
    bool fine = begin(self);
    double until = seconds_now() + self->seconds;
    for (unsigned round = 1; fine && seconds_now() < until; round++) {
        fine = torture_once(self);
        if (round % SYNC_EVERY == 0)
            fine = fine && synchronize_all(self);
    }
    if (fine)
        end(self);
}

/* C73, and the whole of what the other tests try one by one. */
GPU_TEST(gpu_torture, loses_no_byte)
{
    static torturer torturers[THREADS];
    const char *seconds = getenv("GP_TEST_SECONDS");
    for (int i = 0; i < THREADS; i++) {
        torturers[i].seed = (uint64_t)i + 1;
        torturers[i].seconds = seconds != NULL                  ? atof(seconds)
                               : device->kind == GP_BACKEND_SIM ? 1
                                                                : 10;
        gpu_thread_start(&torturers[i].thread, torture, &torturers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        gpu_thread_join(&torturers[i].thread);

    gpu_settle();
    gp_pool_stats stats = gpu_stats();
    cr_assert(eq(u64, stats.live_bytes, 0));
    cr_assert(eq(u64, stats.requests - stats.failures, stats.frees));
    cr_assert(lt(u64, 0, stats.captured));
}
