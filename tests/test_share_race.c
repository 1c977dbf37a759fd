/*
 * Sharing while another thread is at it: between the look for a block that waits for fences and its
 * removal, the borrower queues waits outside every lock.
 */
#include "pool.h"

#include "pool_fixture.h"

/* The device as it is, but that somebody does something before a wait is queued. */
static gp_backend_ops ops;
static const gp_backend_ops *real_ops;
static void (*meanwhile)(void *);
static void *meanwhile_argument;

static gp_status wait_after_something_happened(gp_backend *backend, cudaStream_t stream,
                                               gp_native_event event)
{
    void (*happening)(void *) = meanwhile;
    meanwhile = NULL;
    if (happening != NULL)
        pool_in_thread(happening, meanwhile_argument);
    return real_ops->stream_wait(backend, stream, event);
}

static void open(void)
{
    pool_open();
    real_ops = pool->backend->ops;
    ops = *real_ops;
    ops.stream_wait = wait_after_something_happened;
    pool->backend->ops = &ops;
}

TestSuite(share_race, .init = open, .fini = pool_close);

/* A block that was used on `user` and freed on `home`, both of which are busy. */
typedef struct scene {
    cudaStream_t home, user, thief, borrower;
    gp_sim_gate home_gate, user_gate, thief_gate;
    void *block;
} scene;

static void set(scene *self)
{
    *self = (scene){.home = pool_attached_stream(),
                    .user = pool_attached_stream(),
                    .thief = pool_attached_stream(),
                    .borrower = pool_attached_stream()};
    self->block = pool_alloc(MIB(6), self->home);
    pool_order(self->home, self->user);
    self->user_gate = pool_close_gate(self->user);
    self->home_gate = pool_close_gate(self->home);
    pool_write(self->block, MIB(6), self->user);
    GP(gp_record_use(self->block, self->user));
    pool_free(self->block, self->home);
}

static void *borrow_while(void (*happening)(void *), scene *self)
{
    meanwhile_argument = self;
    meanwhile = happening;
    void *block = pool_alloc(MIB(6), self->borrower);
    cr_assert(meanwhile == NULL, "no wait was queued");
    pool_write(block, MIB(6), self->borrower);
    GP(gp_pool_check(pool));
    return block;
}

/* The block's work completes, and somebody takes it out of the commons. */
static void take_completed(void *argument)
{
    const scene *self = argument;
    pool_open_gate(self->user_gate);
    pool_open_gate(self->home_gate);
    pool_settle();
    cr_assert(eq(ptr, pool_alloc(MIB(6), self->thief), self->block));
    pool_write(self->block, MIB(6), self->thief);
}

Test(share_race, block_that_somebody_else_took_is_not_lent_a_second_time)
{
    scene all;
    set(&all);

    void *block = borrow_while(take_completed, &all);

    cr_assert(ne(ptr, block, all.block));
    cr_assert(eq(u64, pool_stats().live_blocks, 2));
    pool_free(block, all.borrower);
    pool_free(all.block, all.thief);
}

/* Somebody borrows the block, uses it, and frees it where it was: it waits there again, for
 * as many fences, but others. */
static void take_use_and_free(void *argument)
{
    scene *self = argument;
    cr_assert(eq(ptr, pool_alloc(MIB(6), self->thief), self->block));
    self->thief_gate = pool_close_gate(self->thief);
    pool_write(self->block, MIB(6), self->thief);
    GP(gp_record_use(self->block, self->thief));
    pool_free(self->block, self->home);
    GP(gp_pool_trim_to(pool, SIZE_MAX)); /* Looks at what arrived everywhere. */
}

/* It may be lent behind the new ones: the hazard checker knows. */
Test(share_race, block_that_waits_for_other_work_by_now_is_not_lent_behind_the_old)
{
    scene all;
    set(&all);

    void *block = borrow_while(take_use_and_free, &all);

    pool_open_gate(all.user_gate);
    pool_open_gate(all.home_gate);
    pool_open_gate(all.thief_gate);
    pool_settle();
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
    pool_free(block, all.borrower);
}

/* The native stream is busy, so that nobody but the caller may have the new segment. */
Test(share_race, block_that_has_a_segment_alone_counts_as_what_it_holds)
{
    gp_sim_config machine = pool_machine();
    gp_pool_config config = pool_config();
    machine.clock = GP_SIM_CLOCK_MANUAL;
    pool_reopen(&machine, &config);
    cudaStream_t stream = pool_stream();
    cudaStream_t own = NULL;
    GP(gp_global_tier_own_stream(&pool->global, &own));
    gp_sim_gate gate = pool_close_gate(own);

    void *block = pool_alloc(MIB(3), stream);

    size_t usable = 0;
    GP(gp_usable_size(block, &usable));
    cr_assert(eq(u64, pool_stats().live_bytes, usable));
    pool_open_gate(gate);
    pool_free(block, stream);
    cr_assert(eq(u64, pool_stats().live_bytes, 0));
}
