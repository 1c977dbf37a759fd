/* What memory of the simulated device holds: fills, and copies to the host. */
#include "hazard_fixture.h"

#include <string.h>

TestSuite(sim_content, .init = open_fixture);

static void expect_bytes(size_t offset, size_t bytes, unsigned char value)
{
    unsigned char host[64];
    cr_assert(le(sz, bytes, sizeof(host)));
    memset(host, 0xee, sizeof(host));
    cr_assert(eq(int, gp_sim_memcpy_to_host_async(host, at(offset), bytes, fixture.a), 0));
    for (size_t i = 0; i < bytes; i++)
        cr_assert(eq(int, host[i], value), "byte %zu past %zu", i, offset);
}

static void fill(size_t offset, size_t bytes, unsigned char value)
{
    cr_assert(eq(int, gp_sim_memset_async(at(offset), value, bytes, fixture.a), 0));
}

Test(sim_content, reads_as_it_was_filled_and_else_as_0)
{
    fill(100, 50, 7);

    expect_bytes(90, 10, 0);
    expect_bytes(100, 50, 7);
    expect_bytes(110, 20, 7);
    expect_bytes(150, 10, 0);
}

Test(sim_content, is_what_the_last_fill_made_it)
{
    fill(100, 60, 7);
    fill(120, 20, 8);
    fill(90, 15, 9);
    fill(150, 20, 9);

    expect_bytes(90, 15, 9);
    expect_bytes(105, 15, 7);
    expect_bytes(120, 20, 8);
    expect_bytes(140, 10, 7);
    expect_bytes(150, 20, 9);
}

Test(sim_content, is_lost_where_a_launch_writes_and_only_there)
{
    fill(100, 60, 7);

    read_on(fixture.a, at(100), 60);
    expect_bytes(100, 60, 7);
    write_on(fixture.a, at(159), 1);
    write_on(fixture.a, at(110), 10);

    expect_bytes(100, 10, 7);
    expect_bytes(110, 10, 0);
    expect_bytes(120, 39, 7);
    expect_bytes(159, 1, 0);
}

Test(sim_content, does_not_pass_to_the_next_allocation)
{
    void *block = NULL;
    void *next = NULL;
    unsigned char host[16];
    cr_assert(eq(int, gp_sim_malloc_async(&block, KIB(4), fixture.pool, fixture.a), 0));
    cr_assert(eq(int, gp_sim_memset_async(block, 7, KIB(4), fixture.a), 0));
    cr_assert(eq(int, gp_sim_free_async(block, fixture.a), 0));

    cr_assert(eq(int, gp_sim_malloc_async(&next, KIB(4), fixture.pool, fixture.a), 0));
    cr_assert(eq(int, gp_sim_memcpy_to_host_async(host, next, sizeof(host), fixture.a), 0));

    cr_assert(eq(ptr, next, block));
    cr_assert(eq(int, host[0], 0));
}

Test(sim_content, is_read_and_written_in_stream_order_or_it_is_a_hazard)
{
    unsigned char host[8];
    fill(0, 8, 1);

    cr_assert(eq(int, gp_sim_memcpy_to_host_async(host, at(0), 8, fixture.b), 0));

    cr_assert(eq(int, (int)only_hazard().kind, (int)GP_SIM_HAZARD_RACE));
}

Test(sim_content, is_not_for_captures)
{
    unsigned char host[8];
    gp_sim_graph graph = NULL;
    cr_assert(eq(int, gp_sim_begin_capture(fixture.a, GP_SIM_CAPTURE_GLOBAL), 0));

    cr_assert(eq(int, gp_sim_memset_async(at(0), 1, 8, fixture.a), 801));
    cr_assert(eq(int, gp_sim_memcpy_to_host_async(host, at(0), 8, fixture.a), 801));

    cr_assert(eq(int, gp_sim_end_capture(fixture.a, &graph), 0));
    cr_assert(eq(int, gp_sim_graph_destroy(graph), 0));
}

Test(sim_content, is_asked_for_with_valid_addresses_only)
{
    unsigned char host[8];

    cr_assert(eq(int, gp_sim_memset_async(NULL, 1, 8, fixture.a), 1));
    cr_assert(eq(int, gp_sim_memset_async((void *)UINTPTR_MAX, 1, 8, fixture.a), 1));
    cr_assert(eq(int, gp_sim_memcpy_to_host_async(NULL, at(0), 8, fixture.a), 1));
    cr_assert(eq(int, gp_sim_memcpy_to_host_async(host, NULL, 8, fixture.a), 1));
}
