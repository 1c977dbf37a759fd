/* Streams, events, gates and time of the simulated device. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "gp/sim.h"

#include <pthread.h>

#define WORK_NS ((uint64_t)5000)

static void reset_machine(void)
{
    cr_assert(eq(int, gp_sim_reset(NULL), GP_OK));
}

static void reset_with_manual_clock(void)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.clock = GP_SIM_CLOCK_MANUAL;
    cr_assert(eq(int, gp_sim_reset(&config), GP_OK));
}

static cudaStream_t make_stream(void)
{
    cudaStream_t stream = NULL;
    cr_assert(eq(int, gp_sim_stream_create(&stream, true), 0));
    return stream;
}

static gp_sim_event make_event(void)
{
    gp_sim_event event = NULL;
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
    return event;
}

static uint64_t id_of(cudaStream_t stream)
{
    uint64_t id = 0;
    cr_assert(eq(int, gp_sim_stream_get_id(stream, &id), 0));
    return id;
}

static void work(cudaStream_t stream)
{
    cr_assert(eq(int, gp_sim_launch(stream, NULL, 0, WORK_NS), 0));
}

TestSuite(sim_stream, .init = reset_machine);

/* ---- identity ---- */

/* C11 */
Test(sim_stream, a_destroyed_stream_s_handle_is_issued_again_at_once_with_a_new_id)
{
    cudaStream_t first = make_stream();
    uint64_t first_id = id_of(first);
    cr_assert(eq(int, gp_sim_stream_destroy(first), 0));

    cudaStream_t second = make_stream();

    cr_assert(eq(ptr, second, first));
    cr_assert(ne(u64, id_of(second), first_id));
}

Test(sim_stream, handles_come_back_last_destroyed_first)
{
    cudaStream_t a = make_stream();
    cudaStream_t b = make_stream();
    cr_assert(eq(int, gp_sim_stream_destroy(a), 0));
    cr_assert(eq(int, gp_sim_stream_destroy(b), 0));

    cr_assert(eq(ptr, make_stream(), b));
    cr_assert(eq(ptr, make_stream(), a));
}

Test(sim_stream, null_and_the_legacy_handle_are_one_stream)
{
    cr_assert(eq(u64, id_of(NULL), id_of(GP_SIM_STREAM_LEGACY)));
    cr_assert(ne(u64, id_of(NULL), id_of(GP_SIM_STREAM_PER_THREAD)));
}

static void *read_own_id(void *id)
{
    (void)gp_sim_stream_get_id(GP_SIM_STREAM_PER_THREAD, id);
    return NULL;
}

/* C17 */
Test(sim_stream, the_per_thread_handle_is_another_stream_in_every_thread)
{
    uint64_t other = 0;
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, read_own_id, &other), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));

    uint64_t own = id_of(GP_SIM_STREAM_PER_THREAD);

    cr_assert(ne(u64, other, 0));
    cr_assert(ne(u64, own, other));
    cr_assert(eq(u64, id_of(GP_SIM_STREAM_PER_THREAD), own));
}

Test(sim_stream, ids_are_not_used_again_by_a_new_machine)
{
    uint64_t old = id_of(make_stream());

    reset_machine();

    cr_assert(lt(u64, old, id_of(NULL)));
}

Test(sim_stream, a_call_that_names_a_dead_handle_is_refused_and_counted)
{
    cudaStream_t stream = make_stream();
    gp_sim_event event = make_event();
    cr_assert(eq(int, gp_sim_stream_destroy(stream), 0));
    cr_assert(eq(int, gp_sim_event_destroy(event), 0));
    gp_sim_event reborn = make_event();
    uint64_t id = 7;

    cr_assert(eq(int, gp_sim_stream_get_id(stream, &id), 400));
    cr_assert(eq(int, gp_sim_stream_query(stream), 400));
    cr_assert(eq(int, gp_sim_event_query(event), 400));

    cr_assert(eq(u64, gp_sim_dead_handle_count(), 3));
    cr_assert(eq(u64, id, 7));
    cr_assert(ne(ptr, reborn, event), "an event's handle is never issued twice");
}

Test(sim_stream, a_handle_that_never_was_is_refused_but_not_counted)
{
    cudaStream_t wild = (cudaStream_t)(uintptr_t)0x1234;

    cr_assert(eq(int, gp_sim_stream_query(wild), 400));
    cr_assert(eq(u64, gp_sim_dead_handle_count(), 0));
}

Test(sim_stream, live_handles_are_counted)
{
    cudaStream_t stream = make_stream();
    gp_sim_event event = make_event();
    work(GP_SIM_STREAM_PER_THREAD);

    cr_assert(eq(sz, gp_sim_live_streams(), 1));
    cr_assert(eq(sz, gp_sim_live_events(), 1));
    cr_assert(eq(int, gp_sim_stream_destroy(stream), 0));
    cr_assert(eq(int, gp_sim_event_destroy(event), 0));
    cr_assert(eq(sz, gp_sim_live_streams(), 0));
    cr_assert(eq(sz, gp_sim_live_events(), 0));
}

Test(sim_stream, devices_have_their_own_legacy_streams_and_events)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.device_count = 2;
    cr_assert(eq(int, gp_sim_reset(&config), GP_OK));
    uint64_t id_on_first = id_of(NULL);
    gp_sim_event event_of_first = make_event();

    cr_assert(eq(int, gp_sim_set_device(1), 0));
    int device = -1;

    cr_assert(ne(u64, id_of(NULL), id_on_first));
    cr_assert(eq(int, gp_sim_stream_get_device(make_stream(), &device), 0));
    cr_assert(eq(int, device, 1));
    cr_assert(eq(int, gp_sim_event_record(event_of_first, NULL), 400)); /* C20 */
    cr_assert(eq(int, gp_sim_set_device(2), 101));
}

/* ---- time ---- */

Test(sim_stream, work_takes_its_time_and_a_synchronising_call_jumps_to_its_end)
{
    cudaStream_t stream = make_stream();
    uint64_t start = gp_sim_now_ns();
    work(stream);
    work(stream);

    cr_assert(eq(int, gp_sim_stream_query(stream), 600));
    cr_assert(eq(int, gp_sim_stream_synchronize(stream), 0));

    cr_assert(eq(u64, gp_sim_now_ns(), start + 2 * WORK_NS));
    cr_assert(eq(int, gp_sim_stream_query(stream), 0));
}

Test(sim_stream, a_manual_clock_stands_still_until_it_is_advanced, .init = reset_with_manual_clock)
{
    cudaStream_t stream = make_stream();
    gp_sim_event event = make_event();
    work(stream);
    cr_assert(eq(int, gp_sim_event_record(event, stream), 0));

    cr_assert(eq(int, gp_sim_stream_synchronize(stream), 600));
    gp_sim_advance(WORK_NS - 1);
    cr_assert(eq(int, gp_sim_event_query(event), 600));
    gp_sim_advance(1);

    cr_assert(eq(int, gp_sim_event_query(event), 0));
    cr_assert(eq(int, gp_sim_stream_synchronize(stream), 0));
    cr_assert(eq(u64, gp_sim_now_ns(), WORK_NS));
}

Test(sim_stream, native_calls_cost_what_was_measured)
{
    cudaStream_t stream = make_stream();
    gp_sim_event event = make_event();
    gp_sim_capture_status status;
    uint64_t start = gp_sim_now_ns();
    uint64_t thread_start = gp_sim_thread_native_ns();

    cr_assert(eq(int, gp_sim_event_record(event, stream), 0));
    cr_assert(eq(int, gp_sim_event_query(event), 0));
    cr_assert(eq(int, gp_sim_stream_wait_event(stream, event), 0));
    cr_assert(eq(int, gp_sim_stream_is_capturing(stream, &status), 0));
    (void)id_of(stream);

    cr_assert(eq(u64, gp_sim_now_ns() - start, 156 + 141 + 112 + 18 + 20));
    cr_assert(eq(u64, gp_sim_thread_native_ns() - thread_start, 156 + 141 + 112 + 18 + 20));
}

Test(sim_stream, a_stream_that_waits_for_an_event_starts_after_it)
{
    cudaStream_t first = make_stream();
    cudaStream_t second = make_stream();
    gp_sim_event event = make_event();
    uint64_t start = gp_sim_now_ns();
    work(first);
    cr_assert(eq(int, gp_sim_event_record(event, first), 0));
    cr_assert(eq(int, gp_sim_stream_wait_event(second, event), 0));
    work(second);

    cr_assert(eq(int, gp_sim_stream_synchronize(second), 0));

    cr_assert(eq(u64, gp_sim_now_ns() - start, 2 * WORK_NS));
}

Test(sim_stream, an_event_that_was_never_recorded_is_complete)
{
    cr_assert(eq(int, gp_sim_event_query(make_event()), 0));
}

Test(sim_stream, the_legacy_stream_runs_after_blocking_streams_and_before_their_next_work)
{
    cudaStream_t blocking = NULL;
    cudaStream_t free_runner = make_stream();
    cr_assert(eq(int, gp_sim_stream_create(&blocking, false), 0));
    uint64_t start = gp_sim_now_ns();
    work(blocking);
    work(NULL);
    work(blocking);
    work(free_runner);

    cr_assert(eq(int, gp_sim_stream_synchronize(free_runner), 0));
    cr_assert(eq(u64, gp_sim_now_ns() - start, WORK_NS));
    cr_assert(eq(int, gp_sim_stream_synchronize(blocking), 0));
    cr_assert(eq(u64, gp_sim_now_ns() - start, 3 * WORK_NS));
}

Test(sim_stream, work_of_a_destroyed_stream_still_runs_to_its_end)
{
    cudaStream_t stream = make_stream();
    gp_sim_event event = make_event();
    cr_assert(eq(int, gp_sim_launch(stream, NULL, 0, 100 * WORK_NS), 0));
    cr_assert(eq(int, gp_sim_event_record(event, stream), 0));
    cr_assert(eq(int, gp_sim_stream_destroy(stream), 0));
    (void)make_stream();

    cr_assert(eq(int, gp_sim_event_query(event), 600));
    cr_assert(eq(int, gp_sim_device_synchronize(), 0));
    cr_assert(eq(int, gp_sim_event_query(event), 0));
}

/* ---- gates ---- */

Test(sim_stream, a_gate_stops_its_stream_and_those_that_wait_for_it)
{
    cudaStream_t gated = make_stream();
    cudaStream_t waiting = make_stream();
    gp_sim_event event = make_event();
    gp_sim_gate gate = NULL;
    cr_assert(eq(int, gp_sim_gate_create(&gate), 0));
    cr_assert(eq(int, gp_sim_gate_wait(gated, gate), 0));
    work(gated);
    cr_assert(eq(int, gp_sim_event_record(event, gated), 0));
    cr_assert(eq(int, gp_sim_stream_wait_event(waiting, event), 0));
    gp_sim_advance(1000 * WORK_NS);
    cr_assert(eq(int, gp_sim_stream_query(gated), 600));
    cr_assert(eq(int, gp_sim_stream_query(waiting), 600));
    uint64_t opened = gp_sim_now_ns();

    cr_assert(eq(int, gp_sim_gate_open(gate), 0));
    cr_assert(eq(int, gp_sim_stream_synchronize(waiting), 0));

    cr_assert(eq(u64, gp_sim_now_ns(), opened + WORK_NS));
    cr_assert(eq(int, gp_sim_gate_destroy(gate), 0));
}

static void *open_gate(void *gate)
{
    (void)gp_sim_gate_open(gate);
    return NULL;
}

Test(sim_stream, a_synchronising_call_waits_for_another_thread_to_open_the_gate, .timeout = 20)
{
    cudaStream_t stream = make_stream();
    gp_sim_gate gate = NULL;
    pthread_t thread;
    cr_assert(eq(int, gp_sim_gate_create(&gate), 0));
    cr_assert(eq(int, gp_sim_gate_wait(stream, gate), 0));
    cr_assert(eq(int, pthread_create(&thread, NULL, open_gate, gate), 0));

    cr_assert(eq(int, gp_sim_stream_synchronize(stream), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
}

Test(sim_stream, a_destroyed_gate_lets_its_streams_go)
{
    cudaStream_t stream = make_stream();
    gp_sim_gate gate = NULL;
    cr_assert(eq(int, gp_sim_gate_create(&gate), 0));
    cr_assert(eq(int, gp_sim_gate_wait(stream, gate), 0));

    cr_assert(eq(int, gp_sim_gate_destroy(gate), 0));

    cr_assert(eq(int, gp_sim_stream_query(stream), 0));
    cr_assert(eq(int, gp_sim_gate_open(gate), 400));
}
