/* What the CUDA backend asks of a driver, on the paper driver of fake_driver.h. */
#include "backend.h"
#include "fake_driver.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dlfcn.h>
#include <string.h>

enum { MODE_GLOBAL = 0, STATUS_ACTIVE = 1, STATUS_INVALIDATED = 2 };
enum { OUT_OF_MEMORY = 2, DEINITIALIZED = 4, NO_DEVICE = 100, NOT_READY = 600 };

static const gp_backend_ops *ops;
static fake_driver *driver;
static fake_driver_set_thread_fn *set_thread;
static fake_driver_context_depth_fn *context_depth;
static fake_driver_capture_mode_fn *capture_mode;
static gp_backend *backend;

static char block;
static cudaMemPool_t some_pool = (cudaMemPool_t)(void *)&block;
static gp_native_event some_event = (gp_native_event)(void *)&block;

static void take(void *library, const char *name, void *function)
{
    void *entry = dlsym(library, name);
    cr_assert(ne(ptr, entry, NULL));
    memcpy(function, &entry, sizeof(entry));
}

/* The loader takes a library it already knows by its name, libcuda.so.1. */
static void load(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    cr_assert(ne(ptr, library, NULL), "%s", dlerror());

    fake_driver_get_fn *get = NULL;
    take(library, "fake_driver_get", &get);
    take(library, "fake_driver_set_thread", &set_thread);
    take(library, "fake_driver_context_depth", &context_depth);
    take(library, "fake_driver_capture_mode", &capture_mode);
    driver = get();
    ops = gp_backend_cuda();
}

static void load_driver(void)
{
    load(FAKE_DRIVER_FILE);
}

static void open_backend(void)
{
    load_driver();
    cr_assert(eq(int, ops->probe(), GP_OK), "%s", gp_last_error());
    cr_assert(eq(int, ops->open(0, &backend), GP_OK), "%s", gp_last_error());
    driver->log_length = 0;
}

static bool error_mentions(const char *words)
{
    return strstr(gp_last_error(), words) != NULL;
}

/* ---- finding the driver ---- */

TestSuite(cuda_probe, .init = load_driver);

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

    cr_assert(error_mentions("no device"));
}

Test(cuda_probe, says_why_the_driver_does_not_start)
{
    driver->init_result = NO_DEVICE;

    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));

    cr_assert(error_mentions("CUDA_ERROR_NO_DEVICE"));
}

Test(cuda_probe, remembers_its_answer_and_repeats_the_text)
{
    driver->device_count = 0;
    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));
    (void)gp_status_string(GP_OK);
    driver->device_count = 1;

    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));
    cr_assert(eq(int, ops->open(0, &backend), GP_ERR_UNSUPPORTED));

    cr_assert(error_mentions("no device"));
}

Test(cuda_probe_old_driver, names_the_function_that_is_missing)
{
    load(FAKE_OLD_DRIVER_FILE);

    cr_assert(eq(int, ops->probe(), GP_ERR_UNSUPPORTED));

    cr_assert(error_mentions("11.8"));
    cr_assert(error_mentions("cuStreamGetId"));
    cr_assert(error_mentions("12.0"));
}

/* ---- devices ---- */

Test(cuda_probe, refuses_a_device_without_memory_pools_and_says_so)
{
    driver->pools_supported = 0;

    cr_assert(eq(int, ops->open(1, &backend), GP_ERR_UNSUPPORTED));

    cr_assert(error_mentions("device 1 has no memory pools"));
    cr_assert(eq(int, driver->primary_holds[1], 0));
}

Test(cuda_probe, refuses_a_device_that_is_not_there)
{
    cr_assert(eq(int, ops->open(FAKE_DEVICES, &backend), GP_ERR_UNSUPPORTED));
    cr_assert(error_mentions("no CUDA device 2"));
    cr_assert(eq(int, ops->open(-1, &backend), GP_ERR_UNSUPPORTED));
}

TestSuite(cuda_backend, .init = open_backend);

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

    cr_assert(error_mentions("other than the primary"));
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

/* ---- every other call ---- */

typedef gp_status call(void);

static void *taken;

static gp_status call_alloc(void)
{
    return ops->alloc(backend, &taken, 4096, some_pool, NULL);
}

static gp_status call_free(void)
{
    return ops->free(backend, &block, NULL);
}

static gp_status call_mem_info(void)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    return ops->mem_info(backend, &free_bytes, &total_bytes);
}

static gp_status call_pool_create(void)
{
    cudaMemPool_t pool = NULL;
    return ops->pool_create(backend, 0, &pool);
}

static gp_status call_pool_destroy(void)
{
    return ops->pool_destroy(backend, some_pool);
}

static gp_status call_pool_trim(void)
{
    return ops->pool_trim(backend, some_pool, 5);
}

static gp_status call_pool_usage(void)
{
    gp_native_usage usage;
    return ops->pool_usage(backend, some_pool, &usage);
}

static gp_status call_pool_reset_peak(void)
{
    return ops->pool_reset_peak(backend, some_pool);
}

static gp_status call_event_create(void)
{
    gp_native_event event = NULL;
    return ops->event_create(backend, &event);
}

static gp_status call_event_destroy(void)
{
    ops->event_destroy(backend, some_event);
    return GP_OK;
}

static gp_status call_event_record(void)
{
    return ops->event_record(backend, some_event, NULL);
}

static gp_status call_event_query(void)
{
    bool complete = false;
    return ops->event_query(backend, some_event, &complete);
}

static gp_status call_stream_wait(void)
{
    return ops->stream_wait(backend, NULL, some_event);
}

static gp_status call_stream_create(void)
{
    cudaStream_t stream = NULL;
    return ops->stream_create(backend, &stream);
}

static gp_status call_stream_destroy(void)
{
    ops->stream_destroy(backend, NULL);
    return GP_OK;
}

static gp_status call_synchronize(void)
{
    return ops->synchronize(backend);
}

static const struct {
    call *function;
    const char *native; /* the driver call it stands for */
    bool returns;       /* reports a failure */
} calls[] = {
    {call_alloc, "cuMemAllocFromPoolAsync", true},
    {call_free, "cuMemFreeAsync", true},
    {call_mem_info, "cuMemGetInfo_v2", true},
    {call_pool_create, "cuMemPoolCreate", true},
    {call_pool_destroy, "cuMemPoolDestroy", true},
    {call_pool_trim, "cuMemPoolTrimTo", true},
    {call_pool_usage, "cuMemPoolGetAttribute", true},
    {call_pool_reset_peak, "cuMemPoolSetAttribute", true},
    {call_event_create, "cuEventCreate", true},
    {call_event_destroy, "cuEventDestroy_v2", false},
    {call_event_record, "cuEventRecord", true},
    {call_event_query, "cuEventQuery", true},
    {call_stream_wait, "cuStreamWaitEvent", true},
    {call_stream_create, "cuStreamCreate", true},
    {call_synchronize, "cuCtxSynchronize", true},
    {call_stream_destroy, "cuStreamDestroy_v2", false},
};
enum { CALL_COUNT = sizeof(calls) / sizeof(calls[0]) };

static bool was_called(const char *native)
{
    for (size_t i = 0; i < driver->log_length; i++) {
        if (strcmp(driver->log[i], native) == 0)
            return true;
    }
    return false;
}

/* C22, C23: a capture of another thread must survive whatever gp does. */
Test(cuda_backend, makes_no_call_that_would_invalidate_a_capture)
{
    for (int i = 0; i < CALL_COUNT; i++) {
        driver->log_length = 0;
        set_thread(NULL, MODE_GLOBAL);

        cr_assert(eq(int, calls[i].function(), GP_OK), "%s", calls[i].native);

        cr_assert(was_called(calls[i].native), "%s", calls[i].native);
        cr_assert(eq(ptr, (void *)driver->unsafe_call, NULL), "%s", calls[i].native);
        cr_assert(eq(int, capture_mode(), MODE_GLOBAL), "%s", calls[i].native);
    }
}

Test(cuda_backend, leaves_the_current_context_as_it_was)
{
    gp_cu_context const found[] = {NULL, &driver->primary[0], &driver->primary[1]};

    for (int i = 0; i < CALL_COUNT; i++) {
        for (int c = 0; c < 3; c++) {
            set_thread(found[c], MODE_GLOBAL);

            cr_assert(eq(int, calls[i].function(), GP_OK), "%s", calls[i].native);

            cr_assert(eq(sz, context_depth(), found[c] != NULL ? 1 : 0), "%s", calls[i].native);
        }
    }
}

Test(cuda_backend, reports_a_failed_call_and_leaves_the_thread_as_it_was)
{
    driver->fail_result = OUT_OF_MEMORY;
    taken = &block;

    for (int i = 0; i < CALL_COUNT; i++) {
        driver->fail_call = calls[i].native;
        set_thread(NULL, MODE_GLOBAL);

        gp_status status = calls[i].function();

        cr_assert(eq(int, status, calls[i].returns ? GP_ERR_OUT_OF_MEMORY : GP_OK), "%s",
                  calls[i].native);
        cr_assert(eq(sz, context_depth(), 0), "%s", calls[i].native);
        cr_assert(eq(int, capture_mode(), MODE_GLOBAL), "%s", calls[i].native);
    }
    cr_assert(eq(ptr, taken, &block));
}

Test(cuda_backend, reports_that_the_driver_shuts_down)
{
    driver->fail_call = "cuThreadExchangeStreamCaptureMode";
    driver->fail_result = DEINITIALIZED;

    cr_assert(eq(int, call_alloc(), GP_ERR_SHUTDOWN));

    cr_assert(not(was_called("cuMemAllocFromPoolAsync")));
}

Test(cuda_backend, pushes_no_context_that_is_current_already)
{
    set_thread(&driver->primary[0], MODE_GLOBAL);

    cr_assert(eq(int, call_alloc(), GP_OK));

    cr_assert(not(was_called("cuCtxPushCurrent_v2")));
    cr_assert(eq(ptr, taken, (void *)(uintptr_t)0x7000));
}

Test(cuda_backend, takes_an_unfinished_event_for_no_failure)
{
    bool complete = true;
    driver->fail_call = "cuEventQuery";
    driver->fail_result = NOT_READY;

    cr_assert(eq(int, ops->event_query(backend, some_event, &complete), GP_OK));

    cr_assert(not(complete));
}

Test(cuda_backend, makes_events_without_clocks_and_streams_that_do_not_block)
{
    cr_assert(eq(int, call_event_create(), GP_OK));
    cr_assert(eq(int, call_stream_create(), GP_OK));

    cr_assert(eq(uint, driver->event_flags, 2));  /* CU_EVENT_DISABLE_TIMING */
    cr_assert(eq(uint, driver->stream_flags, 1)); /* CU_STREAM_NON_BLOCKING */
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

    cr_assert(eq(int, call_pool_trim(), GP_OK));
    cr_assert(eq(int, call_pool_reset_peak(), GP_OK));

    cr_assert(eq(sz, driver->trimmed_to, 5));
    cr_assert(eq(u64, driver->reserved_high, 0));
}
