/* A small block whose second free was accepted, since it came in the same moment as the first: it
 * lies in caches twice, and is found out when it leaves them. */
#include "address_table.h"
#include "thread.h"

#include "pool_fixture.h"

/* The hazard checker is not to see the fault first. */
static void open_unseen(void)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.check_hazards = false;
    pool_open();
    pool_reopen(&machine, &config);
}

TestSuite(twice_freed, .init = open_unseen, .fini = pool_close);

/* A thread that saw the block live puts it into its cache. */
static void free_as_if_live(void *ptr, cudaStream_t stream)
{
    gp_page *page = gp_address_table_page((uintptr_t)ptr);
    const gp_slot slot = {.base = (uintptr_t)ptr,
                          .record = gp_record_at(gp_page_get_records(page), (uintptr_t)ptr)};
    const uint32_t size_class = gp_record_get(slot.record) & GP_RECORD_CLASS_MASK;
    gp_record_set(slot.record, size_class | GP_STATE_LIVE);
    cr_assert(gp_thread_cache_push(gp_thread_find(pool, stream), size_class, slot, stream, false));
}

enum { HELD = 8 };

static void *held[HELD];

static void hold(cudaStream_t stream)
{
    for (int i = 0; i < HELD; i++)
        held[i] = pool_alloc(KIB(4), stream);
}

static void let_go(cudaStream_t stream)
{
    for (int i = 0; i < HELD; i++)
        pool_free(held[i], stream);
}

/* A block that lies in the thread's cache twice, and first; others make the cache deep enough. */
static void *free_twice(cudaStream_t stream)
{
    void *block = pool_alloc(KIB(4), stream);
    hold(stream);
    let_go(stream);
    hold(stream);
    free_as_if_live(block, stream);
    free_as_if_live(block, stream);
    return block;
}

/* C70 */
Test(twice_freed, block_is_handed_out_once)
{
    cudaStream_t stream = pool_attached_stream();
    void *block = free_twice(stream);

    void *first = pool_alloc(KIB(4), stream);
    void *second = pool_alloc(KIB(4), stream);

    cr_assert(eq(ptr, first, block));
    cr_assert(ne(ptr, second, block));
    cr_assert(eq(u64, pool_stats().late_double_frees, 1));
    cr_assert(eq(u64, pool_stats().live_blocks, 2 + HELD));
    GP(gp_pool_check(pool));
}

/* C70 */
Test(twice_freed, block_goes_back_to_the_policy_once)
{
    cudaStream_t stream = pool_attached_stream();
    (void)free_twice(stream);

    let_go(stream);
    pool_settle();
    GP(gp_pool_trim_to(pool, 0));

    cr_assert(eq(u64, pool_stats().late_double_frees, 1));
    cr_assert(eq(u64, pool_stats().live_blocks, 0));
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
    cr_assert(eq(u64, pool_stats().reserved_bytes, 0));
    GP(gp_pool_check(pool));
}
