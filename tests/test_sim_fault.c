/* Failures that are asked for, counts, and the life of the machine itself. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "gp/sim.h"

#include <pthread.h>

enum { CODE = 999, ROUNDS = 6 };

static cudaStream_t stream;
static cudaMemPool_t pool;
static gp_sim_event event;

static void reset_machine(void)
{
    cr_assert(eq(int, gp_sim_reset(NULL), GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&stream, true), 0));
    cr_assert(eq(int, gp_sim_pool_create(&pool), 0));
    cr_assert(eq(int, gp_sim_event_create(&event), 0));
}

TestSuite(sim_fault, .init = reset_machine);

/* Call one native function in a way that succeeds, and undo it by another. */
static gp_sim_result call_pool_function(gp_sim_function function)
{
    gp_sim_pool_usage usage;
    cudaMemPool_t made = NULL;
    switch (function) {
    case GP_SIM_FN_POOL_CREATE:
        return gp_sim_pool_create(&made);
    case GP_SIM_FN_POOL_DESTROY:
        return gp_sim_pool_create(&made) != 0 ? -1 : gp_sim_pool_destroy(made);
    case GP_SIM_FN_POOL_SET_THRESHOLD:
        return gp_sim_pool_set_threshold(pool, 1);
    case GP_SIM_FN_POOL_GET_USAGE:
        return gp_sim_pool_get_usage(pool, &usage);
    case GP_SIM_FN_POOL_TRIM:
        return gp_sim_pool_trim_to(pool, 0);
    default:
        return -1;
    }
}

static gp_sim_result call_memory_function(gp_sim_function function)
{
    size_t free_bytes;
    size_t total_bytes;
    unsigned char byte;
    void *ptr = NULL;
    switch (function) {
    case GP_SIM_FN_MALLOC:
        return gp_sim_malloc_async(&ptr, 1, pool, stream);
    case GP_SIM_FN_FREE:
        return gp_sim_malloc_async(&ptr, 1, pool, stream) != 0 ? -1
                                                               : gp_sim_free_async(ptr, stream);
    case GP_SIM_FN_MEMSET:
        return gp_sim_malloc_async(&ptr, 1, pool, stream) != 0
                   ? -1
                   : gp_sim_memset_async(ptr, 1, 1, stream);
    case GP_SIM_FN_MEMCPY_TO_HOST:
        return gp_sim_malloc_async(&ptr, 1, pool, stream) != 0
                   ? -1
                   : gp_sim_memcpy_to_host_async(&byte, ptr, 1, stream);
    case GP_SIM_FN_MEM_GET_INFO:
        return gp_sim_mem_get_info(&free_bytes, &total_bytes);
    default:
        return call_pool_function(function);
    }
}

static gp_sim_result call_event_function(gp_sim_function function)
{
    gp_sim_event made = NULL;
    switch (function) {
    case GP_SIM_FN_EVENT_CREATE:
        return gp_sim_event_create(&made);
    case GP_SIM_FN_EVENT_DESTROY:
        return gp_sim_event_create(&made) != 0 ? -1 : gp_sim_event_destroy(made);
    case GP_SIM_FN_EVENT_RECORD:
        return gp_sim_event_record(event, stream);
    case GP_SIM_FN_EVENT_QUERY:
        return gp_sim_event_query(event);
    case GP_SIM_FN_STREAM_WAIT:
        return gp_sim_stream_wait_event(stream, event);
    default:
        return call_memory_function(function);
    }
}

static gp_sim_result call_function(gp_sim_function function)
{
    gp_sim_capture_mode mode = GP_SIM_CAPTURE_GLOBAL;
    gp_sim_capture_status status;
    cudaStream_t made = NULL;
    uint64_t id;
    int device;
    switch (function) {
    case GP_SIM_FN_STREAM_CREATE:
        return gp_sim_stream_create(&made, true);
    case GP_SIM_FN_STREAM_DESTROY:
        return gp_sim_stream_create(&made, true) != 0 ? -1 : gp_sim_stream_destroy(made);
    case GP_SIM_FN_STREAM_QUERY:
        return gp_sim_stream_query(stream);
    case GP_SIM_FN_DEVICE_SYNCHRONIZE:
        return gp_sim_device_synchronize();
    case GP_SIM_FN_STREAM_IS_CAPTURING:
        return gp_sim_stream_is_capturing(stream, &status);
    case GP_SIM_FN_STREAM_GET_CAPTURE_INFO:
        return gp_sim_stream_get_capture_info(stream, &status, &id);
    case GP_SIM_FN_STREAM_GET_ID:
        return gp_sim_stream_get_id(stream, &id);
    case GP_SIM_FN_STREAM_GET_DEVICE:
        return gp_sim_stream_get_device(stream, &device);
    case GP_SIM_FN_EXCHANGE_CAPTURE_MODE:
        return gp_sim_exchange_capture_mode(&mode);
    default:
        return call_event_function(function);
    }
}

Test(sim_fault, every_native_function_can_be_made_to_fail_on_its_nth_calls)
{
    for (int i = 0; i < GP_SIM_FN_COUNT; i++) {
        gp_sim_function function = (gp_sim_function)i;
        cr_assert(eq(int, call_function(function), 0), "function %d", i);
        gp_sim_fail(function, 3, 2, CODE);

        for (int call = 1; call <= ROUNDS; call++) {
            int expected = call == 3 || call == 4 ? CODE : 0;
            cr_assert(eq(int, call_function(function), expected), "function %d call %d", i, call);
        }
        gp_sim_fail(function, 0, 0, 0);
    }
}

Test(sim_fault, a_failed_call_has_no_effect)
{
    void *ptr = &pool;
    gp_sim_event made = event;
    gp_sim_fail(GP_SIM_FN_MALLOC, 1, 1, 2);
    gp_sim_fail(GP_SIM_FN_EVENT_CREATE, 1, 1, 2);
    size_t events = gp_sim_live_events();

    cr_assert(eq(int, gp_sim_malloc_async(&ptr, 1, pool, stream), 2));
    cr_assert(eq(int, gp_sim_event_create(&made), 2));

    gp_sim_pool_usage usage;
    cr_assert(eq(int, gp_sim_pool_get_usage(pool, &usage), 0));
    cr_assert(eq(u64, usage.reserved_bytes, 0));
    cr_assert(eq(ptr, ptr, &pool));
    cr_assert(eq(sz, gp_sim_live_events(), events));
}

Test(sim_fault, a_rule_can_be_taken_back)
{
    gp_sim_fail(GP_SIM_FN_EVENT_QUERY, 1, UINT64_MAX, CODE);
    cr_assert(eq(int, gp_sim_event_query(event), CODE));

    gp_sim_fail(GP_SIM_FN_EVENT_QUERY, 1, 0, CODE);

    cr_assert(eq(int, gp_sim_event_query(event), 0));
}

static void *query_ten_times(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++)
        (void)gp_sim_event_query(event);
    return NULL;
}

Test(sim_fault, calls_are_counted_over_all_threads_failed_ones_included)
{
    pthread_t thread;
    uint64_t before = gp_sim_call_count(GP_SIM_FN_EVENT_QUERY);
    gp_sim_fail(GP_SIM_FN_EVENT_QUERY, 1, 3, CODE);
    cr_assert(eq(int, pthread_create(&thread, NULL, query_ten_times, NULL), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    (void)query_ten_times(NULL);

    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_EVENT_QUERY) - before, 20));
    reset_machine();
    cr_assert(eq(u64, gp_sim_call_count(GP_SIM_FN_EVENT_QUERY), 0));
}

/* C62 */
Test(sim_fault, after_shut_down_every_native_call_says_so)
{
    gp_sim_shut_down();

    for (int i = 0; i < GP_SIM_FN_COUNT; i++) {
        gp_sim_result result = call_function((gp_sim_function)i);
        cr_assert(result == 4 || result == -1, "function %d", i);
    }
    cr_assert(eq(int, gp_sim_launch(stream, NULL, 0, 1), 4));
    cr_assert(eq(int, gp_sim_stream_synchronize(stream), 4));
}

Test(sim_fault, a_config_out_of_range_is_refused_and_the_machine_stays)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.struct_bytes = 8;
    cr_assert(eq(int, gp_sim_reset(&config), GP_ERR_VERSION_MISMATCH));

    gp_sim_config_init(&config);
    config.device_count = 9;
    cr_assert(eq(int, gp_sim_reset(&config), GP_ERR_INVALID_CONFIG));
    gp_sim_config_init(&config);
    config.granularity = 3 << 20;
    cr_assert(eq(int, gp_sim_reset(&config), GP_ERR_INVALID_CONFIG));
    gp_sim_config_init(&config);
    config.base_offset = 100;
    cr_assert(eq(int, gp_sim_reset(&config), GP_ERR_INVALID_CONFIG));

    cr_assert(eq(int, gp_sim_event_query(event), 0));
}

Test(sim_fault, a_reset_makes_every_old_handle_invalid)
{
    cr_assert(eq(int, gp_sim_reset(NULL), GP_OK));

    cr_assert(eq(u64, gp_sim_now_ns(), 0));
    cr_assert(eq(int, gp_sim_event_query(event), 400));
    cr_assert(eq(int, gp_sim_stream_query(stream), 400));
    cr_assert(eq(int, gp_sim_pool_trim_to(pool, 0), 1));
}
