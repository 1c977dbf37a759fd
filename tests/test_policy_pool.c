/* Pools on each of the policies: what they hand out is right, whoever places it. */
#include "pool_fixture.h"
#include "seeded_random.h"

TestSuite(policy_pool, .init = pool_open, .fini = pool_close);

enum { STREAMS = 3, MOST_BLOCKS = 400, OPERATIONS = 6000 };

typedef struct held_block {
    void *address;
    size_t stream;
} held_block;

/* Mostly small ones, now and then some MiB. */
static size_t random_bytes(uint64_t *seed)
{
    size_t longest = seeded_random_below(seed, 8) == 0 ? MIB(8) : KIB(64);

    return 1 + seeded_random_below(seed, longest >> seeded_random_below(seed, 8));
}

/* Blocks of several streams come, are written to and go; some go on another stream. */
static void churn(uint64_t seed)
{
    static held_block blocks[MOST_BLOCKS];
    cudaStream_t streams[STREAMS];
    size_t count = 0;

    for (size_t i = 0; i < STREAMS; i++) {
        streams[i] = i == 0 ? pool_attached_stream() : pool_stream();
    }
    for (size_t i = 0; i < OPERATIONS; i++) {
        size_t stream = seeded_random_below(&seed, STREAMS);

        if (count < MOST_BLOCKS && seeded_random_below(&seed, 100) < 52) {
            size_t bytes = random_bytes(&seed);
            void *address = pool_alloc(bytes, streams[stream]);

            pool_write(address, bytes, streams[stream]);
            blocks[count++] = (held_block){address, stream};
        } else if (count > 0) {
            size_t chosen = seeded_random_below(&seed, count);
            held_block block = blocks[chosen];

            blocks[chosen] = blocks[--count];
            pool_free(block.address, streams[block.stream]);
        }
        if (i % 500 == 0) {
            GP(gp_pool_check(pool));
        }
    }
    while (count > 0) {
        held_block block = blocks[--count];

        pool_free(block.address, streams[block.stream]);
    }
}

static void require_sound(const gp_policy_ops *policy)
{
    gp_pool_config config = pool_config();
    config.policy = policy;
    pool_reopen(NULL, &config);

    churn(61);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    GP(gp_pool_check(pool));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}

Test(policy_pool, works_by_first_fit)
{
    require_sound(gp_policy_first_fit());
}

Test(policy_pool, works_by_best_fit)
{
    require_sound(gp_policy_best_fit());
}

Test(policy_pool, works_by_cache_first)
{
    require_sound(gp_policy_cache_first());
}

Test(policy_pool, works_by_two_policies_in_one)
{
    require_sound(GP_POLICY_BY_SIZE(gp_policy_first_fit(), MIB(1), gp_policy_best_fit()));
    require_sound(GP_POLICY_BY_SIZE(gp_policy_first_fit(), KIB(16), gp_policy_cache_first()));
}

static gp_pool *make_pool(const gp_policy_ops *small, size_t up_to_bytes,
                          const gp_policy_ops *large)
{
    gp_policy_ops policy = gp_policy_by_size(small, up_to_bytes, large);
    gp_pool_config config = pool_config();
    gp_pool *made = NULL;
    config.policy = &policy;
    GP(gp_pool_create(&made, &config));
    policy = (gp_policy_ops){.struct_bytes = 0}; /* The pool has copied it. */
    return made;
}

Test(policy_pool, keeps_a_table_of_its_own_beside_other_pools)
{
    gp_pool *first = make_pool(gp_policy_first_fit(), KIB(4), gp_policy_best_fit());
    gp_pool *second = make_pool(gp_policy_cache_first(), KIB(64), gp_policy_first_fit());
    cudaStream_t stream = pool_stream();
    gp_pool *pools[] = {first, second};

    for (size_t i = 0; i < 2; i++) {
        void *small = NULL;
        void *large = NULL;
        GP(gp_alloc_from_pool_async(&small, KIB(3), pools[i], stream));
        GP(gp_alloc_from_pool_async(&large, MIB(3), pools[i], stream));
        GP(gp_free_async(small, stream));
        GP(gp_free_async(large, stream));
        GP(gp_pool_check(pools[i]));
    }

    GP(gp_pool_destroy(first));
    GP(gp_pool_destroy(second));
}

Test(policy_pool, is_not_made_with_half_a_combination)
{
    gp_pool_config config = pool_config();
    gp_pool *made = NULL;
    config.policy = GP_POLICY_BY_SIZE(gp_policy_first_fit(), MIB(1), NULL);

    FAILS(GP_ERR_INVALID_CONFIG, gp_pool_create(&made, &config));

    cr_assert(eq(ptr, made, NULL));
}
