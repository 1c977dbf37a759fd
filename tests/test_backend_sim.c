/* The backend on the simulated device keeps the contract of backend.h. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "gp/sim.h"
#include "backend.h"

#include <string.h>

#define MIB(n) ((size_t)(n) << 20)

static const gp_backend_ops *ops;
static gp_backend *backend;
static cudaStream_t stream;
static cudaMemPool_t pool;

static void open_backend(void)
{
    ops = gp_backend_sim();
    cr_assert(eq(int, gp_sim_reset(NULL), GP_OK));
    cr_assert(eq(int, ops->open(0, &backend), GP_OK));
    cr_assert(eq(int, gp_sim_stream_create(&stream, true), 0));
    cr_assert(eq(int, backend->ops->pool_create(backend, 0, &pool), GP_OK));
}

static void close_backend(void)
{
    if (backend != NULL)
        backend->ops->close(backend);
    backend = NULL;
}

TestSuite(backend_sim, .init = open_backend, .fini = close_backend);

Test(backend_sim, describes_itself)
{
    gp_device_info info;
    memset(&info, 0, sizeof(info));

    backend->ops->describe(backend, &info);

    cr_assert(eq(int, ops->probe(), GP_OK));
    cr_assert(eq(int, backend->ops->kind, GP_BACKEND_SIM));
    cr_assert(eq(str, info.name, "simulated device"));
    cr_assert(eq(sz, info.total_bytes, (size_t)141 << 30));
}

Test(backend_sim, a_machine_is_not_thrown_away_under_a_backend)
{
    cr_assert(eq(int, gp_sim_reset(NULL), GP_ERR_BUSY));

    close_backend();

    cr_assert(eq(int, gp_sim_reset(NULL), GP_OK));
}

Test(backend_sim, a_device_that_is_not_there_is_unsupported_with_a_reason)
{
    gp_backend *none = NULL;

    cr_assert(eq(int, ops->open(1, &none), GP_ERR_UNSUPPORTED));
    cr_assert_null(none);
    cr_assert_not_null(strstr(gp_last_error(), "no simulated device 1"));
    cr_assert(eq(int, ops->open(-1, &none), GP_ERR_UNSUPPORTED));
}

/* C90 */
Test(backend_sim, a_device_without_pools_is_unsupported_with_a_reason)
{
    gp_sim_config config;
    gp_backend *none = NULL;
    gp_sim_config_init(&config);
    config.pools_supported = false;
    close_backend();
    cr_assert(eq(int, gp_sim_reset(&config), GP_OK));

    cr_assert(eq(int, ops->open(0, &none), GP_ERR_UNSUPPORTED));

    cr_assert_not_null(strstr(gp_last_error(), "no memory pools"));
}

Test(backend_sim, notes_reach_the_checker_only_if_it_is_on)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.check_hazards = false;
    cr_assert(backend->ops->note_alloc == gp_sim_note_alloc);
    close_backend();
    cr_assert(eq(int, gp_sim_reset(&config), GP_OK));

    cr_assert(eq(int, ops->open(0, &backend), GP_OK));

    cr_assert(backend->ops->note_alloc == NULL);
    cr_assert(backend->ops->note_free == NULL);
    cr_assert(backend->ops->note_use == NULL);
}

Test(backend_sim, a_pool_keeps_its_memory_at_synchronising_calls)
{
    void *ptr = NULL;
    gp_native_usage usage;
    cr_assert(eq(int, backend->ops->alloc(backend, &ptr, MIB(64), pool, stream), GP_OK));
    cr_assert(eq(int, backend->ops->free(backend, ptr, stream), GP_OK));

    cr_assert(eq(int, gp_sim_device_synchronize(), 0));

    cr_assert(eq(int, backend->ops->pool_usage(backend, pool, &usage), GP_OK));
    cr_assert(eq(u64, usage.reserved_bytes, MIB(64)));
    cr_assert(eq(u64, usage.used_bytes, 0));
}

Test(backend_sim, a_pool_s_own_limit_is_kept)
{
    cudaMemPool_t small = NULL;
    void *ptr = NULL;
    cr_assert(eq(int, backend->ops->pool_create(backend, MIB(64), &small), GP_OK));

    cr_assert(
        eq(int, backend->ops->alloc(backend, &ptr, MIB(65), small, stream), GP_ERR_OUT_OF_MEMORY));
    cr_assert(eq(int, gp_last_native_error(), 2));
    cr_assert(eq(int, backend->ops->alloc(backend, &ptr, MIB(64), small, stream), GP_OK));
}

Test(backend_sim, inspecting_a_stream_never_reads_the_id_of_a_capturing_one)
{
    gp_stream_view view;
    gp_sim_graph graph = NULL;
    uint64_t id = 0;
    cr_assert(eq(int, gp_sim_stream_get_id(stream, &id), 0));
    cr_assert(eq(int, ops->stream_inspect(stream, &view), GP_OK));
    cr_assert(eq(int, view.capture, GP_CAPTURE_STATE_NONE));
    cr_assert(eq(u64, view.id, id));
    cr_assert(eq(int, gp_sim_begin_capture(stream, GP_SIM_CAPTURE_GLOBAL), 0));

    cr_assert(eq(int, ops->stream_inspect(stream, &view), GP_OK));

    cr_assert(eq(int, view.capture, GP_CAPTURE_STATE_ACTIVE));
    cr_assert(eq(int, gp_sim_end_capture(stream, &graph), 0));
}

/* C28 */
Test(backend_sim, the_legacy_stream_beside_a_capture_is_implicit)
{
    gp_stream_view view;
    gp_sim_graph graph = NULL;
    cudaStream_t blocking = NULL;
    cr_assert(eq(int, gp_sim_stream_create(&blocking, false), 0));
    cr_assert(eq(int, gp_sim_begin_capture(blocking, GP_SIM_CAPTURE_GLOBAL), 0));

    cr_assert(eq(int, ops->stream_inspect(NULL, &view), GP_OK));

    cr_assert(eq(int, view.capture, GP_CAPTURE_STATE_IMPLICIT));
    cr_assert(eq(int, gp_sim_end_capture(blocking, &graph), 0));
}

/* C22 */
Test(backend_sim, no_call_invalidates_a_capture_and_the_thread_s_mode_is_left_as_it_was)
{
    gp_native_event event = NULL;
    gp_sim_graph graph = NULL;
    cudaStream_t captured = NULL;
    cudaStream_t made = NULL;
    cudaMemPool_t other = NULL;
    void *ptr = NULL;
    bool complete = false;
    size_t free_bytes;
    size_t total_bytes;
    cr_assert(eq(int, gp_sim_stream_create(&captured, true), 0));
    cr_assert(eq(int, gp_sim_begin_capture(captured, GP_SIM_CAPTURE_GLOBAL), 0));

    cr_assert(eq(int, backend->ops->event_create(backend, &event), GP_OK));
    cr_assert(eq(int, backend->ops->event_record(backend, event, stream), GP_OK));
    cr_assert(eq(int, backend->ops->event_query(backend, event, &complete), GP_OK));
    cr_assert(eq(int, backend->ops->stream_query(backend, stream, &complete), GP_OK));
    cr_assert(eq(int, backend->ops->stream_wait(backend, stream, event), GP_OK));
    cr_assert(eq(int, backend->ops->alloc(backend, &ptr, MIB(1), pool, stream), GP_OK));
    cr_assert(eq(int, backend->ops->free(backend, ptr, stream), GP_OK));
    cr_assert(eq(int, backend->ops->pool_trim(backend, pool, 0), GP_OK));
    cr_assert(eq(int, backend->ops->pool_create(backend, 0, &other), GP_OK));
    cr_assert(eq(int, backend->ops->pool_destroy(backend, other), GP_OK));
    cr_assert(eq(int, backend->ops->stream_create(backend, &made), GP_OK));
    backend->ops->stream_destroy(backend, made);
    cr_assert(eq(int, backend->ops->mem_info(backend, &free_bytes, &total_bytes), GP_OK));
    backend->ops->event_destroy(backend, event);

    cr_assert(complete);
    cr_assert(eq(int, gp_sim_end_capture(captured, &graph), 0));
    gp_sim_capture_mode mode = GP_SIM_CAPTURE_RELAXED;
    cr_assert(eq(int, gp_sim_exchange_capture_mode(&mode), 0));
    cr_assert(eq(int, mode, GP_SIM_CAPTURE_GLOBAL));
}

Test(backend_sim, an_event_that_is_not_complete_is_no_error)
{
    gp_native_event event = NULL;
    bool complete = true;
    cr_assert(eq(int, backend->ops->event_create(backend, &event), GP_OK));
    cr_assert(eq(int, gp_sim_launch(stream, NULL, 0, 1000000), 0));
    cr_assert(eq(int, backend->ops->event_record(backend, event, stream), GP_OK));

    cr_assert(eq(int, backend->ops->event_query(backend, event, &complete), GP_OK));

    cr_assert_not(complete);
    backend->ops->event_destroy(backend, event);
    cr_assert(eq(sz, gp_sim_live_events(), 0));
}

/* C55 */
Test(backend_sim, things_are_made_on_the_backend_s_device_and_the_current_one_is_kept)
{
    gp_sim_config config;
    gp_backend *second = NULL;
    gp_native_event event = NULL;
    cudaStream_t made = NULL;
    int device = -1;
    gp_sim_config_init(&config);
    config.device_count = 2;
    close_backend();
    cr_assert(eq(int, gp_sim_reset(&config), GP_OK));
    cr_assert(eq(int, ops->open(1, &second), GP_OK));

    cr_assert(eq(int, second->ops->stream_create(second, &made), GP_OK));
    cr_assert(eq(int, second->ops->event_create(second, &event), GP_OK));

    cr_assert(eq(int, ops->stream_device(made, &device), GP_OK));
    cr_assert(eq(int, device, 1));
    cr_assert(eq(int, second->ops->event_record(second, event, made), GP_OK));
    cr_assert(eq(int, ops->current_device(&device), GP_OK));
    cr_assert(eq(int, device, 0));
    second->ops->close(second);
}

Test(backend_sim, a_failure_leaves_the_output_alone_and_names_the_call)
{
    void *ptr = &pool;
    gp_sim_fail(GP_SIM_FN_MALLOC, 1, 1, 999);

    cr_assert(eq(int, backend->ops->alloc(backend, &ptr, 1, pool, stream), GP_ERR_CUDA));

    cr_assert(eq(ptr, ptr, &pool));
    cr_assert(eq(int, gp_last_native_error(), 999));
    cr_assert_not_null(strstr(gp_last_error(), "gp_sim_malloc_async"));
}

/* C68 */
Test(backend_sim, a_pool_that_cannot_be_set_up_is_not_left_behind)
{
    cudaMemPool_t none = NULL;
    size_t before = gp_sim_live_pools();
    gp_sim_fail(GP_SIM_FN_POOL_SET_THRESHOLD, 1, 1, 999);

    cr_assert(eq(int, backend->ops->pool_create(backend, 0, &none), GP_ERR_CUDA));

    cr_assert_null(none);
    cr_assert(eq(sz, gp_sim_live_pools(), before));
}

Test(backend_sim, a_destroyed_stream_is_an_invalid_one)
{
    gp_stream_view view;
    cr_assert(eq(int, gp_sim_stream_destroy(stream), 0));

    cr_assert(eq(int, ops->stream_inspect(stream, &view), GP_ERR_INVALID_STREAM));
}

Test(backend_sim, memory_taken_for_gp_must_be_announced_before_it_is_touched)
{
    void *noted = NULL;
    void *other = NULL;
    void *users = NULL;
    cr_assert(eq(int, backend->ops->alloc(backend, &noted, 512, pool, stream), GP_OK));
    cr_assert(eq(int, backend->ops->alloc(backend, &other, 512, pool, stream), GP_OK));
    cr_assert(eq(int, gp_sim_malloc_async(&users, 512, pool, stream), 0));
    backend->ops->note_alloc(noted, 512, stream);
    gp_sim_access good = {.base = noted, .bytes = 512, .writes = true};
    gp_sim_access users_own = {.base = users, .bytes = 512, .writes = true};
    gp_sim_access bad = {.base = other, .bytes = 512, .writes = true};

    cr_assert(eq(int, gp_sim_launch(stream, &good, 1, 1), 0));
    cr_assert(eq(int, gp_sim_launch(stream, &users_own, 1, 1), 0));
    cr_assert(eq(u64, gp_sim_hazard_count(), 0));
    cr_assert(eq(int, gp_sim_launch(stream, &bad, 1, 1), 0));
    cr_assert(eq(u64, gp_sim_hazard_count(), 1));
}
