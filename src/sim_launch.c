#include "sim_launch.h"

#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

static bool forget_written(gp_sim_machine *machine, const gp_sim_access *accesses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (accesses[i].writes &&
            !gp_sim_content_forget(&machine->content, (uintptr_t)accesses[i].base,
                                   accesses[i].bytes))
            return false;
    }
    return true;
}

gp_sim_result gp_sim_launch_now(gp_sim_machine *machine, gp_sim_stream *stream,
                                const gp_sim_access *accesses, size_t count, uint64_t duration_ns)
{
    if (!forget_written(machine, accesses, count))
        return GP_SIM_OUT_OF_MEMORY;
    gp_sim_result result = gp_sim_stream_submit(machine, stream, (gp_sim_task){.ns = duration_ns});
    if (result != GP_SIM_SUCCESS)
        return result;

    for (size_t i = 0; i < count; i++)
        gp_sim_hazard_check(machine, stream, &accesses[i]);
    return GP_SIM_SUCCESS;
}

static gp_sim_result launch_captured(gp_sim_stream *stream, const gp_sim_access *accesses,
                                     size_t count, uint64_t duration_ns)
{
    gp_sim_access *copy = NULL;
    if (count > 0) {
        copy = malloc(count * sizeof(*copy));
        if (copy == NULL)
            return GP_SIM_OUT_OF_MEMORY;
        memcpy(copy, accesses, count * sizeof(*copy));
    }

    gp_sim_result result = gp_sim_capture_append(stream->capture, stream,
                                                 (gp_sim_graph_node){.kind = GP_SIM_NODE_LAUNCH,
                                                                     .accesses = copy,
                                                                     .access_count = count,
                                                                     .duration_ns = duration_ns});
    if (result != GP_SIM_SUCCESS)
        free(copy);
    return result;
}

static gp_sim_result launch(const gp_sim_call *call, cudaStream_t handle,
                            const gp_sim_access *accesses, size_t count, uint64_t duration_ns)
{
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (stream->capture != NULL)
        return launch_captured(stream, accesses, count, duration_ns);

    result = gp_sim_stream_prepare(call->machine, stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    return gp_sim_launch_now(call->machine, stream, accesses, count, duration_ns);
}

static bool is_valid(const gp_sim_access *accesses, size_t count)
{
    if (accesses == NULL)
        return count == 0;
    for (size_t i = 0; i < count; i++) {
        if ((uintptr_t)accesses[i].base > UINTPTR_MAX - accesses[i].bytes)
            return false;
    }
    return true;
}

gp_sim_result gp_sim_launch(cudaStream_t stream, const gp_sim_access *accesses, size_t count,
                            uint64_t duration_ns)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result == GP_SIM_SUCCESS)
        result = is_valid(accesses, count) ? launch(&call, stream, accesses, count, duration_ns)
                                           : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}
