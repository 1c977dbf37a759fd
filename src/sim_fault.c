#include "sim_fault.h"

#include "sim_machine.h"
#include "sim_result.h"

gp_sim_result gp_sim_fault_strike(gp_sim_fault *fault)
{
    if (fault->first == 0)
        return GP_SIM_SUCCESS;

    uint64_t call = ++fault->calls;
    bool hit = call >= fault->first && call - fault->first < fault->count;
    return hit ? fault->code : GP_SIM_SUCCESS;
}

static bool any_rule(const gp_sim_machine *machine)
{
    for (int i = 0; i < GP_SIM_FN_COUNT; i++) {
        if (machine->faults[i].first != 0)
            return true;
    }
    return false;
}

void gp_sim_fail(gp_sim_function function, uint64_t first, uint64_t count, gp_sim_result code)
{
    if ((unsigned)function >= GP_SIM_FN_COUNT)
        return;

    gp_sim_machine *machine = gp_sim_machine_lock();
    if (machine != NULL) {
        machine->faults[function] = (gp_sim_fault){0};
        if (count > 0)
            machine->faults[function] =
                (gp_sim_fault){.first = first > 0 ? first : 1, .count = count, .code = code};
        gp_sim_machine_set_attention(GP_SIM_ATTENTION_FAULTS, any_rule(machine));
    }
    gp_sim_machine_unlock();
}

uint64_t gp_sim_call_count(gp_sim_function function)
{
    if ((unsigned)function >= GP_SIM_FN_COUNT)
        return 0;

    (void)gp_sim_machine_lock();
    uint64_t calls = gp_sim_thread_sum_calls(function);
    gp_sim_machine_unlock();
    return calls;
}
