/* Two threads free one block in the same moment: one of them has to be told, at once where gp was
 * built with checks, and nothing is handed out twice in either case. */
#include "pool_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

TestSuite(case_races, .init = pool_open, .fini = pool_close);

enum { ROUNDS = 3000 };

static void *block;
static atomic_uint round_begun, round_done;
static atomic_int freed, refused;

static void free_and_count(cudaStream_t stream)
{
    gp_status status = gp_free_async(block, stream);
    if (status == GP_OK)
        atomic_fetch_add(&freed, 1);
    else if (status == GP_ERR_DOUBLE_FREE)
        atomic_fetch_add(&refused, 1);
}

static void *free_in_every_round(void *stream)
{
    for (unsigned round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&round_begun) != round)
            (void)sched_yield();
        free_and_count((cudaStream_t)stream);
        atomic_store(&round_done, round);
    }
    return NULL;
}

/* How often both frees were accepted. */
static uint64_t free_at_once(size_t bytes, cudaStream_t stream, cudaStream_t other)
{
    pthread_t thread;
    atomic_store(&round_begun, 0);
    atomic_store(&round_done, 0);
    cr_assert(eq(int, pthread_create(&thread, NULL, free_in_every_round, other), 0));
    uint64_t twice = 0;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        block = pool_alloc(bytes, stream);
        atomic_store(&freed, 0);
        atomic_store(&refused, 0);
        atomic_store(&round_begun, round);
        for (volatile unsigned wait = round % 200; wait > 0; wait--) {
        }
        free_and_count(stream);
        while (atomic_load(&round_done) != round)
            (void)sched_yield();
        twice += atomic_load(&freed) == 2;
        cr_assert(eq(int, atomic_load(&freed) + atomic_load(&refused), 2));
    }
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    return twice;
}

static uint64_t free_at_once_on_streams(size_t bytes)
{
    cudaStream_t stream = pool_attached_stream();
    return free_at_once(bytes, stream, stream) +
           free_at_once(bytes, stream, pool_attached_stream());
}

/* C70: at a barrier, over and over, large blocks, on one stream and on two. */
Test(case_races, second_of_two_frees_of_a_large_block_at_once_is_refused)
{
    cr_assert(eq(u64, free_at_once_on_streams(MIB(1)), 0));
    cr_assert(eq(u64, free_at_once_on_streams(MIB(4)), 0));
}

/* C70: small blocks. Without checks it may take until the block leaves a cache. */
Test(case_races, second_of_two_frees_at_once_is_refused_or_dropped)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.check_hazards = GP_CHECKS >= 1; /* it would see the fault */
    pool_reopen(&machine, &config);

    uint64_t twice = free_at_once_on_streams(512) + free_at_once_on_streams(KIB(32));

    cr_assert(GP_CHECKS == 0 || twice == 0);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));
    GP(gp_pool_check(pool));
    cr_assert(eq(u64, pool_stats().late_double_frees, twice));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
}
