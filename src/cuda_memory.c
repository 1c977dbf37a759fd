/* Memory of the device and pinned memory of the host. */
#include "cuda_backend.h"

gp_status gp_cuda_alloc(gp_backend *backend, void **ptr, size_t bytes, cudaMemPool_t pool,
                        cudaStream_t stream)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    gp_cu_address address = 0;
    int result = gp_cuda.alloc_from_pool(&address, bytes, pool, stream);
    status = gp_cuda_leave(&frame, result, "cuMemAllocFromPoolAsync");
    if (status == GP_OK)
        *ptr = (void *)(uintptr_t)address;
    return status;
}

gp_status gp_cuda_free(gp_backend *backend, void *ptr, cudaStream_t stream)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.free_async((uintptr_t)ptr, stream);
    return gp_cuda_leave(&frame, result, "cuMemFreeAsync");
}

gp_status gp_cuda_alloc_plain(gp_backend *backend, void **ptr, size_t bytes)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    gp_cu_address address = 0;
    int result = gp_cuda.alloc(&address, bytes);
    status = gp_cuda_leave(&frame, result, "cuMemAlloc");
    if (status == GP_OK)
        *ptr = (void *)(uintptr_t)address;
    return status;
}

gp_status gp_cuda_free_plain(gp_backend *backend, void *ptr)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.free((uintptr_t)ptr);
    return gp_cuda_leave(&frame, result, "cuMemFree");
}

gp_status gp_cuda_fill(gp_backend *backend, void *ptr, unsigned char value, size_t bytes,
                       cudaStream_t stream)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.memset_async((uintptr_t)ptr, value, bytes, stream);
    return gp_cuda_leave(&frame, result, "cuMemsetD8Async");
}

gp_status gp_cuda_copy_to_host(gp_backend *backend, void *host, const void *ptr, size_t bytes,
                               cudaStream_t stream)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    int result = gp_cuda.copy_to_host_async(host, (uintptr_t)ptr, bytes, stream);
    return gp_cuda_leave(&frame, result, "cuMemcpyDtoHAsync");
}

gp_status gp_cuda_host_alloc(gp_backend *backend, void **host, size_t bytes)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;
    void *made = NULL;
    int result = gp_cuda.host_alloc(&made, bytes, 0);
    status = gp_cuda_leave(&frame, result, "cuMemHostAlloc");
    if (status == GP_OK)
        *host = made;
    return status;
}

void gp_cuda_host_free(gp_backend *backend, void *host)
{
    gp_cuda_frame frame;
    if (gp_cuda_enter(backend, &frame) != GP_OK)
        return;
    (void)gp_cuda.host_free(host);
    gp_cuda_frame_leave(&frame);
}

gp_status gp_cuda_mem_info(gp_backend *backend, size_t *free_bytes, size_t *total_bytes)
{
    gp_cuda_frame frame;
    gp_status status = gp_cuda_enter(backend, &frame);
    if (status != GP_OK)
        return status;

    size_t free_now = 0;
    size_t total = 0;
    int result = gp_cuda.mem_get_info(&free_now, &total);
    status = gp_cuda_leave(&frame, result, "cuMemGetInfo");
    if (status == GP_OK) {
        *free_bytes = free_now;
        *total_bytes = total;
    }
    return status;
}
