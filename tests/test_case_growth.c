/* How much a pool reserves: what makes it grow, what must not, and what one call may cost. */
#include "pool_fixture.h"
#include "seeded_random.h"

#include <pthread.h>
#include <stdatomic.h>

TestSuite(case_growth, .init = pool_open, .fini = pool_close);

static const gp_policy_ops *policy_number(int number)
{
    const gp_policy_ops *const policies[] = {gp_policy_cache_first(), gp_policy_best_fit(),
                                             gp_policy_first_fit()};
    return policies[number];
}
enum { POLICIES = 3 };

static void open_on(size_t device_bytes, size_t max_bytes, const gp_policy_ops *policy)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.device_bytes = device_bytes;
    machine.granularity = MIB(32);
    config.segment_bytes = MIB(32);
    config.max_bytes = max_bytes;
    config.policy = policy;
    pool_reopen(&machine, &config);
}

/* ---- sizes that change all the time ---- */

/* C34: a scratch buffer whose size walks up and down must not leave a block of each size. */
Test(case_growth, of_a_buffer_whose_size_walks_stays_near_its_largest_size)
{
    open_on(GIB(4), GIB(2), NULL);
    cudaStream_t stream = pool_attached_stream();
    uint64_t seed = 34;
    size_t steps = 1000;

    for (int i = 0; i < 4000; i++) {
        steps += seeded_random_below(&seed, 9);
        steps -= seeded_random_below(&seed, steps < 9 ? 1 : 9);
        pool_use(MIB(1) + KIB(4) * (steps < 4000 ? steps : 4000), stream);
    }

    cr_assert(le(u64, pool_stats().reserved_bytes_high, 2 * (MIB(1) + KIB(4) * 4000) + MIB(64)));
}

/* C35: doubling took twice the model; growing by just what was asked never reused anything. */
Test(case_growth, overshoots_by_less_than_a_segment_and_then_stays_flat)
{
    for (int p = 0; p < POLICIES; p++) {
        open_on(GIB(40), 0, policy_number(p));
        cudaStream_t stream = pool_attached_stream();
        void *model[34];
        for (int i = 0; i < 34; i++)
            model[i] = pool_alloc(MIB(512), stream);
        cr_assert(le(u64, pool_stats().reserved_bytes, GIB(17) + MIB(32)));

        for (size_t i = 0; i < 100; i++)
            pool_use(MIB(64) + MIB(64) * (i * 37 % 100) / 100, stream);
        uint64_t first_pass = pool_stats().reserved_bytes_high;
        for (size_t i = 0; i < 300; i++)
            pool_use(MIB(64) + MIB(64) * (i * 37 % 100) / 100, stream);

        cr_assert(eq(u64, pool_stats().reserved_bytes_high, first_pass));
        cr_assert(le(u64, first_pass, GIB(17) + MIB(512)), "policy %d", p);
        for (int i = 0; i < 34; i++)
            pool_free(model[i], stream);
    }
}

/* ---- the same run again and again on several streams ---- */

typedef struct held_block {
    void *address;
    size_t bytes;
    int stream;
} held_block;

enum { MOST_HELD = 512, STEPS = 5000, MOST_STREAMS = 8 };

/* From 1 MiB to 1 GiB, each doubling as likely as another. */
static size_t random_bytes(uint64_t *seed)
{
    size_t mib = (size_t)1 << seeded_random_below(seed, 10);
    return MIB(mib + seeded_random_below(seed, mib));
}

/* One step of the run; `live` never passes 62 GiB. */
static void step(held_block *held, uint64_t *seed, size_t *live, const cudaStream_t *streams,
                 int count)
{
    held_block *block = &held[seeded_random_below(seed, MOST_HELD)];
    if (block->address != NULL) {
        pool_free(block->address, streams[block->stream]);
        *live -= block->bytes;
        block->address = NULL;
        return;
    }
    size_t bytes = random_bytes(seed);
    if (*live + bytes > GIB(62))
        return;
    *block = (held_block){.bytes = bytes, .stream = (int)seeded_random_below(seed, (size_t)count)};
    block->address = pool_alloc(bytes, streams[block->stream]);
    pool_write(block->address, bytes, streams[block->stream]);
    *live += bytes;
}

static void free_all(held_block *held, const cudaStream_t *streams)
{
    for (int i = 0; i < MOST_HELD; i++) {
        if (held[i].address != NULL)
            pool_free(held[i].address, streams[held[i].stream]);
        held[i].address = NULL;
    }
}

static void run_sequence(const cudaStream_t *streams, int count)
{
    static held_block held[MOST_HELD];
    uint64_t seed = 46;
    size_t live = 0;
    for (int i = 0; i < STEPS; i++) {
        step(held, &seed, &live, streams, count);
        if (i % 64 == 0)
            SIM(gp_sim_device_synchronize());
    }
    free_all(held, streams);
    SIM(gp_sim_device_synchronize());
    void *largest = pool_alloc(MIB(11674), streams[0]);
    pool_write(largest, MIB(11674), streams[0]);
    pool_free(largest, streams[0]);
}

/* C46: each stream's leftovers split the memory, so that the third run of the same program
 * failed with 20 GiB free. Here one request needs most of what the run before left in pieces. */
Test(case_growth, of_the_same_program_on_several_streams_ends_after_its_first_runs)
{
    for (int count = 2; count <= MOST_STREAMS; count *= 4) {
        open_on(GIB(85), 0, NULL);
        cudaStream_t streams[MOST_STREAMS];
        for (int i = 0; i < count; i++)
            streams[i] = pool_attached_stream();

        for (int run = 0; run < 20; run++)
            run_sequence(streams, count);

        cr_assert(eq(u64, pool_stats().live_bytes, 0));
        cr_assert(eq(u64, pool_stats().failures, 0));
    }
}

/* C43: a load that comes and goes, and one that hovers around a bound, maps nothing anew. */
Test(case_growth, of_a_load_that_comes_and_goes_happens_once)
{
    enum { STREAMS = 16, PERIODS = 30 };
    cudaStream_t streams[STREAMS];
    void *blocks[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        streams[i] = pool_attached_stream();
    uint64_t allocs = 0;

    for (int period = 0; period < PERIODS; period++) {
        for (int i = 0; i < STREAMS; i++)
            blocks[i] = pool_alloc(MIB(100), streams[i]);
        for (int i = 0; i < STREAMS; i++)
            pool_free(blocks[i], streams[i]);
        pool_settle();
        gp_sim_advance(1000000000);
        if (period == 0)
            allocs = pool_stats().native_allocs;
    }

    cr_assert(eq(u64, pool_stats().native_allocs, allocs));
    cr_assert(eq(u64, pool_stats().native_frees, 0));
}

/* ---- what one call costs ---- */

/* C40: at its limit a pool gave back everything at once, and the call that did it took 0.5 s. */
Test(case_growth, at_the_limit_costs_no_call_the_release_of_everything)
{
    open_on(GIB(40), GIB(9), NULL);
    cudaStream_t stream = pool_attached_stream();
    uint64_t worst = 0;
    for (size_t i = 0; i < 109; i++) {
        size_t bytes = GIB(1) * (i < 9 ? i + 1 : i % 9 + 1);
        uint64_t before = gp_sim_thread_native_ns();

        void *block = pool_alloc(bytes, stream);

        uint64_t cost = gp_sim_thread_native_ns() - before;
        if (i >= 9 && cost > worst)
            worst = cost;
        pool_write(block, bytes, stream);
        pool_free(block, stream);
        SIM(gp_sim_stream_synchronize(stream));
    }

    cr_assert(le(u64, worst, 1000000), "%llu ns", (unsigned long long)worst);
}

/* ---- a big request beside many small ones ---- */

typedef struct crowd {
    cudaStream_t stream;
    atomic_bool *stop;
    unsigned done;
    gp_status status;
} crowd;

static void *allocate_until_stopped(void *started)
{
    crowd *self = started;
    while (!atomic_load(self->stop) && self->status == GP_OK) {
        void *block = NULL;
        self->status = gp_alloc_from_pool_async(&block, MIB(7), pool, self->stream);
        if (self->status == GP_OK)
            self->status = gp_free_async(block, self->stream);
        self->done++;
    }
    return NULL;
}

/* C50: what was reclaimed for a large request went to others before it could be taken. */
Test(case_growth, serves_a_large_request_beside_threads_that_want_small_ones)
{
    enum { THREADS = 15, ROUNDS = 200 };
    open_on(GIB(8), GIB(4), NULL);
    pthread_t threads[THREADS];
    crowd crowds[THREADS];
    static void *blocks[512];
    atomic_bool stop = false;
    cudaStream_t stream = pool_attached_stream();
    for (int i = 0; i < 512; i++)
        blocks[i] = pool_alloc(MIB(7), stream);
    for (int i = 0; i < 512; i++)
        pool_free(blocks[i], stream);
    for (int i = 0; i < THREADS; i++) {
        crowds[i] = (crowd){.stream = pool_attached_stream(), .stop = &stop, .status = GP_OK};
        cr_assert(
            eq(int, pthread_create(&threads[i], NULL, allocate_until_stopped, &crowds[i]), 0));
    }

    int served = 0;
    for (int i = 0; i < ROUNDS; i++) {
        void *large = NULL;
        if (gp_alloc_from_pool_async(&large, GIB(3), pool, stream) == GP_OK) {
            served++;
            pool_free(large, stream);
        }
    }

    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
        cr_assert(eq(int, (int)crowds[i].status, (int)GP_OK));
    }
    cr_assert(eq(int, served, ROUNDS));
}
