/* What the hazard checker takes for an order, and what not: no false alarms. */
#include "hazard_fixture.h"

TestSuite(hazard_order, .init = open_fixture);

/* ---- the three kinds of order ---- */

Test(hazard_order, reuse_on_the_same_stream_is_no_hazard)
{
    for (int i = 0; i < 10; i++) {
        gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
        write_on(fixture.a, fixture.segment, KIB(4));
        read_on(fixture.a, fixture.segment, KIB(4));
        gp_sim_note_free(fixture.segment, fixture.a);
    }

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_order, reuse_after_a_wait_is_no_hazard)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    order(fixture.a, fixture.b);
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_order, order_goes_through_a_third_stream)
{
    cudaStream_t between;
    cr_assert(eq(int, gp_sim_stream_create(&between, true), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    order(fixture.a, between);
    order(between, fixture.b);
    cr_assert(eq(int, gp_sim_stream_destroy(between), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_order, a_wait_for_an_event_recorded_too_early_orders_nothing)
{
    gp_sim_event event;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    cr_assert(eq(int, gp_sim_event_record(event, fixture.a), 0));
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    cr_assert(eq(int, gp_sim_stream_wait_event(fixture.b, event), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_order, reuse_after_the_host_saw_the_event_complete_is_no_hazard)
{
    gp_sim_event event;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    cr_assert(eq(int, gp_sim_event_record(event, fixture.a), 0));
    cr_assert(eq(int, gp_sim_event_query(event), 600));
    gp_sim_advance(10000);
    cr_assert(eq(int, gp_sim_event_query(event), 0));

    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_order, what_the_host_saw_includes_all_that_was_ordered_before)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    order(fixture.a, fixture.b);
    cr_assert(eq(int, gp_sim_stream_synchronize(fixture.b), 0));
    cudaStream_t third;
    cr_assert(eq(int, gp_sim_stream_create(&third, true), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), third);
    write_on(third, fixture.segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_order, a_device_synchronisation_covers_streams_that_are_gone)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.b);
    cr_assert(eq(int, gp_sim_stream_destroy(fixture.b), 0));
    gp_sim_advance(1000000);
    cudaStream_t third;
    cr_assert(eq(int, gp_sim_stream_create(&third, true), 0));
    cr_assert(eq(int, gp_sim_device_synchronize(), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), third);
    write_on(third, fixture.segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

/* C19 */
Test(hazard_order, the_legacy_stream_is_ordered_with_blocking_streams_even_dead_ones)
{
    cudaStream_t blocking;
    cudaStream_t next;
    cr_assert(eq(int, gp_sim_stream_create(&blocking, false), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), blocking);
    write_on(blocking, fixture.segment, KIB(4));
    cr_assert(eq(int, gp_sim_stream_destroy(blocking), 0));
    gp_sim_advance(1000000);
    cr_assert(eq(int, gp_sim_stream_create(&next, false), 0));
    gp_sim_note_free(fixture.segment, NULL);
    gp_sim_note_alloc(fixture.segment, KIB(4), next);
    write_on(next, fixture.segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_order, the_legacy_stream_is_not_ordered_with_non_blocking_streams)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    gp_sim_note_alloc(fixture.segment, KIB(4), NULL);
    write_on(NULL, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

/* ---- a whole pool ---- */

enum { BLOCKS = 64, ROUNDS = 20000, STREAMS = 6 };

typedef struct slot {
    bool is_live;
    cudaStream_t owner;
    gp_sim_event fence; /* behind the last free */
} slot;

static uint32_t next_random(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void release_block(slot *of, void *base)
{
    gp_sim_note_free(base, of->owner);
    cr_assert(eq(int, gp_sim_event_record(of->fence, of->owner), 0));
}

static void lend_block(slot *of, void *base, cudaStream_t stream)
{
    size_t bytes = 1 + next_random() % KIB(16);
    of->owner = stream;
    if (gp_sim_event_query(of->fence) != 0)
        cr_assert(eq(int, gp_sim_stream_wait_event(stream, of->fence), 0));
    gp_sim_note_alloc(base, bytes, stream);
    if (next_random() % 3 == 0)
        read_on(stream, base, bytes);
    else
        write_on(stream, base, bytes);
}

Test(hazard_order, a_pool_that_orders_every_reuse_raises_no_alarm_on_a_long_run)
{
    cudaStream_t streams[STREAMS];
    slot slots[BLOCKS] = {0};
    for (size_t i = 0; i < STREAMS; i++)
        cr_assert(eq(int, gp_sim_stream_create(&streams[i], true), 0));
    for (size_t i = 0; i < BLOCKS; i++)
        cr_assert(eq(int, gp_sim_event_create(&slots[i].fence), 0));

    for (int round = 0; round < ROUNDS; round++) {
        size_t block = next_random() % BLOCKS;
        if (slots[block].is_live)
            release_block(&slots[block], at(block * KIB(16)));
        else
            lend_block(&slots[block], at(block * KIB(16)), streams[next_random() % STREAMS]);
        slots[block].is_live = !slots[block].is_live;
    }

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}
