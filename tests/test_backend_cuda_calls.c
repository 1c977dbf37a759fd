/* What every call of the CUDA backend has in common, on the paper driver of
 * fake_driver.h: no capture is spoilt, and the thread is left as it was found. */
#include "cuda_fixture.h"

enum { DEINITIALIZED = 4, NOT_READY = 600 };

static char block;
static cudaMemPool_t some_pool = (cudaMemPool_t)(void *)&block;
static gp_native_event some_event = (gp_native_event)(void *)&block;

TestSuite(cuda_calls, .init = cuda_open_backend);

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

static gp_status call_alloc_plain(void)
{
    void *ptr = NULL;
    return ops->alloc_plain(backend, &ptr, 512);
}

static gp_status call_free_plain(void)
{
    return ops->free_plain(backend, NULL);
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

static gp_status call_fill(void)
{
    return ops->fill(backend, &block, 0xff, 8, NULL);
}

static gp_status call_copy_to_host(void)
{
    char host[8];
    return ops->copy_to_host(backend, host, &block, sizeof(host), NULL);
}

static gp_status call_host_alloc(void)
{
    void *host = NULL;
    return ops->host_alloc(backend, &host, 8);
}

static gp_status call_host_free(void)
{
    ops->host_free(backend, NULL);
    return GP_OK;
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
    {call_alloc_plain, "cuMemAlloc_v2", true},
    {call_free_plain, "cuMemFree_v2", true},
    {call_fill, "cuMemsetD8Async", true},
    {call_copy_to_host, "cuMemcpyDtoHAsync_v2", true},
    {call_host_alloc, "cuMemHostAlloc", true},
    {call_host_free, "cuMemFreeHost", false},
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

/* C22, C23: a capture of another thread must survive whatever gp does. */
Test(cuda_calls, makes_no_call_that_would_invalidate_a_capture)
{
    for (int i = 0; i < CALL_COUNT; i++) {
        driver->log_length = 0;
        set_thread(NULL, MODE_GLOBAL);

        cr_assert(eq(int, calls[i].function(), GP_OK), "%s", calls[i].native);

        cr_assert(cuda_was_called(calls[i].native), "%s", calls[i].native);
        cr_assert(eq(ptr, (void *)driver->unsafe_call, NULL), "%s", calls[i].native);
        cr_assert(eq(int, capture_mode(), MODE_GLOBAL), "%s", calls[i].native);
    }
}

Test(cuda_calls, leaves_the_current_context_as_it_was)
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

Test(cuda_calls, reports_a_failed_call_and_leaves_the_thread_as_it_was)
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

Test(cuda_calls, reports_that_the_driver_shuts_down)
{
    driver->fail_call = "cuThreadExchangeStreamCaptureMode";
    driver->fail_result = DEINITIALIZED;

    cr_assert(eq(int, call_alloc(), GP_ERR_SHUTDOWN));

    cr_assert(not(cuda_was_called("cuMemAllocFromPoolAsync")));
}

/* C65: what the pool holds went with the old context, and the new one has the same handle. */
Test(cuda_calls, makes_none_once_the_device_was_reset)
{
    driver->resets++;

    for (int i = 0; i < CALL_COUNT; i++) {
        gp_status status = calls[i].function();

        cr_assert(eq(int, status, calls[i].returns ? GP_ERR_SHUTDOWN : GP_OK), "%s",
                  calls[i].native);
        cr_assert(not(cuda_was_called(calls[i].native)), "%s", calls[i].native);
    }
    cr_assert(cuda_error_mentions("reset"));
}

Test(cuda_calls, pushes_no_context_that_is_current_already)
{
    set_thread(&driver->primary[0], MODE_GLOBAL);

    cr_assert(eq(int, call_alloc(), GP_OK));

    cr_assert(not(cuda_was_called("cuCtxPushCurrent_v2")));
    cr_assert(eq(ptr, taken, (void *)(uintptr_t)0x7000));
}

Test(cuda_calls, takes_an_unfinished_event_for_no_failure)
{
    bool complete = true;
    driver->fail_call = "cuEventQuery";
    driver->fail_result = NOT_READY;

    cr_assert(eq(int, ops->event_query(backend, some_event, &complete), GP_OK));

    cr_assert(not(complete));
}

Test(cuda_calls, makes_events_without_clocks_and_streams_that_do_not_block)
{
    cr_assert(eq(int, call_event_create(), GP_OK));
    cr_assert(eq(int, call_stream_create(), GP_OK));

    cr_assert(eq(uint, driver->event_flags, 2));  /* CU_EVENT_DISABLE_TIMING */
    cr_assert(eq(uint, driver->stream_flags, 1)); /* CU_STREAM_NON_BLOCKING */
}
