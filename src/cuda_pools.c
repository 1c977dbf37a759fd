/* The driver's pools. */
#include "cuda_backend.h"

/*
 * The driver's own limit is a second line of defence behind gp's, which is
 * exact. Pools grow in steps of 32 MiB: a limit between two steps would stop the
 * pool short of what gp may reserve.
 */
static size_t native_limit(size_t max_bytes)
{
    const size_t step = (size_t)32 << 20;
    const int first_version_with_limit = 12020;
    if (gp_cuda_driver_version() < first_version_with_limit || max_bytes > SIZE_MAX - step)
        return 0;
    return (max_bytes + step - 1) / step * step;
}

/* Unlimited, and read back: on a default of 0 every synchronisation would give
 * the idle memory back behind gp's back. */
static gp_status keep_everything(cudaMemPool_t pool)
{
    uint64_t threshold = UINT64_MAX;
    int result = gp_cuda.pool_set_attribute(pool, GP_CU_POOL_RELEASE_THRESHOLD, &threshold);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuMemPoolSetAttribute");

    threshold = 0;
    result = gp_cuda.pool_get_attribute(pool, GP_CU_POOL_RELEASE_THRESHOLD, &threshold);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuMemPoolGetAttribute");
    if (threshold != UINT64_MAX)
        return gp_error_set(GP_ERR_UNSUPPORTED,
                            "the native pool did not take an unlimited release threshold");
    return GP_OK;
}

/*
 * The reuse attributes stay as the driver sets them, all on: drivers whose
 * opportunistic reuse was at fault (before 470.60) are older than any that
 * cuda_driver.c accepts.
 */
static gp_status make_pool(int device, size_t max_bytes, cudaMemPool_t *pool)
{
    const gp_cu_pool_props props = {.allocation_type = GP_CU_ALLOCATION_PINNED,
                                    .handle_types = GP_CU_HANDLE_NONE,
                                    .location_type = GP_CU_LOCATION_DEVICE,
                                    .location_id = device,
                                    .max_bytes = native_limit(max_bytes)};
    cudaMemPool_t created = NULL;
    int result = gp_cuda.pool_create(&created, &props);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuMemPoolCreate");

    gp_status status = keep_everything(created);
    if (status != GP_OK)
        (void)gp_cuda.pool_destroy(created);
    else
        *pool = created;
    return status;
}

gp_status gp_cuda_pool_create(gp_backend *backend, size_t max_bytes, cudaMemPool_t *pool)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    status = make_pool(backend->device, max_bytes, pool);
    gp_cuda_frame_leave(&frame);
    return status;
}

gp_status gp_cuda_pool_destroy(gp_backend *backend, cudaMemPool_t pool)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.pool_destroy(pool);
    return gp_cuda_leave(&frame, result, "cuMemPoolDestroy");
}

gp_status gp_cuda_pool_trim(gp_backend *backend, cudaMemPool_t pool, size_t min_bytes_to_keep)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.pool_trim_to(pool, min_bytes_to_keep);
    return gp_cuda_leave(&frame, result, "cuMemPoolTrimTo");
}

static int read_usage(cudaMemPool_t pool, gp_native_usage *usage)
{
    int result = gp_cuda.pool_get_attribute(pool, GP_CU_POOL_RESERVED, &usage->reserved_bytes);
    if (result == GP_CU_SUCCESS)
        result =
            gp_cuda.pool_get_attribute(pool, GP_CU_POOL_RESERVED_HIGH, &usage->reserved_bytes_high);
    if (result == GP_CU_SUCCESS)
        result = gp_cuda.pool_get_attribute(pool, GP_CU_POOL_USED, &usage->used_bytes);
    return result;
}

gp_status gp_cuda_pool_usage(gp_backend *backend, cudaMemPool_t pool, gp_native_usage *usage)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    gp_native_usage found = {0};
    int result = read_usage(pool, &found);
    status = gp_cuda_leave(&frame, result, "cuMemPoolGetAttribute");
    if (status == GP_OK)
        *usage = found;
    return status;
}

gp_status gp_cuda_pool_reset_peak(gp_backend *backend, cudaMemPool_t pool)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    uint64_t reset = 0; /* the only value the driver takes: down to the present one */
    int result = gp_cuda.pool_set_attribute(pool, GP_CU_POOL_RESERVED_HIGH, &reset);
    return gp_cuda_leave(&frame, result, "cuMemPoolSetAttribute");
}
