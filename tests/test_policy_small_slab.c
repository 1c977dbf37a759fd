/* The cache of small objects on its own. */
#include "malloc_fault.h"
#include "seeded_random.h"
#include "small_slab.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { OBJECTS = 128 }; /* in a slab */

static const uintptr_t first_base = 0x7f0000000000;

static gp_small_slab slabs;

static void set_up(void)
{
    cr_assert(eq(int, gp_small_slab_init(&slabs), GP_OK));
}

static void tear_down(void)
{
    gp_small_slab_fini(&slabs);
}

TestSuite(policy_small_slab, .init = set_up, .fini = tear_down);

static void add_slab(uintptr_t base)
{
    cr_assert(eq(int, gp_small_slab_add(&slabs, base), GP_OK));
}

static uintptr_t take(void)
{
    uintptr_t base = 0;

    cr_assert(gp_small_slab_take(&slabs, &base));
    return base;
}

/* @return Whether a slab was handed back. */
static bool give(uintptr_t base)
{
    gp_span surplus;

    return gp_small_slab_give(&slabs, gp_small_slab_find(&slabs, base), base, &surplus);
}

static void fill_slab(uintptr_t base)
{
    add_slab(base);
    for (size_t i = 0; i < OBJECTS; i++) {
        take();
    }
}

Test(policy_small_slab, cuts_a_slab_into_granules_from_its_start)
{
    uintptr_t base = 0;
    add_slab(first_base + 512);

    for (size_t i = 0; i < OBJECTS; i++) {
        cr_assert(eq(sz, take(), first_base + 512 + i * GP_GRANULE_BYTES));
    }

    cr_assert(not(gp_small_slab_take(&slabs, &base)), "it is full");
    cr_assert(eq(sz, slabs.free_bytes, 0));
    cr_assert(gp_small_slab_is_valid(&slabs));
}

Test(policy_small_slab, takes_from_the_lowest_slab_that_has_room)
{
    fill_slab(first_base + 2 * GP_SLAB_BYTES);
    fill_slab(first_base);
    fill_slab(first_base + GP_SLAB_BYTES);
    uintptr_t high = first_base + 2 * GP_SLAB_BYTES + 512;
    uintptr_t middle = first_base + GP_SLAB_BYTES + 1024;
    uintptr_t low = first_base + 2048;
    give(high);
    give(low);
    give(middle);

    uintptr_t taken[] = {take(), take(), take()};

    cr_assert(eq(sz, taken[0], low));
    cr_assert(eq(sz, taken[1], middle));
    cr_assert(eq(sz, taken[2], high));
    cr_assert(gp_small_slab_is_valid(&slabs));
}

Test(policy_small_slab, keeps_one_empty_slab_and_hands_back_a_second)
{
    gp_span surplus = {0, 0};
    gp_span dropped = {0, 0};
    fill_slab(first_base);
    fill_slab(first_base + GP_SLAB_BYTES);

    for (size_t i = 0; i < OBJECTS; i++) {
        cr_assert(not(give(first_base + i * GP_GRANULE_BYTES)));
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        uintptr_t base = first_base + GP_SLAB_BYTES + i * GP_GRANULE_BYTES;
        bool is_last = i == OBJECTS - 1;

        cr_assert(eq(int,
                     gp_small_slab_give(&slabs, gp_small_slab_find(&slabs, base), base, &surplus),
                     is_last));
    }

    cr_assert(eq(sz, surplus.base, first_base + GP_SLAB_BYTES));
    cr_assert(eq(sz, surplus.bytes, GP_SLAB_BYTES));
    cr_assert(eq(ptr, gp_small_slab_find(&slabs, surplus.base), NULL));
    cr_assert(eq(sz, slabs.free_bytes, GP_SLAB_BYTES));
    cr_assert(gp_small_slab_drop_kept(&slabs, &dropped));
    cr_assert(eq(sz, dropped.base, first_base));
    cr_assert(not(gp_small_slab_drop_kept(&slabs, &dropped)));
    cr_assert(eq(sz, slabs.free_bytes, 0));
    cr_assert(gp_small_slab_is_valid(&slabs));
}

Test(policy_small_slab, leaves_the_empty_slab_alone_while_another_has_room)
{
    gp_span dropped;
    fill_slab(first_base);
    fill_slab(first_base + GP_SLAB_BYTES);
    for (size_t i = 0; i < OBJECTS; i++) {
        give(first_base + i * GP_GRANULE_BYTES);
    }
    give(first_base + GP_SLAB_BYTES);

    uintptr_t taken = take();

    cr_assert(eq(sz, taken, first_base + GP_SLAB_BYTES));
    cr_assert(gp_small_slab_drop_kept(&slabs, &dropped));
    cr_assert(eq(sz, dropped.base, first_base));
}

Test(policy_small_slab, finds_the_slab_of_any_address_in_it)
{
    add_slab(first_base + 512);

    gp_slab *slab = gp_small_slab_find(&slabs, first_base + 512);

    cr_assert(ne(ptr, slab, NULL));
    cr_assert(eq(ptr, gp_small_slab_find(&slabs, first_base + 512 + GP_SLAB_BYTES - 1), slab));
    cr_assert(eq(ptr, gp_small_slab_find(&slabs, first_base + 511), NULL));
    cr_assert(eq(ptr, gp_small_slab_find(&slabs, first_base + 512 + GP_SLAB_BYTES), NULL));
}

Test(policy_small_slab, takes_no_slab_when_host_memory_runs_out)
{
    size_t failures = 0;

    for (uintptr_t i = 0; i < 200; i++) {
        malloc_fault_after(0);
        gp_status status = gp_small_slab_add(&slabs, first_base + i * GP_SLAB_BYTES);
        malloc_fault_off();

        cr_assert(gp_small_slab_is_valid(&slabs));
        if (status != GP_OK) {
            failures++;
            cr_assert(eq(int, status, GP_ERR_OUT_OF_HOST_MEMORY));
            cr_assert(eq(sz, slabs.free_bytes, 0));
            add_slab(first_base + i * GP_SLAB_BYTES);
        }
        for (size_t object = 0; object < OBJECTS; object++) {
            take();
        }
    }

    cr_assert(lt(sz, 5, failures));
}

Test(policy_small_slab, hands_out_every_object_once_over_a_random_sequence)
{
    enum { SLABS = 8, MOST = SLABS * OBJECTS };
    static bool is_taken[MOST];
    uint64_t seed = 41;
    size_t count = 0;
    cr_log_info("seed %llu", (unsigned long long)seed);

    for (size_t i = 0; i < 20000; i++) {
        size_t object = seeded_random_below(&seed, MOST);
        uintptr_t base = first_base + object * GP_GRANULE_BYTES;
        gp_slab *slab = gp_small_slab_find(&slabs, base);

        if (is_taken[object]) {
            give(base);
            is_taken[object] = false;
            count--;
        } else if (slabs.free_bytes != 0) {
            size_t taken = (take() - first_base) / GP_GRANULE_BYTES;

            cr_assert(not(is_taken[taken]));
            is_taken[taken] = true;
            count++;
        } else if (slab == NULL) {
            add_slab(first_base + object / OBJECTS * GP_SLAB_BYTES);
        }
        if (i % 500 == 0) {
            cr_assert(gp_small_slab_is_valid(&slabs));
        }
    }
    cr_assert(lt(sz, OBJECTS, count));
}

Test(policy_small_slab, notices_a_broken_record)
{
    add_slab(first_base);
    take();
    gp_slab *slab = gp_small_slab_find(&slabs, first_base);
    cr_assert(gp_small_slab_is_valid(&slabs));

    slab->free[1] &= ~(uint64_t)1;
    cr_assert(not(gp_small_slab_is_valid(&slabs)), "a lost object");
    slab->free[1] |= 1;
    slabs.lowest = NULL;
    cr_assert(not(gp_small_slab_is_valid(&slabs)), "a lost slab");
    slabs.lowest = slab;
    slabs.kept = slab;
    cr_assert(not(gp_small_slab_is_valid(&slabs)), "an empty slab that is not empty");
    slabs.kept = NULL;
    cr_assert(gp_small_slab_is_valid(&slabs));

    while (slabs.free_bytes != 0) {
        take();
    }
    cr_assert(gp_small_slab_is_valid(&slabs));
    slab->free[0] = 1;
    cr_assert(not(gp_small_slab_is_valid(&slabs)), "an object of a full slab");
}
