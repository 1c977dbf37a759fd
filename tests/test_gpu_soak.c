/*
 * Threads and streams for a while: random sizes, every block filled with its own
 * byte and compared before it is freed, some handed to another thread that frees
 * them on its own stream. GP_TEST_SECONDS says how long. Runs on the simulated
 * device too.
 */
#include "gpu_fixture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 8, STREAMS = 2, HELD = 24, SYNC_EVERY = 512 };

typedef struct held_block {
    void *ptr;
    size_t bytes;
    cudaStream_t stream; /* that filled it */
    uint8_t value;
} held_block;

/* One block on its way to another thread, behind an event. */
typedef struct mailbox {
    pthread_mutex_t lock;
    held_block block; /* ptr NULL: empty */
    device_event ready;
} mailbox;

typedef struct soaker {
    gpu_thread thread;
    uint64_t random;
    cudaStream_t streams[STREAMS];
    held_block held[HELD];
    mailbox inbox;
    struct soaker *neighbour;
    double seconds;
} soaker;

static uint64_t next_random(soaker *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random;
}

/* Log-uniform from 1 byte to 4 MiB, now and then more. */
static size_t random_bytes(soaker *self)
{
    uint64_t bits = next_random(self);
    size_t most = (size_t)1 << bits % 23;
    if (bits >> 56 == 0)
        most = MIB(32);
    return 1 + (size_t)(bits >> 8) % most;
}

static bool take_block(soaker *self, held_block *block)
{
    block->bytes = random_bytes(self);
    block->value = (uint8_t)next_random(self);
    block->stream = self->streams[next_random(self) % STREAMS];
    return EXPECT_GP(gp_alloc_from_pool_async(&block->ptr, block->bytes, pool, block->stream)) &&
           EXPECT_RUN(device->fill(block->stream, block->ptr, block->bytes, block->value));
}

/* On `stream`, which is ordered after the fill. */
static bool drop_block(held_block *block, cudaStream_t stream)
{
    void *ptr = block->ptr;
    block->ptr = NULL;
    return EXPECT_RUN(device->check(stream, ptr, block->bytes, block->value)) &&
           EXPECT_GP(gp_free_async(ptr, stream));
}

static bool hand_on(held_block *block, mailbox *box)
{
    bool fine = true;
    pthread_mutex_lock(&box->lock);
    if (box->block.ptr == NULL) {
        fine = EXPECT_RUN(device->event_record(box->ready, block->stream));
        box->block = *block;
        block->ptr = NULL;
    }
    pthread_mutex_unlock(&box->lock);
    return fine;
}

static bool empty_inbox(soaker *self)
{
    bool fine = true;
    mailbox *box = &self->inbox;
    pthread_mutex_lock(&box->lock);
    if (box->block.ptr != NULL)
        fine = EXPECT_RUN(device->stream_wait(self->streams[0], box->ready)) &&
               drop_block(&box->block, self->streams[0]);
    pthread_mutex_unlock(&box->lock);
    return fine;
}

static bool soak_once(soaker *self)
{
    held_block *block = &self->held[next_random(self) % HELD];
    if (block->ptr == NULL)
        return take_block(self, block);
    if (next_random(self) % 8 == 0)
        return hand_on(block, &self->neighbour->inbox);
    return drop_block(block, block->stream);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool catch_up(soaker *self)
{
    bool fine = empty_inbox(self);
    for (int i = 0; i < STREAMS && fine; i++)
        fine = EXPECT_RUN(device->stream_synchronize(self->streams[i]));
    return fine;
}

static void soak(void *argument)
{
    soaker *self = argument;
    bool fine = true;
    double end = seconds_now() + self->seconds;
    for (unsigned round = 1; fine && seconds_now() < end; round++) {
        fine = soak_once(self) && empty_inbox(self);
        if (round % SYNC_EVERY == 0)
            fine = fine && catch_up(self);
    }
    for (int i = 0; i < HELD && fine; i++) {
        if (self->held[i].ptr != NULL)
            fine = drop_block(&self->held[i], self->held[i].stream);
    }
}

static void prepare(soaker *self, uint64_t seed, soaker *neighbour, bool attach)
{
    self->random = seed;
    self->neighbour = neighbour;
    const char *seconds = getenv("GP_TEST_SECONDS");
    self->seconds = seconds != NULL ? atof(seconds) : device->kind == GP_BACKEND_SIM ? 0.5 : 5;
    pthread_mutex_init(&self->inbox.lock, NULL);
    RUN(device->event_create(&self->inbox.ready));
    for (int i = 0; i < STREAMS; i++) {
        self->streams[i] = gpu_stream();
        if (attach)
            GP(gp_stream_attach(pool, self->streams[i]));
    }
}

static void finish(soaker *self, bool attach)
{
    cr_assert(empty_inbox(self));
    RUN(device->event_destroy(self->inbox.ready));
    for (int i = 0; i < STREAMS; i++) {
        if (attach)
            GP(gp_stream_detach(pool, self->streams[i]));
        RUN(device->stream_destroy(self->streams[i]));
    }
}

static void soak_threads(bool attach)
{
    static soaker soakers[THREADS];
    memset(soakers, 0, sizeof(soakers));
    for (int i = 0; i < THREADS; i++)
        prepare(&soakers[i], 0x9E3779B97F4A7C15u * (uint64_t)(i + 1), &soakers[(i + 1) % THREADS],
                attach);

    for (int i = 0; i < THREADS; i++)
        gpu_thread_start(&soakers[i].thread, soak, &soakers[i]);
    for (int i = 0; i < THREADS; i++)
        gpu_thread_join(&soakers[i].thread);
    gpu_settle();
    for (int i = 0; i < THREADS; i++)
        finish(&soakers[i], attach);

    gpu_settle();
    gp_pool_stats stats = gpu_stats();
    cr_assert(eq(u64, stats.live_bytes, 0));
    cr_assert(eq(u64, stats.live_blocks, 0));
    cr_assert(eq(u64, stats.requests - stats.failures, stats.frees));
    cr_assert(eq(u64, stats.reserved_bytes, stats.cached_bytes));
}

GPU_TEST(gpu_soak, keeps_every_byte_of_many_threads_on_checked_streams)
{
    soak_threads(false);
}

GPU_TEST(gpu_soak, keeps_every_byte_of_many_threads_on_attached_streams)
{
    soak_threads(true);
}
