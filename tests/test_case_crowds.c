/* Many threads at once: what they may do to each other, and what no call may hold meanwhile. */
#include "pool_fixture.h"
#include "seeded_random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

TestSuite(case_crowds, .init = pool_open, .fini = pool_close);

typedef struct worker {
    pthread_t id;
    void (*step)(struct worker *self);
    cudaStream_t streams[2];
    uint64_t seed;
    int rounds;
    gp_status status; /* first failure */
    char text[512];
} worker;

static bool is_fine(worker *self, gp_status status)
{
    if (self->status == GP_OK && status != GP_OK) {
        self->status = status;
        (void)snprintf(self->text, sizeof(self->text), "%s", gp_last_error());
    }
    return status == GP_OK;
}

static void *work(void *started)
{
    worker *self = started;
    for (int i = 0; i < self->rounds && self->status == GP_OK; i++)
        self->step(self);
    return NULL;
}

static void start(worker *self, void (*step)(worker *), int number, int rounds)
{
    *self = (worker){.step = step, .seed = (uint64_t)number, .rounds = rounds, .status = GP_OK};
    for (int i = 0; i < 2; i++)
        self->streams[i] = number % 2 ? pool_attached_stream() : pool_stream();
    cr_assert(eq(int, pthread_create(&self->id, NULL, work, self), 0));
}

static void join(worker *self)
{
    cr_assert(eq(int, pthread_join(self->id, NULL), 0));
    cr_assert(eq(int, (int)self->status, (int)GP_OK), "%s", self->text);
}

/* Frees behind an event on another stream: the path that records, queries and waits. */
static void miss(worker *self)
{
    void *block = NULL;
    size_t bytes = KIB(64) << seeded_random_below(&self->seed, 8);
    if (!is_fine(self, gp_alloc_from_pool_async(&block, bytes, pool, self->streams[0])))
        return;
    const gp_sim_access access = {.base = block, .bytes = bytes, .writes = true};
    (void)gp_sim_launch(self->streams[0], &access, 1, 1000);
    (void)is_fine(self, gp_record_use(block, self->streams[1]));
    (void)is_fine(self, gp_free_async(block, self->streams[0]));
}

static void hit(worker *self)
{
    void *block = NULL;
    if (is_fine(self, gp_alloc_from_pool_async(&block, KIB(4), pool, self->streams[0])))
        (void)is_fine(self, gp_free_async(block, self->streams[0]));
}

static void trim(worker *self)
{
    const struct timespec pause = {.tv_nsec = 200000};
    (void)nanosleep(&pause, NULL);
    (void)is_fine(self, gp_pool_trim_to(pool, seeded_random_below(&self->seed, 2) ? 0 : MIB(64)));
}

static void look(worker *self)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    (void)is_fine(self, gp_pool_get_stats(pool, &stats));
    (void)is_fine(self, gp_pool_reset_peak(pool));
}

static void come_and_go(worker *self)
{
    cudaStream_t stream = NULL;
    void *block = NULL;
    if (gp_sim_stream_create(&stream, true) != 0)
        self->status = GP_ERR_CUDA;
    if (is_fine(self, gp_stream_attach(pool, stream)) &&
        is_fine(self, gp_alloc_from_pool_async(&block, MIB(2), pool, stream)))
        (void)is_fine(self, gp_free_async(block, stream));
    (void)is_fine(self, gp_stream_detach(pool, stream));
    if (gp_sim_stream_destroy(stream) != 0)
        self->status = GP_ERR_CUDA;
}

static void make_and_destroy(worker *self)
{
    gp_pool_config config = pool_config();
    gp_pool *passing = NULL;
    void *block = NULL;
    if (!is_fine(self, gp_pool_create(&passing, &config)))
        return;
    if (is_fine(self, gp_alloc_from_pool_async(&block, KIB(64), passing, self->streams[0])))
        (void)is_fine(self, gp_free_async(block, self->streams[0]));
    (void)is_fine(self, gp_pool_destroy(passing));
}

/* C73: everything was released while others allocated, and the list they read came apart.
 * C77: one thread held the pool and wanted the driver's lock, another the other way round; the
 * simulated driver has one lock, which every native call takes. */
Test(case_crowds, may_do_everything_at_once)
{
    static void (*const steps[])(worker *) = {miss, hit, trim, look, come_and_go, make_and_destroy};
    enum { WORKERS = 18 };
    static worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        start(&workers[i], steps[i % 6], i + 1, i % 6 == 1 ? 20000 : 300);
    for (int i = 0; i < WORKERS; i++)
        join(&workers[i]);

    pool_settle();
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    GP(gp_pool_check(pool));
}

/* ---- native calls ---- */

static uint64_t native_calls(void)
{
    uint64_t calls = 0;
    for (int i = 0; i < GP_SIM_FN_COUNT; i++)
        calls += gp_sim_call_count((gp_sim_function)i);
    return calls;
}

/* C78: a pair cost an event record and a trip through one mutex. Here a thread's first pair may
 * cost a few calls, and the 19,999 after it none. */
Test(case_crowds, that_hit_make_no_native_call_past_their_first)
{
    enum { WORKERS = 8, CALLS_AT_FIRST = 50 };
    static worker workers[WORKERS];
    cudaStream_t streams[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        streams[i] = pool_attached_stream();
        pool_use(KIB(4), streams[i]);
    }
    uint64_t before = native_calls();
    for (int i = 0; i < WORKERS; i++) {
        workers[i] =
            (worker){.step = hit, .streams = {streams[i]}, .rounds = 20000, .status = GP_OK};
        cr_assert(eq(int, pthread_create(&workers[i].id, NULL, work, &workers[i]), 0));
    }
    for (int i = 0; i < WORKERS; i++)
        join(&workers[i]);

    cr_assert(le(u64, native_calls() - before, WORKERS * CALLS_AT_FIRST));
}

/* ---- uses from many threads ---- */

#define SHARED_BYTES MIB(4) /* large, so that the next request gets it again */

static void *shared_block;

static void record(worker *self)
{
    const gp_sim_access access = {.base = shared_block, .bytes = SHARED_BYTES, .writes = false};
    if (gp_sim_launch(self->streams[0], &access, 1, 1000) != 0)
        self->status = GP_ERR_CUDA;
    (void)is_fine(self, gp_record_use(shared_block, self->streams[0]));
}

/* C72: uses are announced by several threads at once; the block comes back once, after all of
 * them. */
Test(case_crowds, that_use_one_block_get_it_back_once_and_after_the_last_use)
{
    enum { USERS = 3, ROUNDS = 300 };
    static worker workers[USERS];
    cudaStream_t home = pool_attached_stream();
    cudaStream_t users[USERS];
    for (int i = 0; i < USERS; i++)
        users[i] = pool_stream();
    for (int round = 0; round < ROUNDS; round++) {
        shared_block = pool_alloc(SHARED_BYTES, home);
        gp_sim_gate gate = NULL;
        for (int i = 0; i < USERS; i++) {
            pool_order(home, users[i]);
            if (i == round % USERS)
                gate = pool_close_gate(users[i]);
            workers[i] =
                (worker){.step = record, .streams = {users[i]}, .rounds = 2, .status = GP_OK};
            cr_assert(eq(int, pthread_create(&workers[i].id, NULL, work, &workers[i]), 0));
        }
        for (int i = 0; i < USERS; i++)
            join(&workers[i]);
        pool_free(shared_block, home);
        FAILS(GP_ERR_DOUBLE_FREE, gp_free_async(shared_block, home));
        FAILS(GP_ERR_DOUBLE_FREE, gp_record_use(shared_block, users[0]));

        pool_use(SHARED_BYTES, home);

        pool_open_gate(gate);
        pool_settle();
    }
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

/* ---- a lock of the user's ---- */

static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;

static void allocate_under_a_lock(worker *self)
{
    (void)pthread_mutex_lock(&users_lock);
    miss(self);
    (void)pthread_mutex_unlock(&users_lock);
}

static void lock_between_calls(worker *self)
{
    miss(self);
    (void)pthread_mutex_lock(&users_lock);
    (void)pthread_mutex_unlock(&users_lock);
    trim(self);
}

/* C75: a lock of the user's is held around a call in one thread and taken between calls in
 * another. gp calls nobody back, so it cannot be taken inside one. */
Test(case_crowds, that_hold_a_lock_of_their_own_do_not_wait_for_ever)
{
    static worker workers[4];
    for (int i = 0; i < 4; i++)
        start(&workers[i], i % 2 ? allocate_under_a_lock : lock_between_calls, i + 1, 500);
    for (int i = 0; i < 4; i++)
        join(&workers[i]);
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}
