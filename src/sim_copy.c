/* Filling memory, and copying it to the host: the only work whose bytes the device knows. */
#include "sim_launch.h"

#include "sim_machine.h"
#include "sim_stream.h"

/* About the bandwidth of an H200's memory; not measured. */
#define BYTES_A_NS 4000

static gp_sim_result submit(const gp_sim_call *call, cudaStream_t handle,
                            const gp_sim_access *access)
{
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (stream->capture != NULL)
        return GP_SIM_NOT_SUPPORTED;
    result = gp_sim_stream_prepare(call->machine, stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    return gp_sim_launch_now(call->machine, stream, access, 1, 1000 + access->bytes / BYTES_A_NS);
}

static bool is_valid(const void *ptr, size_t bytes)
{
    return ptr != NULL && (uintptr_t)ptr <= UINTPTR_MAX - bytes;
}

static gp_sim_result fill(const gp_sim_call *call, const gp_sim_access *access, unsigned char value,
                          cudaStream_t stream)
{
    if (!is_valid(access->base, access->bytes))
        return GP_SIM_INVALID_VALUE;
    gp_sim_result result = submit(call, stream, access);
    if (result == GP_SIM_SUCCESS && access->bytes > 0 &&
        !gp_sim_content_fill(&call->machine->content, (uintptr_t)access->base, access->bytes,
                             value))
        return GP_SIM_OUT_OF_MEMORY;
    return result;
}

gp_sim_result gp_sim_memset_async(void *ptr, unsigned char value, size_t bytes, cudaStream_t stream)
{
    const gp_sim_access access = {.base = ptr, .bytes = bytes, .writes = true};
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_MEMSET);
    if (result == GP_SIM_SUCCESS)
        result = fill(&call, &access, value, stream);
    return gp_sim_leave(result);
}

static gp_sim_result copy(const gp_sim_call *call, const gp_sim_access *access, void *host,
                          cudaStream_t stream)
{
    if (host == NULL || !is_valid(access->base, access->bytes))
        return GP_SIM_INVALID_VALUE;
    gp_sim_result result = submit(call, stream, access);
    if (result == GP_SIM_SUCCESS)
        gp_sim_content_read(&call->machine->content, (uintptr_t)access->base, access->bytes, host);
    return result;
}

gp_sim_result gp_sim_memcpy_to_host_async(void *host, const void *ptr, size_t bytes,
                                          cudaStream_t stream)
{
    const gp_sim_access access = {.base = ptr, .bytes = bytes, .writes = false};
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_MEMCPY_TO_HOST);
    if (result == GP_SIM_SUCCESS)
        result = copy(&call, &access, host, stream);
    return gp_sim_leave(result);
}
