/* Who else is on the device: other pools of the process, and allocators that gp knows nothing of.
 */
#include "pool_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

TestSuite(tenants, .init = pool_open, .fini = pool_close);

static gp_pool *second;

static void open_second(const gp_pool_config *config)
{
    GP(gp_pool_create(&second, config));
}

static uint64_t reserved_by(gp_pool *of)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    GP(gp_pool_get_stats(of, &stats));
    return stats.reserved_bytes;
}

/* Blocks of 64 MiB, so that the first pool can give back in such steps; idle now. */
static void fill_first(size_t bytes, cudaStream_t stream)
{
    void *blocks[64];
    const size_t count = bytes / MIB(64);
    for (size_t i = 0; i < count; i++)
        blocks[i] = pool_alloc(MIB(64), stream);
    for (size_t i = 0; i < count; i++)
        pool_free(blocks[i], stream);
    SIM(gp_sim_stream_synchronize(stream));
}

static gp_status take_from_second(size_t bytes, cudaStream_t stream)
{
    void *block = NULL;
    gp_status status = gp_alloc_from_pool_async(&block, bytes, second, stream);
    if (status == GP_OK)
        GP(gp_free_async(block, stream));
    return status;
}

/* ---- pools of one device ---- */

/* C52 */
Test(tenants, pool_that_finds_the_device_full_gets_what_another_has_idle)
{
    const gp_pool_config config = pool_config();
    cudaStream_t stream = pool_attached_stream();
    open_second(&config);
    fill_first(MIB(3840), stream);

    cr_assert(eq(int, (int)take_from_second(MIB(800), stream), (int)GP_OK), "%s", gp_last_error());

    /* No more than was missing, in whole segments. */
    cr_assert(eq(u64, reserved_by(pool), MIB(3840) - MIB(832)));
    GP(gp_pool_destroy(second));
}

Test(tenants, pool_that_has_only_its_headroom_left_asks_too)
{
    gp_pool_config config = pool_config();
    config.headroom_fraction = 0.25;
    cudaStream_t stream = pool_attached_stream();
    open_second(&config);
    fill_first(GIB(3), stream);

    cr_assert(eq(int, (int)take_from_second(MIB(512), stream), (int)GP_OK), "%s", gp_last_error());

    GP(gp_pool_destroy(second));
}

Test(tenants, live_memory_and_what_was_set_aside_stay_with_their_pool)
{
    gp_pool_config config = pool_config();
    config.initial_bytes = GIB(2);
    pool_reopen(NULL, &config);
    config.initial_bytes = 0;
    open_second(&config);
    cudaStream_t stream = pool_attached_stream();
    void *live = pool_alloc(MIB(1024), stream);
    void *idle = pool_alloc(MIB(1536), stream);
    pool_free(idle, stream);
    SIM(gp_sim_stream_synchronize(stream));
    cr_assert(eq(u64, reserved_by(pool), MIB(3584)));

    cr_assert(eq(int, (int)take_from_second(GIB(2), stream), (int)GP_OK), "%s", gp_last_error());
    cr_assert(eq(u64, reserved_by(pool), GIB(2)));
    cr_assert(eq(int, (int)take_from_second(MIB(2100), stream), (int)GP_ERR_OUT_OF_MEMORY));

    pool_write(live, MIB(1024), stream);
    pool_free(live, stream);
    GP(gp_pool_destroy(second));
}

Test(tenants, pool_at_its_own_limit_asks_nobody)
{
    gp_pool_config config = pool_config();
    config.max_bytes = MIB(512);
    cudaStream_t stream = pool_attached_stream();
    open_second(&config);
    fill_first(MIB(3840), stream);

    cr_assert(eq(int, (int)take_from_second(MIB(600), stream), (int)GP_ERR_LIMIT));

    cr_assert(eq(u64, reserved_by(pool), MIB(3840)));
    GP(gp_pool_destroy(second));
}

Test(tenants, pools_of_other_devices_are_not_asked)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_count = 2;
    pool_reopen(&machine, &config);
    cudaStream_t stream = pool_attached_stream();
    fill_first(MIB(3840), stream);
    config.device = 1;
    SIM(gp_sim_set_device(1));
    open_second(&config);
    cudaStream_t other = pool_stream();

    cr_assert(eq(int, (int)take_from_second(GIB(5), other), (int)GP_ERR_OUT_OF_MEMORY));

    cr_assert(eq(u64, reserved_by(pool), MIB(3840)));
    GP(gp_pool_destroy(second));
    SIM(gp_sim_set_device(0));
}

/* ---- at once ---- */

enum { ROUNDS = 30 };

typedef struct tenant {
    gp_pool *pool;
    cudaStream_t stream;
    gp_status status;
} tenant;

/* Each round needs more than half of the device; the other one has it idle, or live. */
static void *take_turns(void *started)
{
    tenant *self = started;
    for (int i = 0; i < ROUNDS && self->status == GP_OK; i++) {
        void *block = NULL;
        gp_status status = gp_alloc_from_pool_async(&block, MIB(2304), self->pool, self->stream);
        if (status == GP_OK)
            self->status = gp_free_async(block, self->stream);
        else if (status != GP_ERR_OUT_OF_MEMORY)
            self->status = status;
    }
    return NULL;
}

Test(tenants, two_pools_may_ask_each_other_at_once)
{
    const gp_pool_config config = pool_config();
    open_second(&config);
    tenant tenants[2] = {{.pool = pool, .stream = pool_attached_stream()},
                         {.pool = second, .stream = pool_stream()}};
    GP(gp_stream_attach(second, tenants[1].stream));
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, take_turns, &tenants[i]), 0));
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));

    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, (int)tenants[i].status, (int)GP_OK));
    cr_assert(eq(int, (int)take_from_second(GIB(4), tenants[1].stream), (int)GP_OK));
    GP(gp_pool_destroy(second));
}

static atomic_bool stop;

/* Pools that come, hold something idle, and go. */
static void *come_and_go(void *started)
{
    tenant *self = started;
    const gp_pool_config config = pool_config();
    while (!atomic_load(&stop) && self->status == GP_OK) {
        gp_pool *passing = NULL;
        void *block = NULL;
        self->status = gp_pool_create(&passing, &config);
        if (self->status != GP_OK)
            break;
        if (gp_alloc_from_pool_async(&block, MIB(64), passing, self->stream) == GP_OK)
            self->status = gp_free_async(block, self->stream);
        gp_status end = gp_pool_destroy(passing);
        self->status = self->status == GP_OK ? end : self->status;
    }
    return NULL;
}

Test(tenants, pool_may_be_destroyed_while_another_asks_it)
{
    tenant passing[2] = {{.stream = pool_stream()}, {.stream = pool_stream()}};
    pthread_t threads[2];
    cudaStream_t stream = pool_attached_stream();
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, come_and_go, &passing[i]), 0));

    for (int i = 0; i < 200; i++) {
        void *none = NULL;
        FAILS(GP_ERR_OUT_OF_MEMORY, gp_alloc_from_pool_async(&none, GIB(5), pool, stream));
    }

    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, (int)passing[i].status, (int)GP_OK));
}

/* ---- allocators that gp does not know ---- */

Test(tenants, all_idle_memory_goes_at_once_when_it_is_asked_for)
{
    cudaMemPool_t foreign = NULL;
    cudaStream_t stream = pool_attached_stream();
    void *block = NULL;
    SIM(gp_sim_pool_create(&foreign));
    fill_first(MIB(3840), stream);
    cr_assert(eq(int, gp_sim_malloc_async(&block, GIB(1), foreign, stream), 2));

    GP(gp_pool_release_now(pool));

    SIM(gp_sim_malloc_async(&block, GIB(4), foreign, stream));
    SIM(gp_sim_free_async(block, stream));
    SIM(gp_sim_pool_destroy(foreign));
}

/* A trim would leave it: the device is 200 us from the end of its work. */
Test(tenants, release_now_waits_a_little_for_work_under_way)
{
    cudaStream_t stream = pool_attached_stream();
    cudaStream_t other = pool_attached_stream();
    void *block = pool_alloc(MIB(256), stream);
    const gp_sim_access access = {.base = block, .bytes = MIB(256), .writes = true};
    SIM(gp_sim_launch(stream, &access, 1, 200000));
    pool_free(block, stream);
    pool_use(KIB(1), other);

    GP(gp_pool_trim_to(pool, 0));
    cr_assert(le(u64, MIB(256), reserved_by(pool)));
    GP(gp_pool_release_now(pool));

    cr_assert(eq(u64, reserved_by(pool), 0));
}

Test(tenants, release_now_waits_for_no_work_that_does_not_end)
{
    cudaStream_t stream = pool_attached_stream();
    gp_sim_gate gate = pool_close_gate(stream);
    pool_use(MIB(256), stream);

    GP(gp_pool_release_now(pool));

    cr_assert(eq(u64, reserved_by(pool), MIB(256)));
    pool_open_gate(gate);
    FAILS(GP_ERR_INVALID_POOL, gp_pool_release_now(NULL));
}
