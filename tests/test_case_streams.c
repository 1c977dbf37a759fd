/* Blocks between streams and devices, and streams by the thousand. */
#include "pool_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

TestSuite(case_streams, .init = pool_open, .fini = pool_close);

/* ---- between streams ---- */

/* C03: a finaliser frees on its own idle stream; the use was recorded on the block's stream. */
Test(case_streams, free_on_an_idle_stream_waits_for_the_use_recorded_on_the_blocks_own)
{
    static const size_t sizes[] = {KIB(4), MIB(1), MIB(16)};
    for (int i = 0; i < 6; i++) {
        size_t bytes = sizes[i / 2];
        cudaStream_t user = i % 2 ? pool_attached_stream() : pool_stream();
        cudaStream_t idle = i % 2 ? pool_attached_stream() : pool_stream();
        void *block = pool_alloc(bytes, user);
        pool_order(user, idle); /* the allocation; not the use */
        gp_sim_gate gate = pool_close_gate(user);
        pool_write(block, bytes, user);
        GP(gp_record_use(block, user));
        pool_free(block, idle);

        void *next = pool_alloc(bytes, idle);
        pool_write(next, bytes, idle);

        pool_open_gate(gate);
        pool_settle();
        pool_free(next, idle);
    }
}

enum { STEPS = 200 };

/* One run of a host that never waits: addresses and the most that was reserved. */
static uint64_t run_ahead(uintptr_t *addresses)
{
    gp_pool_config config = pool_config();
    gp_sim_config machine = pool_machine();
    pool_reopen(&machine, &config);
    cudaStream_t producer = pool_attached_stream();
    cudaStream_t consumer = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(producer);
    for (int i = 0; i < STEPS; i++) {
        void *block = pool_alloc(MIB(64), producer);
        pool_write(block, MIB(64), producer);
        pool_order(producer, consumer);
        pool_read(block, MIB(64), consumer);
        pool_free(block, consumer);
        addresses[i] = (uintptr_t)block;
    }
    pool_open_gate(gate);
    return pool_stats().reserved_bytes_high;
}

/* C06: reuse that hung on when the host happened to poll gave another peak in every run. */
Test(case_streams, host_that_runs_ahead_gets_the_same_few_addresses_in_every_run)
{
    static uintptr_t first[STEPS];
    static uintptr_t again[STEPS];
    uint64_t high = run_ahead(first);
    cr_assert(le(u64, high, 3 * MIB(64)));

    for (int run = 0; run < 10; run++) {
        cr_assert(eq(u64, run_ahead(again), high));
        for (int i = 0; i < STEPS; i++)
            cr_assert(eq(u64, again[i] - again[0], first[i] - first[0]), "step %d", i);
    }
}

/* ---- many streams ---- */

/* C16: 100,000 short-lived streams, each detached before it ends. */
Test(case_streams, attached_a_hundred_thousand_times_leave_no_trace)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.check_hazards = false; /* which remembers every stream that ever was */
    pool_reopen(&machine, &config);
    gp_pool_stats early = {.struct_bytes = sizeof(early)};
    size_t events = 0;

    for (int i = 0; i < 100000; i++) {
        cudaStream_t stream = pool_attached_stream();
        pool_use(KIB(4), stream);
        GP(gp_stream_detach(pool, stream));
        pool_drop_stream(stream);
        if (i == 1000) {
            early = pool_stats();
            events = gp_sim_live_events();
        }
    }

    gp_pool_stats late = pool_stats();
    cr_assert(le(u64, late.metadata_bytes, early.metadata_bytes + KIB(64)));
    cr_assert(le(u64, late.reserved_bytes, MIB(8)));
    cr_assert(le(sz, gp_sim_live_events(), events + 4));
    cr_assert(eq(u32, late.streams, 0));
}

/* C16, second part: 4,096 streams at once, each with a small block of its own. */
Test(case_streams, thousands_at_once_keep_to_the_pools_limit)
{
    enum { COUNT = 4096 };
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_bytes = GIB(16);
    config.max_bytes = GIB(1);
    pool_reopen(&machine, &config);

    for (int i = 0; i < COUNT; i++) {
        cudaStream_t stream = pool_attached_stream();
        pool_use(KIB(64), stream);
        SIM(gp_sim_stream_synchronize(stream));
    }

    cr_assert(le(u64, pool_stats().reserved_bytes_high, GIB(1)));
    cr_assert(eq(u64, pool_stats().failures, 0));
}

/* ---- two devices ---- */

static gp_pool *second;

static void open_two_devices(void)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_count = 2;
    pool_reopen(&machine, &config);
    config.device = 1;
    GP(gp_pool_create(&second, &config));
}

static void close_second(void)
{
    GP(gp_pool_check(second));
    GP(gp_pool_destroy(second));
}

static void *alloc_from(gp_pool *from, size_t bytes, cudaStream_t stream)
{
    void *block = NULL;
    GP(gp_alloc_from_pool_async(&block, bytes, from, stream));
    return block;
}

/* C20: what a thread keeps for its per-thread stream must not be used on another device's. */
Test(case_streams, per_thread_stream_is_another_one_on_each_device)
{
    open_two_devices();
    gp_pool *const pools[] = {pool, second};

    for (int i = 0; i < 200; i++) {
        SIM(gp_sim_set_device(i % 2));
        for (size_t bytes = KIB(4); bytes <= MIB(4); bytes *= 32) {
            void *block = alloc_from(pools[i % 2], bytes, GP_SIM_STREAM_PER_THREAD);
            pool_write(block, bytes, GP_SIM_STREAM_PER_THREAD);
            pool_free(block, GP_SIM_STREAM_PER_THREAD);
        }
        void *none = NULL;
        FAILS(GP_ERR_WRONG_DEVICE,
              gp_alloc_from_pool_async(&none, KIB(4), pools[1 - i % 2], GP_SIM_STREAM_PER_THREAD));
    }

    SIM(gp_sim_set_device(0));
    close_second();
}

typedef struct pair {
    gp_pool *from;
    int device;
    bool fine;
} pair;

/* Blocks that go from stream to stream of one device, so that each needs an event. */
static bool pass_on(gp_pool *from, cudaStream_t home, cudaStream_t user, size_t bytes)
{
    void *block = NULL;
    gp_sim_event event = NULL;
    if (gp_alloc_from_pool_async(&block, bytes, from, home) != GP_OK)
        return false;
    bool fine = gp_sim_event_create(&event) == 0 && gp_sim_event_record(event, home) == 0 &&
                gp_sim_stream_wait_event(user, event) == 0;
    const gp_sim_access access = {.base = block, .bytes = bytes, .writes = true};
    fine = fine && gp_sim_launch(user, &access, 1, 1000) == 0;
    fine = fine && gp_record_use(block, user) == GP_OK && gp_free_async(block, home) == GP_OK;
    return gp_sim_event_destroy(event) == 0 && fine;
}

static void *pass_many_on(void *started)
{
    pair *self = started;
    cudaStream_t streams[2];
    self->fine = gp_sim_set_device(self->device) == 0 &&
                 gp_sim_stream_create(&streams[0], true) == 0 &&
                 gp_sim_stream_create(&streams[1], true) == 0;
    for (size_t i = 0; i < 1000 && self->fine; i++)
        self->fine = pass_on(self->from, streams[i % 2], streams[1 - i % 2], KIB(64) << i % 8);
    self->fine = self->fine && gp_sim_stream_synchronize(streams[0]) == 0 &&
                 gp_sim_stream_synchronize(streams[1]) == 0 &&
                 gp_sim_stream_destroy(streams[0]) == 0 && gp_sim_stream_destroy(streams[1]) == 0;
    return NULL;
}

/* C56: an event of one device was recorded on a stream of another, and nobody looked. */
Test(case_streams, events_of_two_devices_stay_apart)
{
    open_two_devices();
    pthread_t threads[4];
    pair pairs[4];
    for (int i = 0; i < 4; i++) {
        pairs[i] = (pair){.from = i % 2 == 0 ? pool : second, .device = i % 2};
        cr_assert(eq(int, pthread_create(&threads[i], NULL, pass_many_on, &pairs[i]), 0));
    }
    for (int i = 0; i < 4; i++) {
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
        cr_assert(pairs[i].fine, "thread %d: %s", i, gp_last_error());
    }

    pool_settle();
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    close_second();
}

/* C79: on no automatic path, and in no trim, does gp wait for a whole device; so a collective
 * whose second half is not launched yet is never waited for. */
Test(case_streams, no_call_waits_for_the_whole_device)
{
    open_two_devices();
    cudaStream_t here = pool_attached_stream();
    SIM(gp_sim_set_device(1));
    cudaStream_t there = pool_stream();
    uint64_t waits = gp_sim_call_count(GP_SIM_FN_DEVICE_SYNCHRONIZE);
    gp_sim_gate gates[2] = {pool_close_gate(here), pool_close_gate(there)};
    void *block = alloc_from(second, MIB(64), there);
    pool_write(block, MIB(64), there);
    pool_free(block, there);
    SIM(gp_sim_set_device(0));
    pool_use(MIB(64), here);

    GP(gp_pool_trim_to(pool, 0));
    GP(gp_pool_trim_to(second, 0));
    void *none = NULL;
    FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(5), pool, here));
    GP(gp_stream_detach(pool, here));

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_DEVICE_SYNCHRONIZE), waits));
    pool_open_gate(gates[0]);
    pool_open_gate(gates[1]);
    pool_settle();
    close_second();
}
