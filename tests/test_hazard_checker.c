/* The hazard checker sees every fault that is planted. test_hazard_order.c shows
 * that it sees no other. */
#include "hazard_fixture.h"

#include <stdio.h>
#include <string.h>

TestSuite(hazard_checker, .init = open_fixture);

/* ---- early reuse ---- */

/* C02, C11: the block goes to another stream without a wait. */
static void plant_early_reuse(void)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    gp_sim_note_alloc(fixture.segment, KIB(2), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(2));
}

Test(hazard_checker, a_planted_early_reuse_is_caught_with_both_sides_named)
{
    plant_early_reuse();

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_EARLY_REUSE));
    cr_assert(eq(u64, hazard.earlier.stream_id, fixture.a_id));
    cr_assert(eq(u64, hazard.later.stream_id, fixture.b_id));
    cr_assert(eq(sz, hazard.earlier.bytes, KIB(4)));
    cr_assert(eq(sz, hazard.later.bytes, KIB(2)));
    cr_assert(eq(u64, hazard.earlier.base, (uintptr_t)fixture.segment));
    cr_assert(hazard.earlier.writes && hazard.later.writes);
    cr_assert(lt(u64, hazard.earlier.life, hazard.later.life));
    cr_assert(lt(u64, 0, hazard.earlier.life));
}

Test(hazard_checker, a_hazard_reads_as_one_line_that_names_both_sides)
{
    char text[400];
    char expected[64];
    plant_early_reuse();
    gp_sim_hazard hazard = only_hazard();

    int needed = gp_sim_describe_hazard(&hazard, text, sizeof(text));

    cr_assert(eq(sz, strlen(text) + 1, (size_t)needed));
    cr_assert_not_null(strstr(text, "early reuse"));
    (void)snprintf(expected, sizeof(expected), "stream %llu position",
                   (unsigned long long)fixture.a_id);
    cr_assert_not_null(strstr(text, expected));
    (void)snprintf(expected, sizeof(expected), "stream %llu position",
                   (unsigned long long)fixture.b_id);
    cr_assert_not_null(strstr(text, expected));
    cr_assert_null(strchr(text, '\n'));
}

Test(hazard_checker, being_complete_by_chance_is_no_order)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    gp_sim_advance(1000000000);

    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, a_new_life_that_only_reads_must_be_ordered_too)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    read_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    read_on(fixture.b, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, reuse_of_a_part_of_the_bytes_is_seen)
{
    gp_sim_note_alloc(at(KIB(4)), KIB(4), fixture.a);
    write_on(fixture.a, at(KIB(7)), 1);
    gp_sim_note_free(at(KIB(4)), fixture.a);
    gp_sim_note_alloc(fixture.segment, KIB(16), fixture.b);

    write_on(fixture.b, at(KIB(8)), KIB(8));
    write_on(fixture.b, at(KIB(4)), KIB(2));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0), "those bytes were never touched");
    write_on(fixture.b, fixture.segment, KIB(16));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, a_dependency_survives_an_owner_that_never_touches_the_block)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    gp_sim_note_free(fixture.segment, fixture.a);
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

/* C11 */
Test(hazard_checker, a_stream_with_a_dead_stream_s_handle_is_not_ordered_after_it)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.b);
    cr_assert(eq(int, gp_sim_stream_destroy(fixture.b), 0));
    cudaStream_t reborn;
    cr_assert(eq(int, gp_sim_stream_create(&reborn, true), 0));
    cr_assert(eq(ptr, reborn, fixture.b));

    gp_sim_note_alloc(fixture.segment, KIB(4), reborn);
    write_on(reborn, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

/* ---- before the allocation ---- */

Test(hazard_checker, an_access_that_is_not_ordered_after_the_allocation_is_caught)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    read_on(fixture.b, fixture.segment, KIB(4));

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_BEFORE_ALLOC));
    cr_assert(eq(u64, hazard.earlier.stream_id, fixture.a_id));
    cr_assert(eq(u64, hazard.later.stream_id, fixture.b_id));
}

Test(hazard_checker, an_event_recorded_before_the_allocation_does_not_order_after_it)
{
    gp_sim_event event;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    cr_assert(eq(int, gp_sim_event_record(event, fixture.a), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    cr_assert(eq(int, gp_sim_stream_wait_event(fixture.b, event), 0));
    read_on(fixture.b, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_BEFORE_ALLOC));
}

Test(hazard_checker, a_native_allocation_has_to_be_waited_for_too)
{
    void *native;
    cr_assert(eq(int, gp_sim_malloc_async(&native, KIB(4), fixture.pool, fixture.a), 0));

    write_on(fixture.b, native, KIB(4));
    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_BEFORE_ALLOC));
    order(fixture.a, fixture.b);
    write_on(fixture.b, native, KIB(4));
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
}

/* ---- after the free ---- */

Test(hazard_checker, an_access_after_the_free_is_caught_and_names_the_free)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);
    read_on(fixture.a, at(KIB(1)), 1);

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_AFTER_FREE));
    cr_assert(eq(u64, hazard.earlier.base, (uintptr_t)fixture.segment));
    cr_assert(eq(sz, hazard.earlier.bytes, KIB(4)));
    cr_assert(lt(u64, 0, hazard.earlier.life));
    cr_assert(eq(u64, hazard.later.life, 0));
}

Test(hazard_checker, bytes_of_a_segment_that_nobody_was_given_are_out_of_bounds)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));

    write_on(fixture.a, fixture.segment, KIB(4) + 1);

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

Test(hazard_checker, native_memory_is_checked_to_the_byte_and_after_its_free)
{
    void *native;
    cr_assert(eq(int, gp_sim_malloc_async(&native, 100, fixture.pool, fixture.a), 0));
    write_on(fixture.a, native, 100);
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));

    write_on(fixture.a, native, 101);
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
    cr_assert(eq(int, gp_sim_free_async(native, fixture.a), 0));
    read_on(fixture.a, native, 1);
    cr_assert(eq(u64, gp_sim_hazard_count(), 2));
}

/* C03, C04 */
Test(hazard_checker, a_free_that_is_not_ordered_after_a_use_is_caught)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    order(fixture.a, fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_AFTER_FREE));
    cr_assert(eq(u64, hazard.earlier.stream_id, fixture.b_id));
    cr_assert(eq(u64, hazard.later.stream_id, fixture.a_id));
}

Test(hazard_checker, an_announced_use_may_still_go_on_at_the_free_but_not_at_the_reuse)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    order(fixture.a, fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));
    gp_sim_note_use(at(KIB(1)), fixture.b);
    gp_sim_note_free(fixture.segment, fixture.a);
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));

    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, work_queued_after_the_announced_use_is_not_covered_by_it)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    order(fixture.a, fixture.b);
    gp_sim_note_use(fixture.segment, fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

/* C09 */
Test(hazard_checker, native_memory_given_back_too_early_is_caught)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.b);

    cr_assert(eq(int, gp_sim_free_async(fixture.segment, fixture.a), 0));

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_AFTER_FREE));
    cr_assert(eq(u64, hazard.earlier.stream_id, fixture.b_id));
    cr_assert(eq(sz, hazard.later.bytes, MIB(1)));
}

Test(hazard_checker, native_memory_given_back_in_order_is_clean_for_its_next_owner)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.b);
    write_on(fixture.b, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.b);
    order(fixture.b, fixture.a);
    cr_assert(eq(int, gp_sim_free_async(fixture.segment, fixture.a), 0));
    gp_sim_advance(1000000);

    void *native;
    cr_assert(eq(int, gp_sim_malloc_async(&native, MIB(1), fixture.pool, fixture.b), 0));
    cr_assert(eq(ptr, native, fixture.segment));
    write_on(fixture.b, native, MIB(1));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, native_memory_given_back_under_a_live_block_is_caught)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);

    cr_assert(eq(int, gp_sim_free_async(fixture.segment, fixture.a), 0));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

/* C70 */
Test(hazard_checker, a_block_that_is_freed_twice_is_caught)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    gp_sim_note_free(fixture.segment, fixture.a);
    gp_sim_note_free(fixture.segment, fixture.a);

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

/* ---- overlap and race ---- */

Test(hazard_checker, a_block_handed_out_over_a_live_one_is_caught)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    gp_sim_note_alloc(at(KIB(4)), KIB(4), fixture.a);
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));

    gp_sim_note_alloc(at(KIB(3)), KIB(4), fixture.a);

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_OVERLAP));
    cr_assert(eq(u64, hazard.earlier.base, (uintptr_t)fixture.segment));
    cr_assert(eq(u64, hazard.later.base, (uintptr_t)fixture.segment + KIB(3)));
}

Test(hazard_checker, a_block_handed_out_where_no_native_memory_is_is_caught)
{
    gp_sim_note_alloc(at(MIB(1) - KIB(2)), KIB(4), fixture.a);

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

Test(hazard_checker, an_unordered_read_and_write_in_one_life_are_a_race)
{
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    order(fixture.a, fixture.b);
    read_on(fixture.a, fixture.segment, KIB(4));
    read_on(fixture.b, fixture.segment, KIB(4));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0), "reads do not race");

    write_on(fixture.b, at(KIB(2)), KIB(1));

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_RACE));
    cr_assert(eq(u64, hazard.earlier.stream_id, fixture.a_id));
    cr_assert_not(hazard.earlier.writes);
}

Test(hazard_checker, a_write_that_waited_for_every_reader_is_no_race)
{
    cudaStream_t readers[8];
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    for (int i = 0; i < 8; i++) {
        cr_assert(eq(int, gp_sim_stream_create(&readers[i], true), 0));
        order(fixture.a, readers[i]);
        read_on(readers[i], at(KIB(1) * (size_t)(i % 4)), KIB(1));
    }
    for (int i = 0; i < 8; i++)
        order(readers[i], fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));
    gp_sim_note_free(fixture.segment, fixture.a);

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, a_write_that_waited_for_all_readers_but_one_is_a_race)
{
    cudaStream_t readers[3];
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, gp_sim_stream_create(&readers[i], true), 0));
        order(fixture.a, readers[i]);
        read_on(readers[i], fixture.segment, KIB(4));
    }
    order(readers[0], fixture.a);
    order(readers[2], fixture.a);
    write_on(fixture.a, fixture.segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_RACE));
}

Test(hazard_checker, a_write_to_a_part_leaves_the_rest_of_the_bytes_as_they_were)
{
    cudaStream_t third;
    cr_assert(eq(int, gp_sim_stream_create(&third, true), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    order(fixture.a, third);
    write_on(fixture.a, fixture.segment, KIB(4));
    order(fixture.a, fixture.b);
    write_on(fixture.b, at(KIB(1)), KIB(1));

    write_on(third, at(KIB(3)), KIB(1));
    gp_sim_hazard above = only_hazard();
    write_on(third, fixture.segment, 1);

    cr_assert(eq(int, above.kind, GP_SIM_HAZARD_RACE));
    cr_assert(eq(u64, above.earlier.stream_id, fixture.a_id));
    cr_assert(eq(u64, gp_sim_hazard_count(), 2));
}

/* ---- the checker itself ---- */

Test(hazard_checker, of_several_faults_of_one_access_the_gravest_is_named)
{
    void *native;
    cr_assert(eq(int, gp_sim_malloc_async(&native, KIB(4), fixture.pool, fixture.a), 0));
    gp_sim_note_alloc(native, KIB(4), fixture.a);
    write_on(fixture.a, native, KIB(4));
    gp_sim_note_free(native, fixture.a);
    gp_sim_note_alloc(native, KIB(4), fixture.b);

    write_on(fixture.b, native, KIB(4)); /* before the native allocation, too */

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, the_gravest_fault_is_named_also_if_it_lies_first)
{
    gp_sim_note_alloc(at(KIB(4)), KIB(4), fixture.a);
    order(fixture.a, fixture.b);
    write_on(fixture.a, at(KIB(4)), KIB(4));

    write_on(fixture.b, fixture.segment, KIB(8)); /* no block, then a race */

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

Test(hazard_checker, many_hazards_are_counted_and_the_first_ones_kept)
{
    gp_sim_hazard hazards[100];
    for (int i = 0; i < 70; i++)
        read_on(fixture.a, (void *)(uintptr_t)512, 1);

    cr_assert(eq(u64, gp_sim_hazard_count(), 70));
    cr_assert(eq(sz, gp_sim_get_hazards(hazards, 100), 64));
    cr_assert(eq(u64, hazards[0].earlier.stream_id, 0), "nothing ever was there");
}

Test(hazard_checker, a_capturing_stream_s_notes_are_ignored)
{
    gp_sim_graph graph;
    cr_assert(eq(int, gp_sim_begin_capture(fixture.a, GP_SIM_CAPTURE_GLOBAL), 0));
    gp_sim_note_alloc(fixture.segment, KIB(4), fixture.a);
    gp_sim_note_free(fixture.segment, fixture.a);

    cr_assert(eq(int, gp_sim_end_capture(fixture.a, &graph), 0));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, nothing_is_checked_when_it_is_switched_off)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.check_hazards = false;
    cr_assert(eq(int, gp_sim_reset(&config), GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&fixture.a, true), 0));

    read_on(fixture.a, (void *)(uintptr_t)512, 1);

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}
