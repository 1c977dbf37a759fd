#include "pool_fixture.h"

#include <pthread.h>

gp_pool *pool;

/* Streams of the tests that are alive; gp's own come on top while a pool is. */
static size_t streams_made;

/* Closed gates. One that a failed test left closed would stop the end of the test. */
static gp_sim_gate gates[32];

/* Calls that named a dead handle because the test had gp do so. */
static uint64_t dead_handles_forgiven;

/* ---- open and close ---- */

gp_sim_config pool_machine(void)
{
    gp_sim_config machine;
    gp_sim_config_init(&machine);
    machine.device_bytes = GIB(4);
    machine.granularity = MIB(2);
    return machine;
}

gp_pool_config pool_config(void)
{
    gp_pool_config config;
    gp_pool_config_init(&config);
    config.backend = GP_BACKEND_SIM;
    config.segment_bytes = MIB(2); /* the least, so that tests can say how much is reserved */
    config.headroom_fraction = 0;  /* tests fill the device on purpose */
    return config;
}

void pool_open(void)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    GP(gp_sim_reset(&machine));
    GP(gp_pool_create(&pool, &config));
}

static void expect_device_is_empty(int device)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    SIM(gp_sim_set_device(device));
    SIM(gp_sim_device_synchronize());
    SIM(gp_sim_mem_get_info(&free_bytes, &total_bytes));
    cr_assert(eq(sz, free_bytes, total_bytes), "bytes of device %d were not given back", device);
}

static void expect_nothing_is_left(void)
{
    int device = 0;
    while (gp_sim_set_device(device) == 0)
        expect_device_is_empty(device++);
    SIM(gp_sim_set_device(0));
    cr_assert(eq(sz, gp_sim_live_events(), 0));
    cr_assert(eq(sz, gp_sim_live_pools(), 0));
    cr_assert(eq(sz, gp_sim_live_streams(), streams_made));
    cr_assert(eq(u64, gp_sim_dead_handle_count(), dead_handles_forgiven));
}

void pool_forgive_dead_handles(void)
{
    dead_handles_forgiven = gp_sim_dead_handle_count();
}

static void open_all_gates(void);

void pool_close(void)
{
    open_all_gates();
    if (pool != NULL) {
        GP(gp_pool_check(pool));
        GP(gp_pool_destroy_forced(pool));
        pool = NULL;
    }
    pool_settle();
    expect_nothing_is_left();
}

void pool_reopen(const gp_sim_config *machine, const gp_pool_config *config)
{
    pool_close();
    if (machine != NULL) {
        GP(gp_sim_reset(machine));
        streams_made = 0;
        dead_handles_forgiven = 0;
    }
    GP(gp_pool_create(&pool, config));
}

static void print_hazards(void)
{
    gp_sim_hazard hazards[4];
    size_t count = gp_sim_get_hazards(hazards, 4);
    for (size_t i = 0; i < count; i++) {
        char text[512];
        (void)gp_sim_describe_hazard(&hazards[i], text, sizeof(text));
        cr_log_error("%s", text);
    }
}

void pool_settle(void)
{
    int current = gp_sim_get_device();
    for (int device = 0; gp_sim_set_device(device) == 0; device++)
        SIM(gp_sim_device_synchronize());
    SIM(gp_sim_set_device(current));
    if (gp_sim_hazard_count() > 0)
        print_hazards();
    cr_assert(eq(u64, gp_sim_hazard_count(), 0), "accesses were out of order");
}

/* ---- streams and work ---- */

cudaStream_t pool_stream(void)
{
    cudaStream_t stream = NULL;
    SIM(gp_sim_stream_create(&stream, true));
    streams_made++;
    return stream;
}

cudaStream_t pool_attached_stream(void)
{
    cudaStream_t stream = pool_stream();
    GP(gp_stream_attach(pool, stream));
    return stream;
}

void pool_drop_stream(cudaStream_t stream)
{
    SIM(gp_sim_stream_destroy(stream));
    streams_made--;
}

uint64_t pool_stream_id(cudaStream_t stream)
{
    uint64_t id = 0;
    SIM(gp_sim_stream_get_id(stream, &id));
    return id;
}

void *pool_alloc(size_t bytes, cudaStream_t stream)
{
    void *block = NULL;
    GP(gp_alloc_from_pool_async(&block, bytes, pool, stream));
    cr_assert(ne(ptr, block, NULL));
    return block;
}

void pool_free(void *block, cudaStream_t stream)
{
    GP(gp_free_async(block, stream));
}

void pool_write(void *block, size_t bytes, cudaStream_t stream)
{
    const gp_sim_access access = {.base = block, .bytes = bytes, .writes = true};
    SIM(gp_sim_launch(stream, &access, 1, 1000));
}

void pool_read(const void *block, size_t bytes, cudaStream_t stream)
{
    const gp_sim_access access = {.base = block, .bytes = bytes, .writes = false};
    SIM(gp_sim_launch(stream, &access, 1, 1000));
}

void pool_use(size_t bytes, cudaStream_t stream)
{
    void *block = pool_alloc(bytes, stream);
    pool_write(block, bytes, stream);
    pool_free(block, stream);
}

void pool_order(cudaStream_t earlier, cudaStream_t later)
{
    gp_sim_event event = NULL;
    SIM(gp_sim_event_create(&event));
    SIM(gp_sim_event_record(event, earlier));
    SIM(gp_sim_stream_wait_event(later, event));
    SIM(gp_sim_event_destroy(event));
}

gp_sim_gate pool_close_gate(cudaStream_t stream)
{
    int place = 0;
    while (gates[place] != NULL)
        place++;
    SIM(gp_sim_gate_create(&gates[place]));
    SIM(gp_sim_gate_wait(stream, gates[place]));
    return gates[place];
}

void pool_open_gate(gp_sim_gate gate)
{
    int place = 0;
    while (gates[place] != gate)
        place++;
    gates[place] = NULL;
    SIM(gp_sim_gate_open(gate));
    SIM(gp_sim_gate_destroy(gate));
}

static void open_all_gates(void)
{
    for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++) {
        if (gates[i] != NULL)
            pool_open_gate(gates[i]);
    }
}

/* ---- looking back ---- */

gp_pool_stats pool_stats(void)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    GP(gp_pool_get_stats(pool, &stats));
    cr_assert(eq(u64, stats.reserved_bytes, stats.live_bytes + stats.cached_bytes));
    return stats;
}

void pool_expect_unchanged(const gp_pool_stats *before)
{
    const gp_pool_stats now = pool_stats();
    cr_assert(eq(u64, now.live_bytes, before->live_bytes));
    cr_assert(eq(u64, now.live_blocks, before->live_blocks));
    cr_assert(eq(u64, now.cached_bytes, before->cached_bytes));
    cr_assert(eq(u64, now.reserved_bytes, before->reserved_bytes));
    cr_assert(eq(u64, now.requests, before->requests));
    cr_assert(eq(u64, now.frees, before->frees));
    cr_assert(eq(u64, now.native_allocs, before->native_allocs));
    cr_assert(eq(u64, now.native_frees, before->native_frees));
    GP(gp_pool_check(pool));
}

/* ---- threads ---- */

typedef struct job {
    void (*function)(void *);
    void *argument;
} job;

static void *run_job(void *started)
{
    const job *mine = started;
    mine->function(mine->argument);
    return NULL;
}

void pool_in_thread(void (*function)(void *), void *argument)
{
    pthread_t thread;
    job started = {.function = function, .argument = argument};
    cr_assert(eq(int, pthread_create(&thread, NULL, run_job, &started), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
}
