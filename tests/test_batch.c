/* Batches: blocks on their way, on stacks that many threads push to and one empties. */
#include "batch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>

static gp_batch_store store;

static void open_store(void)
{
    cr_assert(eq(int, (int)gp_batch_store_init(&store), (int)GP_OK));
}

static void close_store(void)
{
    gp_batch_store_destroy(&store);
}

TestSuite(batch, .init = open_store, .fini = close_store);

Test(batch, comes_empty_also_after_it_was_used)
{
    gp_batch *batch = gp_batch_get(&store);
    gp_batch_add(batch, (gp_slot){.base = 512}, 512);
    gp_batch_put(&store, batch);

    gp_batch *again = gp_batch_get(&store);

    cr_assert(eq(ptr, (void *)again, (void *)batch));
    cr_assert(eq(u32, again->count, 0));
    cr_assert(eq(sz, again->bytes, 0));
    cr_assert(eq(u32, again->fence_count, 0));
    gp_batch_put(&store, again);
}

Test(batch, is_full_after_as_many_blocks_as_it_has_places)
{
    gp_batch *batch = gp_batch_get(&store);
    for (uint32_t i = 0; i < GP_BATCH_SLOTS; i++) {
        cr_assert(not(gp_batch_is_full(batch)));
        gp_batch_add(batch, (gp_slot){.base = 512 * (i + 1)}, 512);
    }

    cr_assert(gp_batch_is_full(batch));
    cr_assert(eq(sz, batch->bytes, 512 * GP_BATCH_SLOTS));
    gp_batch_put(&store, batch);
}

Test(batch, stack_gives_what_was_pushed_first_in_front)
{
    gp_batch_stack stack = NULL;
    gp_batch *first = gp_batch_get(&store);
    gp_batch *second = gp_batch_get(&store);
    gp_batch_push(&stack, first);
    gp_batch_push(&stack, second);

    gp_batch *all = gp_batch_take_all(&stack);

    cr_assert(eq(ptr, (void *)all, (void *)first));
    cr_assert(eq(ptr, (void *)all->next, (void *)second));
    cr_assert(eq(ptr, (void *)second->next, NULL));
    cr_assert(eq(ptr, (void *)gp_batch_take_all(&stack), NULL));
    gp_batch_put(&store, first);
    gp_batch_put(&store, second);
}

enum { PUSHERS = 4, PUSHED = 5000 };

static gp_batch_stack busy_stack;

static void *push_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < PUSHED; i++)
        gp_batch_push(&busy_stack, gp_batch_get(&store));
    return NULL;
}

Test(batch, stack_loses_nothing_between_threads)
{
    pthread_t threads[PUSHERS];
    for (int i = 0; i < PUSHERS; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, push_many, NULL), 0));

    int taken = 0;
    while (taken < PUSHERS * PUSHED) {
        gp_batch *batch = gp_batch_take_all(&busy_stack);
        while (batch != NULL) {
            gp_batch *next = batch->next;
            gp_batch_put(&store, batch);
            batch = next;
            taken++;
        }
    }

    for (int i = 0; i < PUSHERS; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
    cr_assert(eq(ptr, (void *)gp_batch_take_all(&busy_stack), NULL));
    cr_assert(le(u64, gp_counter_get(&store.count), PUSHERS * PUSHED + 16));
}
