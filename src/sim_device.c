/* Which device a thread works on, and what time it is there. */
#include "sim_machine.h"

gp_sim_result gp_sim_set_device(int device)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result != GP_SIM_SUCCESS)
        return gp_sim_leave(result);
    if (device < 0 || device >= call.machine->config.device_count)
        return gp_sim_leave(GP_SIM_INVALID_DEVICE);

    call.thread->device = device;
    return gp_sim_leave(GP_SIM_SUCCESS);
}

int gp_sim_get_device(void)
{
    gp_sim_call call;
    (void)gp_sim_enter(&call, GP_SIM_FN_NONE); /* the answer needs no working driver */
    int device = call.thread != NULL ? call.thread->device : 0;
    (void)gp_sim_leave(GP_SIM_SUCCESS);
    return device;
}

uint64_t gp_sim_now_ns(void)
{
    gp_sim_call call;
    (void)gp_sim_enter(&call, GP_SIM_FN_NONE);
    uint64_t now_ns = call.machine != NULL ? call.machine->now_ns : 0;
    (void)gp_sim_leave(GP_SIM_SUCCESS);
    return now_ns;
}

void gp_sim_advance(uint64_t ns)
{
    gp_sim_call call;
    (void)gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (call.machine != NULL)
        call.machine->now_ns += ns;
    (void)gp_sim_leave(GP_SIM_SUCCESS);
}

uint64_t gp_sim_thread_native_ns(void)
{
    gp_sim_call call;
    (void)gp_sim_enter(&call, GP_SIM_FN_NONE);
    uint64_t native_ns = call.thread != NULL ? call.thread->native_ns : 0;
    (void)gp_sim_leave(GP_SIM_SUCCESS);
    return native_ns;
}

gp_sim_result gp_sim_set_foreign_bytes(int device, size_t bytes)
{
    gp_sim_call call;
    gp_sim_result result = gp_sim_enter(&call, GP_SIM_FN_NONE);
    if (result != GP_SIM_SUCCESS)
        return gp_sim_leave(result);
    if (device < 0 || device >= call.machine->config.device_count)
        return gp_sim_leave(GP_SIM_INVALID_DEVICE);

    call.machine->devices[device].foreign_bytes = bytes;
    return gp_sim_leave(GP_SIM_SUCCESS);
}
