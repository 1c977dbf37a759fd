#include "sim_gate.h"

#include "sim_capture.h"
#include "sim_stream.h"

#include <stdlib.h>

typedef struct gp_sim_gate_handle gate_state;

void gp_sim_gate_retain(gate_state *gate)
{
    if (gate != NULL)
        gate->references++;
}

void gp_sim_gate_release(gate_state *gate)
{
    if (gate != NULL && --gate->references == 0)
        free(gate);
}

void gp_sim_gates_clear(gp_sim_machine *machine)
{
    for (uint32_t i = 0; i < machine->gates.count; i++)
        gp_sim_gate_release(machine->gates.slots[i].object);
    gp_sim_handles_clear(&machine->gates);
}

static gp_sim_result gate_make(gp_sim_machine *machine, gp_sim_gate *handle)
{
    gate_state *gate = calloc(1, sizeof(*gate));
    if (gate == NULL)
        return GP_SIM_OUT_OF_MEMORY;

    gate->references = 1;
    uintptr_t value = gp_sim_handles_add(&machine->gates, gate);
    if (value == 0) {
        free(gate);
        return GP_SIM_OUT_OF_MEMORY;
    }
    *handle = (gp_sim_gate)value;
    return GP_SIM_SUCCESS;
}

gp_sim_result gp_sim_gate_create(gp_sim_gate *gate)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result == GP_SIM_SUCCESS)
        result = gate != NULL ? gate_make(call.machine, gate) : GP_SIM_INVALID_VALUE;
    return gp_sim_leave(result);
}

static gate_state *find(const gp_sim_machine *machine, gp_sim_gate handle)
{
    return gp_sim_handles_find(&machine->gates, (uintptr_t)handle);
}

static gp_sim_result gate_wait(const gp_sim_call *call, cudaStream_t handle, gp_sim_gate gate)
{
    gate_state *state = find(call->machine, gate);
    if (state == NULL)
        return GP_SIM_INVALID_HANDLE;
    gp_sim_stream *stream = NULL;
    gp_sim_result result = gp_sim_stream_find(call, handle, &stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    if (stream->capture != NULL)
        return gp_sim_capture_refuse(stream->capture);

    result = gp_sim_stream_prepare(call->machine, stream);
    if (result != GP_SIM_SUCCESS)
        return result;
    return gp_sim_stream_submit(call->machine, stream, (gp_sim_task){.gate = state});
}

gp_sim_result gp_sim_gate_wait(cudaStream_t stream, gp_sim_gate gate)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result == GP_SIM_SUCCESS)
        result = gate_wait(&call, stream, gate);
    return gp_sim_leave(result);
}

static void gate_open(gp_sim_machine *machine, gate_state *gate)
{
    if (gate->is_open)
        return;

    gate->is_open = true;
    gate->opened_ns = machine->now_ns;
    gp_sim_streams_resolve(machine);
    gp_sim_machine_wake_all();
}

gp_sim_result gp_sim_gate_open(gp_sim_gate gate)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result != GP_SIM_SUCCESS)
        return gp_sim_leave(result);
    gate_state *state = find(call.machine, gate);
    if (state == NULL)
        return gp_sim_leave(GP_SIM_INVALID_HANDLE);

    gate_open(call.machine, state);
    return gp_sim_leave(GP_SIM_SUCCESS);
}

gp_sim_result gp_sim_gate_destroy(gp_sim_gate gate)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result != GP_SIM_SUCCESS)
        return gp_sim_leave(result);
    gate_state *state = find(call.machine, gate);
    if (state == NULL)
        return gp_sim_leave(GP_SIM_INVALID_HANDLE);

    /* Nobody could open it any more. */
    gate_open(call.machine, state);
    gp_sim_handles_remove(&call.machine->gates, (uintptr_t)gate);
    gp_sim_gate_release(state);
    return gp_sim_leave(GP_SIM_SUCCESS);
}
