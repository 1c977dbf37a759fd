/* Uses of a block on other streams, until it is freed. */
#include "backend.h"
#include "use_table.h"

#include "gp/sim.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static gp_backend *device;
static gp_fence_store fences;
static gp_trace nobody;
static gp_use_table table;
static cudaStream_t stream;

static void open_table(void)
{
    cr_assert(eq(int, (int)gp_backend_sim()->open(0, &device), (int)GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&stream, true), 0));
    gp_fence_store_init(&fences, device, &nobody);
    gp_use_table_init(&table);
}

/* Every fence came back: no event is left. */
static void close_table(void)
{
    gp_use_table_destroy(&table, &fences);
    gp_fence_store_destroy(&fences);
    device->ops->close(device);
    cr_assert(eq(sz, gp_sim_live_events(), 0));
}

TestSuite(use_table, .init = open_table, .fini = close_table);

static void add(uintptr_t base, uint64_t stream_id)
{
    gp_fence *fence = NULL;
    cr_assert(eq(int, (int)gp_fence_record(&fences, stream, stream_id, 0, &fence), (int)GP_OK));
    cr_assert(eq(int, (int)gp_use_table_add(&table, &fences, base, fence), (int)GP_OK));
}

Test(use_table, keeps_one_fence_for_each_stream)
{
    for (uint64_t id = 1; id <= 9; id++) {
        add(0x1000, id);
        add(0x1000, id);
    }

    gp_use *use = gp_use_table_take(&table, 0x1000);

    cr_assert(ne(ptr, (void *)use, NULL));
    cr_assert(eq(u32, use->count, 9));
    gp_use_free(use, &fences);
}

Test(use_table, tells_blocks_apart)
{
    add(0x1000, 1);
    add(0x2000, 1);
    add(0x2000, 2);

    gp_use *first = gp_use_table_take(&table, 0x1000);
    gp_use *second = gp_use_table_take(&table, 0x2000);

    cr_assert(eq(u32, first->count, 1));
    cr_assert(eq(u32, second->count, 2));
    cr_assert(eq(ptr, (void *)gp_use_table_take(&table, 0x3000), NULL));
    gp_use_free(first, &fences);
    gp_use_free(second, &fences);
}

Test(use_table, forgets_what_was_taken_out)
{
    add(0x1000, 1);
    gp_use_free(gp_use_table_take(&table, 0x1000), &fences);

    cr_assert(eq(ptr, (void *)gp_use_table_take(&table, 0x1000), NULL));
}

Test(use_table, takes_back_what_could_not_be_freed)
{
    add(0x1000, 1);
    gp_use *use = gp_use_table_take(&table, 0x1000);

    gp_use_table_put_back(&table, &fences, use);

    cr_assert(eq(ptr, (void *)gp_use_table_take(&table, 0x1000), (void *)use));
    gp_use_free(use, &fences);
}

Test(use_table, releases_at_the_end_what_was_never_taken)
{
    for (uintptr_t base = 0x1000; base < 0x9000; base += 0x1000)
        add(base, 3);
}
