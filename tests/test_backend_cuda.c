/* What the CUDA backend does with drivers, devices, streams and pools, on the paper
 * driver of fake_driver.h. Its other calls: test_backend_cuda_calls.c. */
#include "cuda_fixture.h"

enum { STATUS_ACTIVE = 1, STATUS_INVALIDATED = 2, NO_DEVICE = 100 };

static char block;
static cudaMemPool_t some_pool = (cudaMemPool_t)(void *)&block;

/* ---- finding the driver ---- */

TestSuite(cuda_probe, .init = cuda_load_driver);

Test(cuda_probe, accepts_a_driver_with_a_device)
{
    cr_assert(eq(int, ops->probe(), GP_OK));
}

Test(cuda_probe, finds_the_entry_points_without_the_drivers_own_lookup)
{
    driver->hides_entry_points = true;

    cr_assert(eq(int, ops->probe(), GP_OK));
    cr_assert(eq(int, ops->open(0, &backend), GP_OK));
}

Test(cuda_probe, says_that_there_is_no_device)
{
    driver->device_count = 0;

    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));

    cr_assert(cuda_error_mentions("no device"));
}

Test(cuda_probe, says_why_the_driver_does_not_start)
{
    driver->init_result = NO_DEVICE;

    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));

    cr_assert(cuda_error_mentions("CUDA_ERROR_NO_DEVICE"));
}

Test(cuda_probe, remembers_its_answer_and_repeats_the_text)
{
    driver->device_count = 0;
    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));
    (void)gp_status_string(GP_OK);
    driver->device_count = 1;

    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));
    cr_assert(eq(int, ops->open(0, &backend), GP_ERR_UNSUPPORTED));

    cr_assert(cuda_error_mentions("no device"));
}

/* C08: drivers of CUDA 11 had faults in the native pool's reuse; gp stands on none older than 12.0.
 */
Test(cuda_probe_old_driver, names_the_function_that_is_missing)
{
    cuda_load_old_driver();

    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));

    cr_assert(cuda_error_mentions("11.8"));
    cr_assert(cuda_error_mentions("cuStreamGetId"));
    cr_assert(cuda_error_mentions("12.0"));
}

/* ---- devices ---- */

Test(cuda_probe, refuses_a_device_without_memory_pools_and_says_so)
{
    driver->pools_supported = 0;

    cr_assert(eq(int, ops->open(1, &backend), GP_ERR_UNSUPPORTED));

    cr_assert(cuda_error_mentions("device 1 has no memory pools"));
    cr_assert(eq(int, driver->primary_holds[1], 0));
}

Test(cuda_probe, refuses_a_device_that_is_not_there)
{
    cr_assert(eq(int, ops->open(FAKE_DEVICES, &backend), GP_ERR_UNSUPPORTED));
    cr_assert(cuda_error_mentions("no CUDA device 2"));
    cr_assert(eq(int, ops->open(-1, &backend), GP_ERR_UNSUPPORTED));
}

TestSuite(cuda_backend, .init = cuda_open_backend);

Test(cuda_backend, holds_the_primary_context_from_open_to_close)
{
    cr_assert(eq(int, driver->primary_holds[0], 1));

    ops->close(backend);

    cr_assert(eq(int, driver->primary_holds[0], 0));
}

Test(cuda_backend, describes_its_device)
{
    gp_device_info info = {.struct_bytes = sizeof(info)};

    ops->describe(backend, &info);

    cr_assert(eq(str, info.name, "paper 0"));
    cr_assert(eq(sz, info.total_bytes, (size_t)1 << 30));
}

Test(cuda_backend, takes_a_thread_without_a_context_to_be_on_device_0)
{
    int device = -1;

    cr_assert(eq(int, ops->current_device(&device), GP_OK));

    cr_assert(eq(int, device, 0));
}

Test(cuda_backend, finds_the_current_device_of_a_thread_that_chose_another)
{
    int device = -1;
    driver->primary_holds[1] = 1; /* as the runtime would hold it */
    set_thread(&driver->primary[1], MODE_GLOBAL);

    cr_assert(eq(int, ops->current_device(&device), GP_OK));

    cr_assert(eq(int, device, 1));
    cr_assert(eq(int, driver->primary_holds[1], 1));
}

Test(cuda_backend, knows_the_device_of_a_stream_by_one_call_once_it_is_open)
{
    struct CUstream_st stream = {.context = &driver->primary[0]};
    int device = -1;

    cr_assert(eq(int, ops->stream_device(&stream, &device), GP_OK));

    cr_assert(eq(int, device, 0));
    cr_assert(eq(sz, driver->log_length, 1));
}

Test(cuda_backend, refuses_a_stream_of_a_context_that_is_not_primary)
{
    struct CUctx_st secondary = {.device = 0};
    struct CUstream_st stream = {.context = &secondary};
    int device = -1;

    cr_assert(eq(int, ops->stream_device(&stream, &device), GP_ERR_UNSUPPORTED));

    cr_assert(cuda_error_mentions("other than the primary"));
    cr_assert(eq(int, device, -1));
    cr_assert(eq(int, driver->primary_holds[0], 1));
}

/* ---- looking at a stream ---- */

Test(cuda_backend, asks_for_the_capture_state_first_and_for_nothing_more_than_the_id)
{
    struct CUstream_st stream = {.id = 42};
    gp_stream_view view;

    cr_assert(eq(int, ops->stream_inspect(&stream, &view), GP_OK));

    cr_assert(eq(int, (int)view.capture, (int)GP_CAPTURE_STATE_NONE));
    cr_assert(eq(u64, view.id, 42));
    cr_assert(eq(sz, driver->log_length, 2));
    cr_assert(eq(str, (char *)driver->log[0], "cuStreamIsCapturing"));
    cr_assert(eq(str, (char *)driver->log[1], "cuStreamGetId"));
}

Test(cuda_backend, names_the_capture_of_a_stream_unless_it_is_over_or_spoilt)
{
    struct CUstream_st streams[] = {
        {.capture_status = STATUS_ACTIVE, .capture_id = 5},
        {.capture_status = STATUS_INVALIDATED, .capture_id = 6},
        {.capture_status = 0, .capture_id = 7},
        {.capture_result = GP_CU_STREAM_CAPTURE_IMPLICIT},
    };
    uint64_t id = 1;

    cr_assert(eq(int, ops->capture_id(&streams[0], &id), GP_OK));
    cr_assert(eq(u64, id, 5));
    for (int i = 1; i < 3; i++)
        cr_assert(eq(int, ops->capture_id(&streams[i], &id), GP_ERR_CAPTURE));
    cr_assert(ne(int, ops->capture_id(&streams[3], &id), GP_OK));
    cr_assert(eq(u64, id, 5));
}

/* C28, and DESIGN's rule 4: reading the id would invalidate the capture. */
Test(cuda_backend, never_asks_a_capturing_stream_for_its_id)
{
    struct CUstream_st streams[] = {
        {.capture_status = STATUS_ACTIVE},
        {.capture_status = STATUS_INVALIDATED},
        {.capture_result = GP_CU_STREAM_CAPTURE_IMPLICIT},
    };
    const gp_capture_state expected[] = {GP_CAPTURE_STATE_ACTIVE, GP_CAPTURE_STATE_ACTIVE,
                                         GP_CAPTURE_STATE_IMPLICIT};

    for (int i = 0; i < 3; i++) {
        gp_stream_view view;
        cr_assert(eq(int, ops->stream_inspect(&streams[i], &view), GP_OK));
        cr_assert(eq(int, (int)view.capture, (int)expected[i]));
    }

    cr_assert(eq(sz, driver->log_length, 3));
}

Test(cuda_backend, looks_at_the_null_stream_of_device_0_where_no_context_is_current)
{
    gp_stream_view view;

    cr_assert(eq(int, ops->stream_inspect(NULL, &view), GP_OK));
    cr_assert(eq(u64, view.id, 7));
    cr_assert(eq(int, ops->stream_inspect(NULL, &view), GP_OK));

    cr_assert(eq(sz, context_depth(), 0));
    cr_assert(eq(ptr, (void *)driver->unsafe_call, NULL));
    cr_assert(eq(int, driver->primary_holds[0], 2)); /* the backend's, and one for good */
}

Test(cuda_backend, reports_a_stream_that_is_none)
{
    struct CUstream_st stream = {.capture_result = 400};
    gp_stream_view view;

    cr_assert(eq(int, ops->stream_inspect(&stream, &view), GP_ERR_INVALID_STREAM));
    cr_assert(eq(int, gp_last_native_error(), 400));
}

/* ---- pools ---- */

Test(cuda_backend, makes_a_pool_on_its_device_that_never_gives_memory_back_by_itself)
{
    gp_backend *second = NULL;
    cudaMemPool_t pool = NULL;
    cr_assert(eq(int, ops->open(1, &second), GP_OK));

    cr_assert(eq(int, ops->pool_create(second, 0, &pool), GP_OK));

    cr_assert(eq(int, driver->props.location_id, 1));
    cr_assert(eq(sz, driver->props.max_bytes, 0));
    cr_assert(eq(u64, driver->threshold, UINT64_MAX));
    ops->close(second);
}

Test(cuda_backend, refuses_a_pool_that_did_not_take_its_threshold)
{
    cudaMemPool_t pool = NULL;
    driver->forgets_threshold = true;

    cr_assert(eq(int, ops->pool_create(backend, 0, &pool), GP_ERR_UNSUPPORTED));

    cr_assert(eq(ptr, pool, NULL));
    cr_assert(eq(sz, driver->live_pools, 0));
}

Test(cuda_backend, limits_the_native_pool_to_no_less_than_was_asked)
{
    const size_t mib = (size_t)1 << 20;
    cudaMemPool_t pool = NULL;

    cr_assert(eq(int, ops->pool_create(backend, 100 * mib, &pool), GP_OK));
    cr_assert(eq(sz, driver->props.max_bytes, 128 * mib));

    cr_assert(eq(int, ops->pool_create(backend, SIZE_MAX, &pool), GP_OK));
    cr_assert(eq(sz, driver->props.max_bytes, 0));
}

Test(cuda_probe, leaves_the_limit_to_gp_where_the_driver_has_none)
{
    cudaMemPool_t pool = NULL;
    driver->version = 12000;
    cr_assert(eq(int, ops->open(0, &backend), GP_OK));

    cr_assert(eq(int, ops->pool_create(backend, 4096, &pool), GP_OK));

    cr_assert(eq(sz, driver->props.max_bytes, 0));
}

Test(cuda_backend, reads_what_the_native_pool_holds)
{
    gp_native_usage usage;

    cr_assert(eq(int, ops->pool_usage(backend, some_pool, &usage), GP_OK));

    cr_assert(eq(u64, usage.reserved_bytes, 500));
    cr_assert(eq(u64, usage.reserved_bytes_high, 600));
    cr_assert(eq(u64, usage.used_bytes, 700));
}

Test(cuda_backend, trims_to_what_is_to_be_kept_and_resets_the_peak)
{
    driver->reserved_high = 1;

    cr_assert(eq(int, ops->pool_trim(backend, some_pool, 5), GP_OK));
    cr_assert(eq(int, ops->pool_reset_peak(backend, some_pool), GP_OK));

    cr_assert(eq(sz, driver->trimmed_to, 5));
    cr_assert(eq(u64, driver->reserved_high, 0));
}
