/* What a pool gives back by itself, when, and what it does when the load returns. */
#include "pool_fixture.h"

#include "seeded_random.h"

#define SECOND_NS UINT64_C(1000000000)
#define TICK_NS (SECOND_NS / 4)

/* So many slow calls make the pool look after itself. */
#define CALLS_A_TICK 256

TestSuite(upkeep, .init = pool_open, .fini = pool_close);

static uint64_t native_calls(void)
{
    const gp_pool_stats stats = pool_stats();
    return stats.native_allocs + stats.native_frees;
}

static size_t device_free_bytes(void)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    SIM(gp_sim_mem_get_info(&free_bytes, &total_bytes));
    return free_bytes;
}

/* A load on one stream: blocks of random sizes, up to a number of bytes at once. */
typedef struct load {
    cudaStream_t stream;
    uint64_t random;
    void *blocks[256];
    size_t bytes[256];
    size_t count;
    size_t live;
} load;

static void drop_one(load *self, size_t place)
{
    pool_free(self->blocks[place], self->stream);
    self->live -= self->bytes[place];
    self->count--;
    self->blocks[place] = self->blocks[self->count];
    self->bytes[place] = self->bytes[self->count];
}

static void add_one(load *self)
{
    const size_t bytes = MIB(1) + MIB(1) * (size_t)(seeded_random(&self->random) % 15);
    self->blocks[self->count] = pool_alloc(bytes, self->stream);
    self->bytes[self->count] = bytes;
    self->live += bytes;
    self->count++;
}

/* A quarter of a second with so many bytes live at the most. */
static void run_tick(load *self, size_t most)
{
    for (int i = 0; i < CALLS_A_TICK; i++) {
        while (self->live > most)
            drop_one(self, 0);
        if (self->count > 0 && (self->live + MIB(16) > most || self->count == 256))
            drop_one(self, (size_t)(seeded_random(&self->random) % self->count));
        else
            add_one(self);
    }
    SIM(gp_sim_stream_synchronize(self->stream));
    gp_sim_advance(TICK_NS);
}

static void run(load *self, size_t most, int seconds)
{
    for (int i = 0; i < seconds * 4; i++)
        run_tick(self, most);
}

/* One block of 1 MiB at a time. */
static void idle_along(load *self, int seconds)
{
    for (int i = 0; i < seconds * 4; i++) {
        for (int call = 0; call < CALLS_A_TICK; call++)
            pool_use(MIB(1), self->stream);
        SIM(gp_sim_stream_synchronize(self->stream));
        gp_sim_advance(TICK_NS);
    }
}

static void end(load *self)
{
    while (self->count > 0)
        drop_one(self, self->count - 1);
}

static load begin(const gp_pool_config *config)
{
    pool_reopen(NULL, config);
    return (load){.stream = pool_attached_stream(), .random = 1};
}

static gp_pool_config default_config(void)
{
    gp_pool_config config = pool_config();
    config.segment_bytes = MIB(32);
    return config;
}

/* Each time the blocks are others, or just the same. */
static void expect_wave(bool differs)
{
    const gp_pool_config config = default_config();
    load wave = begin(&config);
    for (int period = 0; period < 100; period++) {
        const uint64_t before = native_calls();
        if (!differs)
            wave.random = 1;
        run(&wave, MIB(512), 10);
        cr_assert(le(u64, MIB(480), pool_stats().live_bytes_high));
        run(&wave, MIB(16), 10);

        /* Twice what is in use: 16 MiB live, 32 MiB that the stream keeps at the most. */
        const gp_pool_stats quiet = pool_stats();
        cr_assert(le(u64, quiet.reserved_bytes, MIB(96)), "period %d: %llu MiB", period,
                  (unsigned long long)(quiet.reserved_bytes >> 20));
        cr_assert(le(sz, GIB(4) - MIB(96), device_free_bytes()), "period %d", period);
        if (period >= 3)
            cr_assert(le(u64, native_calls() - before, 2), "period %d: %llu calls", period,
                      (unsigned long long)(native_calls() - before));
    }
    end(&wave);
}

/* C43: 10 s busy, 10 s quiet. */
Test(upkeep, periodic_load_costs_a_native_call_each_way)
{
    expect_wave(false);
}

Test(upkeep, periodic_load_of_other_blocks_each_time_does_so_too)
{
    expect_wave(true);
}

Test(upkeep, load_that_returns_smaller_takes_less_the_next_time)
{
    const gp_pool_config config = default_config();
    load wave = begin(&config);
    uint64_t busy = 0;
    for (int period = 0; period < 10; period++) {
        run(&wave, period < 5 ? MIB(512) : MIB(128), 10);
        busy = pool_stats().reserved_bytes;
        end(&wave);
        idle_along(&wave, 10);
    }

    cr_assert(le(u64, busy, MIB(384)), "%llu MiB", (unsigned long long)(busy >> 20));
    end(&wave);
}

Test(upkeep, load_that_returns_larger_gets_the_rest_in_small_steps)
{
    const gp_pool_config config = default_config();
    load wave = begin(&config);
    for (int period = 0; period < 4; period++) {
        run(&wave, MIB(512), 10);
        run(&wave, MIB(16), 10);
    }

    run(&wave, MIB(800), 5);

    const uint64_t reserved = pool_stats().reserved_bytes;
    cr_assert(le(u64, reserved, MIB(1200)), "%llu MiB", (unsigned long long)(reserved >> 20));
    end(&wave);
}

/* C43: 79 to 81 % idle, all the time. */
Test(upkeep, ripple_around_the_mark_releases_once_at_the_most)
{
    const gp_pool_config config = default_config();
    load ripple = begin(&config);
    run(&ripple, MIB(512), 10);
    const uint64_t reserved = pool_stats().reserved_bytes;
    const uint64_t before = pool_stats().native_allocs;

    for (int i = 0; i < 60; i++)
        run(&ripple, (size_t)reserved / 100 * (i % 2 == 0 ? 19 : 21), 1);

    cr_assert(le(u64, pool_stats().native_allocs - before, 1));
    end(&ripple);
}

Test(upkeep, memory_wanted_now_and_then_is_kept)
{
    const gp_pool_config config = default_config();
    load bursts = begin(&config);
    run(&bursts, MIB(512), 4);
    const uint64_t before = native_calls();

    for (int i = 0; i < 20; i++) {
        run(&bursts, MIB(16), 2);
        run_tick(&bursts, MIB(512));
    }

    cr_assert(eq(u64, native_calls(), before));
    end(&bursts);
}

Test(upkeep, nothing_is_given_back_by_a_pool_that_is_told_so)
{
    gp_pool_config config = default_config();
    config.release_idle_percent = 0;
    load wave = begin(&config);
    run(&wave, MIB(512), 4);
    const uint64_t reserved = pool_stats().reserved_bytes;

    run(&wave, MIB(16), 20);

    cr_assert(eq(u64, pool_stats().reserved_bytes, reserved));
    end(&wave);
}

Test(upkeep, lower_mark_is_a_share_of_what_is_left)
{
    gp_pool_config config = default_config();
    config.segment_bytes = MIB(8);
    config.release_to_percent = 75;
    load wave = begin(&config);
    run(&wave, MIB(512), 4);

    run(&wave, MIB(40), 20);

    /* What is in use, 40 MiB live and up to 32 MiB that the stream keeps, is a quarter. */
    const uint64_t reserved = pool_stats().reserved_bytes;
    cr_assert(le(u64, MIB(160), reserved), "%llu", (unsigned long long)reserved);
    cr_assert(le(u64, reserved, MIB(288)), "%llu", (unsigned long long)reserved);
    end(&wave);
}

Test(upkeep, what_was_set_aside_stays)
{
    gp_pool_config config = default_config();
    config.initial_bytes = MIB(256);
    load wave = begin(&config);
    run(&wave, MIB(512), 4);

    run(&wave, MIB(16), 20);

    cr_assert(le(u64, MIB(256), pool_stats().reserved_bytes));
    end(&wave);
}

/* The first calls after a pause are of a load that returns, not of one that is low. */
Test(upkeep, pause_in_which_nobody_called_is_no_quiet_time)
{
    const gp_pool_config config = default_config();
    load wave = begin(&config);
    run(&wave, MIB(512), 4);
    end(&wave);
    const uint64_t before = native_calls();

    gp_sim_advance(60 * SECOND_NS);
    run_tick(&wave, MIB(16)); /* it begins slowly */
    run(&wave, MIB(512), 1);

    cr_assert(eq(u64, native_calls(), before));
    end(&wave);
}
