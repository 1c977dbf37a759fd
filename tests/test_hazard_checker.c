/* The hazard checker: it sees every fault that is planted, and no other. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "gp/sim.h"

#include <stdio.h>
#include <string.h>

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

static cudaStream_t a;
static cudaStream_t b;
static cudaMemPool_t pool;
static void *segment;       /* native memory that is cut into blocks */
static uint64_t a_id, b_id; /* of the streams */

static void open_machine(void)
{
    cr_assert(eq(int, gp_sim_reset(NULL), GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&a, true), 0));
    cr_assert(eq(int, gp_sim_stream_create(&b, true), 0));
    cr_assert(eq(int, gp_sim_stream_get_id(a, &a_id), 0));
    cr_assert(eq(int, gp_sim_stream_get_id(b, &b_id), 0));
    cr_assert(eq(int, gp_sim_pool_create(&pool), 0));
    cr_assert(eq(int, gp_sim_pool_set_threshold(pool, UINT64_MAX), 0));
    cr_assert(eq(int, gp_sim_malloc_async(&segment, MIB(1), pool, a), 0));
    cr_assert(eq(int, gp_sim_stream_synchronize(a), 0));
}

static void touch(cudaStream_t stream, void *base, size_t bytes, bool writes)
{
    gp_sim_access access = {.base = base, .bytes = bytes, .writes = writes};
    cr_assert(eq(int, gp_sim_launch(stream, &access, 1, 10000), 0));
}

static void write_on(cudaStream_t stream, void *base, size_t bytes)
{
    touch(stream, base, bytes, true);
}

static void read_on(cudaStream_t stream, void *base, size_t bytes)
{
    touch(stream, base, bytes, false);
}

/* Order `to` after all that was queued on `from`. */
static void order(cudaStream_t from, cudaStream_t to)
{
    gp_sim_event event;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    cr_assert(eq(int, gp_sim_event_record(event, from), 0));
    cr_assert(eq(int, gp_sim_stream_wait_event(to, event), 0));
    cr_assert(eq(int, gp_sim_event_destroy(event), 0));
}

static gp_sim_hazard only_hazard(void)
{
    gp_sim_hazard hazard = {0};
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
    cr_assert(eq(sz, gp_sim_get_hazards(&hazard, 1), 1));
    return hazard;
}

static void *at(size_t offset)
{
    return (char *)segment + offset;
}

TestSuite(hazard_checker, .init = open_machine);

/* ---- early reuse ---- */

/* C02, C11: the block goes to another stream without a wait. */
static void plant_early_reuse(void)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    gp_sim_note_alloc(segment, KIB(2), b);
    write_on(b, segment, KIB(2));
}

Test(hazard_checker, a_planted_early_reuse_is_caught_with_both_sides_named)
{
    plant_early_reuse();

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_EARLY_REUSE));
    cr_assert(eq(u64, hazard.earlier.stream_id, a_id));
    cr_assert(eq(u64, hazard.later.stream_id, b_id));
    cr_assert(eq(sz, hazard.earlier.bytes, KIB(4)));
    cr_assert(eq(sz, hazard.later.bytes, KIB(2)));
    cr_assert(eq(u64, hazard.earlier.base, (uintptr_t)segment));
    cr_assert(hazard.earlier.writes && hazard.later.writes);
    cr_assert(lt(u64, hazard.earlier.life, hazard.later.life));
    cr_assert(gt(u64, hazard.earlier.life, 0));
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
    (void)snprintf(expected, sizeof(expected), "stream %llu position", (unsigned long long)a_id);
    cr_assert_not_null(strstr(text, expected));
    (void)snprintf(expected, sizeof(expected), "stream %llu position", (unsigned long long)b_id);
    cr_assert_not_null(strstr(text, expected));
    cr_assert_null(strchr(text, '\n'));
}

Test(hazard_checker, being_complete_by_chance_is_no_order)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    gp_sim_advance(1000000000);

    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, a_new_life_that_only_reads_must_be_ordered_too)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    read_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    gp_sim_note_alloc(segment, KIB(4), b);
    read_on(b, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, reuse_of_a_part_of_the_bytes_is_seen)
{
    gp_sim_note_alloc(at(KIB(4)), KIB(4), a);
    write_on(a, at(KIB(7)), 1);
    gp_sim_note_free(at(KIB(4)), a);
    gp_sim_note_alloc(segment, KIB(16), b);

    write_on(b, at(KIB(8)), KIB(8));
    write_on(b, at(KIB(4)), KIB(2));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0), "those bytes were never touched");
    write_on(b, segment, KIB(16));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, a_dependency_survives_an_owner_that_never_touches_the_block)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    gp_sim_note_alloc(segment, KIB(4), a);
    gp_sim_note_free(segment, a);
    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

/* C11 */
Test(hazard_checker, a_stream_with_a_dead_stream_s_handle_is_not_ordered_after_it)
{
    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));
    gp_sim_note_free(segment, b);
    cr_assert(eq(int, gp_sim_stream_destroy(b), 0));
    cudaStream_t reborn;
    cr_assert(eq(int, gp_sim_stream_create(&reborn, true), 0));
    cr_assert(eq(ptr, reborn, b));

    gp_sim_note_alloc(segment, KIB(4), reborn);
    write_on(reborn, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

/* ---- what is no hazard ---- */

Test(hazard_checker, reuse_on_the_same_stream_is_no_hazard)
{
    for (int i = 0; i < 10; i++) {
        gp_sim_note_alloc(segment, KIB(4), a);
        write_on(a, segment, KIB(4));
        read_on(a, segment, KIB(4));
        gp_sim_note_free(segment, a);
    }

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, reuse_after_a_wait_is_no_hazard)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    order(a, b);
    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, order_goes_through_a_third_stream)
{
    cudaStream_t between;
    cr_assert(eq(int, gp_sim_stream_create(&between, true), 0));
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    order(a, between);
    order(between, b);
    cr_assert(eq(int, gp_sim_stream_destroy(between), 0));
    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, a_wait_for_an_event_recorded_too_early_orders_nothing)
{
    gp_sim_event event;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    gp_sim_note_alloc(segment, KIB(4), a);
    cr_assert(eq(int, gp_sim_event_record(event, a), 0));
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    cr_assert(eq(int, gp_sim_stream_wait_event(b, event), 0));
    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, reuse_after_the_host_saw_the_event_complete_is_no_hazard)
{
    gp_sim_event event;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    cr_assert(eq(int, gp_sim_event_record(event, a), 0));
    cr_assert(eq(int, gp_sim_event_query(event), 600));
    gp_sim_advance(10000);
    cr_assert(eq(int, gp_sim_event_query(event), 0));

    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, what_the_host_saw_includes_all_that_was_ordered_before)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    order(a, b);
    cr_assert(eq(int, gp_sim_stream_synchronize(b), 0));
    cudaStream_t third;
    cr_assert(eq(int, gp_sim_stream_create(&third, true), 0));
    gp_sim_note_alloc(segment, KIB(4), third);
    write_on(third, segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, a_device_synchronisation_covers_streams_that_are_gone)
{
    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));
    gp_sim_note_free(segment, b);
    cr_assert(eq(int, gp_sim_stream_destroy(b), 0));
    gp_sim_advance(1000000);
    cudaStream_t third;
    cr_assert(eq(int, gp_sim_stream_create(&third, true), 0));
    cr_assert(eq(int, gp_sim_device_synchronize(), 0));
    gp_sim_note_alloc(segment, KIB(4), third);
    write_on(third, segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

/* C19 */
Test(hazard_checker, the_legacy_stream_is_ordered_with_blocking_streams_even_dead_ones)
{
    cudaStream_t blocking;
    cudaStream_t next;
    cr_assert(eq(int, gp_sim_stream_create(&blocking, false), 0));
    gp_sim_note_alloc(segment, KIB(4), blocking);
    write_on(blocking, segment, KIB(4));
    cr_assert(eq(int, gp_sim_stream_destroy(blocking), 0));
    gp_sim_advance(1000000);
    cr_assert(eq(int, gp_sim_stream_create(&next, false), 0));
    gp_sim_note_free(segment, NULL);
    gp_sim_note_alloc(segment, KIB(4), next);
    write_on(next, segment, KIB(4));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, the_legacy_stream_is_not_ordered_with_non_blocking_streams)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    gp_sim_note_alloc(segment, KIB(4), NULL);
    write_on(NULL, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

/* ---- before the allocation ---- */

Test(hazard_checker, an_access_that_is_not_ordered_after_the_allocation_is_caught)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    read_on(b, segment, KIB(4));

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_BEFORE_ALLOC));
    cr_assert(eq(u64, hazard.earlier.stream_id, a_id));
    cr_assert(eq(u64, hazard.later.stream_id, b_id));
}

Test(hazard_checker, an_event_recorded_before_the_allocation_does_not_order_after_it)
{
    gp_sim_event event;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    cr_assert(eq(int, gp_sim_event_record(event, a), 0));
    gp_sim_note_alloc(segment, KIB(4), a);
    cr_assert(eq(int, gp_sim_stream_wait_event(b, event), 0));
    read_on(b, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_BEFORE_ALLOC));
}

Test(hazard_checker, a_native_allocation_has_to_be_waited_for_too)
{
    void *native;
    cr_assert(eq(int, gp_sim_malloc_async(&native, KIB(4), pool, a), 0));

    write_on(b, native, KIB(4));
    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_BEFORE_ALLOC));
    order(a, b);
    write_on(b, native, KIB(4));
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
}

/* ---- after the free ---- */

Test(hazard_checker, an_access_after_the_free_is_caught_and_names_the_free)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);
    read_on(a, at(KIB(1)), 1);

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_AFTER_FREE));
    cr_assert(eq(u64, hazard.earlier.base, (uintptr_t)segment));
    cr_assert(eq(sz, hazard.earlier.bytes, KIB(4)));
    cr_assert(gt(u64, hazard.earlier.life, 0));
    cr_assert(eq(u64, hazard.later.life, 0));
}

Test(hazard_checker, bytes_of_a_segment_that_nobody_was_given_are_out_of_bounds)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));

    write_on(a, segment, KIB(4) + 1);

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

Test(hazard_checker, native_memory_is_checked_to_the_byte_and_after_its_free)
{
    void *native;
    cr_assert(eq(int, gp_sim_malloc_async(&native, 100, pool, a), 0));
    write_on(a, native, 100);
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));

    write_on(a, native, 101);
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
    cr_assert(eq(int, gp_sim_free_async(native, a), 0));
    read_on(a, native, 1);
    cr_assert(eq(u64, gp_sim_hazard_count(), 2));
}

/* C03, C04 */
Test(hazard_checker, a_free_that_is_not_ordered_after_a_use_is_caught)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    order(a, b);
    write_on(b, segment, KIB(4));
    gp_sim_note_free(segment, a);

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_AFTER_FREE));
    cr_assert(eq(u64, hazard.earlier.stream_id, b_id));
    cr_assert(eq(u64, hazard.later.stream_id, a_id));
}

Test(hazard_checker, an_announced_use_may_still_go_on_at_the_free_but_not_at_the_reuse)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    order(a, b);
    write_on(b, segment, KIB(4));
    gp_sim_note_use(at(KIB(1)), b);
    gp_sim_note_free(segment, a);
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));

    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_EARLY_REUSE));
}

Test(hazard_checker, work_queued_after_the_announced_use_is_not_covered_by_it)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    order(a, b);
    gp_sim_note_use(segment, b);
    write_on(b, segment, KIB(4));
    gp_sim_note_free(segment, a);

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

/* C09 */
Test(hazard_checker, native_memory_given_back_too_early_is_caught)
{
    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));
    gp_sim_note_free(segment, b);

    cr_assert(eq(int, gp_sim_free_async(segment, a), 0));

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_AFTER_FREE));
    cr_assert(eq(u64, hazard.earlier.stream_id, b_id));
    cr_assert(eq(sz, hazard.later.bytes, MIB(1)));
}

Test(hazard_checker, native_memory_given_back_in_order_is_clean_for_its_next_owner)
{
    gp_sim_note_alloc(segment, KIB(4), b);
    write_on(b, segment, KIB(4));
    gp_sim_note_free(segment, b);
    order(b, a);
    cr_assert(eq(int, gp_sim_free_async(segment, a), 0));
    gp_sim_advance(1000000);

    void *native;
    cr_assert(eq(int, gp_sim_malloc_async(&native, MIB(1), pool, b), 0));
    cr_assert(eq(ptr, native, segment));
    write_on(b, native, MIB(1));

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, native_memory_given_back_under_a_live_block_is_caught)
{
    gp_sim_note_alloc(segment, KIB(4), a);

    cr_assert(eq(int, gp_sim_free_async(segment, a), 0));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

/* C70 */
Test(hazard_checker, a_block_that_is_freed_twice_is_caught)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    gp_sim_note_free(segment, a);
    gp_sim_note_free(segment, a);

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

/* ---- overlap and race ---- */

Test(hazard_checker, a_block_handed_out_over_a_live_one_is_caught)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    gp_sim_note_alloc(at(KIB(4)), KIB(4), a);
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));

    gp_sim_note_alloc(at(KIB(3)), KIB(4), a);

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_OVERLAP));
    cr_assert(eq(u64, hazard.earlier.base, (uintptr_t)segment));
    cr_assert(eq(u64, hazard.later.base, (uintptr_t)segment + KIB(3)));
}

Test(hazard_checker, a_block_handed_out_where_no_native_memory_is_is_caught)
{
    gp_sim_note_alloc(at(MIB(1) - KIB(2)), KIB(4), a);

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_AFTER_FREE));
}

Test(hazard_checker, an_unordered_read_and_write_in_one_life_are_a_race)
{
    gp_sim_note_alloc(segment, KIB(4), a);
    order(a, b);
    read_on(a, segment, KIB(4));
    read_on(b, segment, KIB(4));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0), "reads do not race");

    write_on(b, at(KIB(2)), KIB(1));

    gp_sim_hazard hazard = only_hazard();
    cr_assert(eq(int, hazard.kind, GP_SIM_HAZARD_RACE));
    cr_assert(eq(u64, hazard.earlier.stream_id, a_id));
    cr_assert_not(hazard.earlier.writes);
}

Test(hazard_checker, a_write_that_waited_for_every_reader_is_no_race)
{
    cudaStream_t readers[8];
    gp_sim_note_alloc(segment, KIB(4), a);
    write_on(a, segment, KIB(4));
    for (int i = 0; i < 8; i++) {
        cr_assert(eq(int, gp_sim_stream_create(&readers[i], true), 0));
        order(a, readers[i]);
        read_on(readers[i], at(KIB(1) * (size_t)(i % 4)), KIB(1));
    }
    for (int i = 0; i < 8; i++)
        order(readers[i], a);
    write_on(a, segment, KIB(4));
    gp_sim_note_free(segment, a);

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, a_write_that_waited_for_all_readers_but_one_is_a_race)
{
    cudaStream_t readers[3];
    gp_sim_note_alloc(segment, KIB(4), a);
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, gp_sim_stream_create(&readers[i], true), 0));
        order(a, readers[i]);
        read_on(readers[i], segment, KIB(4));
    }
    order(readers[0], a);
    order(readers[2], a);
    write_on(a, segment, KIB(4));

    cr_assert(eq(int, only_hazard().kind, GP_SIM_HAZARD_RACE));
}

/* ---- the checker itself ---- */

Test(hazard_checker, many_hazards_are_counted_and_the_first_ones_kept)
{
    gp_sim_hazard hazards[100];
    for (int i = 0; i < 70; i++)
        read_on(a, (void *)(uintptr_t)512, 1);

    cr_assert(eq(u64, gp_sim_hazard_count(), 70));
    cr_assert(eq(sz, gp_sim_get_hazards(hazards, 100), 64));
    cr_assert(eq(u64, hazards[0].earlier.stream_id, 0), "nothing ever was there");
}

Test(hazard_checker, a_capturing_stream_s_notes_are_ignored)
{
    gp_sim_graph graph;
    cr_assert(eq(int, gp_sim_begin_capture(a, GP_SIM_CAPTURE_GLOBAL), 0));
    gp_sim_note_alloc(segment, KIB(4), a);
    gp_sim_note_free(segment, a);

    cr_assert(eq(int, gp_sim_end_capture(a, &graph), 0));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

Test(hazard_checker, nothing_is_checked_when_it_is_switched_off)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.check_hazards = false;
    cr_assert(eq(int, gp_sim_reset(&config), GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&a, true), 0));

    read_on(a, (void *)(uintptr_t)512, 1);

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}

/* A pool that orders everything, on random sizes and streams, raises no alarm. */
Test(hazard_checker, a_correct_pool_raises_no_false_alarm_on_a_long_run)
{
    enum { BLOCKS = 64, ROUNDS = 20000, STREAMS = 6 };
    cudaStream_t streams[STREAMS];
    gp_sim_event fences[BLOCKS];
    uint32_t random = 1;
    bool is_live[BLOCKS] = {false};
    size_t owner[BLOCKS] = {0};
    for (size_t i = 0; i < STREAMS; i++)
        cr_assert(eq(int, gp_sim_stream_create(&streams[i], true), 0));
    for (size_t i = 0; i < BLOCKS; i++)
        cr_assert(eq(int, gp_sim_event_create(&fences[i]), 0));

    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1664525u + 1013904223u;
        size_t block = (random >> 8) % BLOCKS;
        void *base = at(block * KIB(16));
        size_t bytes = 1 + (random >> 16) % KIB(16);
        if (is_live[block]) {
            gp_sim_note_free(base, streams[owner[block]]);
            cr_assert(eq(int, gp_sim_event_record(fences[block], streams[owner[block]]), 0));
        } else {
            owner[block] = (random >> 20) % STREAMS;
            if (gp_sim_event_query(fences[block]) != 0)
                cr_assert(
                    eq(int, gp_sim_stream_wait_event(streams[owner[block]], fences[block]), 0));
            gp_sim_note_alloc(base, bytes, streams[owner[block]]);
            touch(streams[owner[block]], base, bytes, random % 3 != 0);
        }
        is_live[block] = !is_live[block];
    }

    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
}
