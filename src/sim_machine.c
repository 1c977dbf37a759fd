#include "sim_machine.h"

#include "sim_capture.h"
#include "sim_cost.h"
#include "sim_event.h"
#include "sim_gate.h"
#include "sim_graph.h"
#include "sim_memory.h"
#include "sim_stream.h"

#include <pthread.h>
#include <stdlib.h>

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

enum { HANDLES_OF_EVENTS = 0xe1, HANDLES_OF_GATES, HANDLES_OF_POOLS, HANDLES_OF_GRAPHS };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_opened = PTHREAD_COND_INITIALIZER;
static gp_sim_machine *machine_now; /* under the mutex */

static _Atomic(uint64_t) epoch_now; /* 0 until the first machine is made */
static _Atomic(unsigned) attention;
static _Atomic(uint64_t) dead_handles;

/* ---- making and throwing away ---- */

void gp_sim_config_init(gp_sim_config *config)
{
    if (config == NULL)
        return;

    *config = (gp_sim_config){
        .struct_bytes = sizeof(*config),
        .device_count = 1,
        .device_bytes = 141 * GIB,
        .granularity = 32 * MIB,
        .clock = GP_SIM_CLOCK_VIRTUAL,
        .pools_supported = true,
        .check_hazards = true,
        .driver_version = 13000,
    };
}

static bool is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static gp_status validate(const gp_sim_config *config)
{
    if (config->struct_bytes != sizeof(*config))
        return GP_ERR_VERSION_MISMATCH;

    bool ok = config->device_count >= 1 && config->device_count <= GP_SIM_MAX_DEVICES &&
              config->device_bytes >= 1 && config->device_bytes <= GP_SIM_MAX_DEVICE_BYTES &&
              is_power_of_two(config->granularity) && config->granularity >= MIB &&
              config->granularity <= 4 * GIB && config->base_offset % 256 == 0 &&
              config->base_offset <= MIB && config->driver_version > 0 &&
              (config->clock == GP_SIM_CLOCK_VIRTUAL || config->clock == GP_SIM_CLOCK_MANUAL);
    return ok ? GP_OK : GP_ERR_INVALID_CONFIG;
}

static void machine_free(gp_sim_machine *machine)
{
    gp_sim_captures_clear(machine);
    gp_sim_graphs_clear(machine);
    gp_sim_events_clear(machine);
    gp_sim_memory_clear(machine);
    gp_sim_streams_clear(machine);
    gp_sim_gates_clear(machine);
    gp_sim_checker_clear(&machine->checker);
    gp_sim_content_clear(&machine->content);
    gp_sim_observed_clear(&machine->observed);
    gp_sim_slots_reset();
    free(machine);
}

static gp_sim_machine *machine_make(const gp_sim_config *config)
{
    gp_sim_machine *machine = calloc(1, sizeof(*machine));
    if (machine == NULL)
        return NULL;

    machine->config = *config;
    machine->events.kind = HANDLES_OF_EVENTS;
    machine->gates.kind = HANDLES_OF_GATES;
    machine->pools.kind = HANDLES_OF_POOLS;
    machine->graphs.kind = HANDLES_OF_GRAPHS;
    machine->checker.is_on = config->check_hazards;
    for (int device = 0; device < config->device_count; device++) {
        if (!gp_sim_memory_open_device(machine, device) ||
            !gp_sim_stream_open_device(machine, device)) {
            machine_free(machine);
            return NULL;
        }
    }
    return machine;
}

/* Put a new machine in place of the old one. The mutex is held. */
static gp_status machine_replace(const gp_sim_config *config)
{
    if (machine_now != NULL && machine_now->open_backends > 0)
        return GP_ERR_BUSY;
    if (machine_now != NULL)
        machine_free(machine_now);

    machine_now = machine_make(config);
    if (machine_now == NULL)
        return GP_ERR_OUT_OF_HOST_MEMORY;

    machine_now->epoch = atomic_load_explicit(&epoch_now, memory_order_relaxed) + 1;
    atomic_store_explicit(&attention, 0, memory_order_relaxed);
    atomic_store_explicit(&dead_handles, 0, memory_order_relaxed);
    gp_sim_thread_clear_calls();
    atomic_store_explicit(&epoch_now, machine_now->epoch, memory_order_release);
    return GP_OK;
}

gp_status gp_sim_reset(const gp_sim_config *config)
{
    gp_sim_config chosen;
    gp_sim_config_init(&chosen);
    if (config != NULL) {
        gp_status status = validate(config);
        if (status != GP_OK)
            return status;
        chosen = *config;
    }

    pthread_mutex_lock(&mutex);
    gp_status status = machine_replace(&chosen);
    pthread_cond_broadcast(&gate_opened);
    pthread_mutex_unlock(&mutex);
    return status;
}

/* ---- the lock ---- */

gp_sim_machine *gp_sim_machine_lock(void)
{
    pthread_mutex_lock(&mutex);
    if (machine_now == NULL) {
        gp_sim_config config;
        gp_sim_config_init(&config);
        (void)machine_replace(&config); /* the caller sees the NULL */
    }
    return machine_now;
}

void gp_sim_machine_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

bool gp_sim_machine_wait(const gp_sim_machine *machine)
{
    uint64_t epoch = machine->epoch;
    pthread_cond_wait(&gate_opened, &mutex);
    return machine_now != NULL && machine_now->epoch == epoch;
}

void gp_sim_machine_wake_all(void)
{
    pthread_cond_broadcast(&gate_opened);
}

/* ---- the frame of a native call ---- */

void gp_sim_machine_charge(const gp_sim_call *call, uint64_t ns)
{
    call->thread->native_ns += ns;
    if (call->machine->config.clock == GP_SIM_CLOCK_VIRTUAL)
        call->machine->now_ns += ns;
}

/* Calls without the lock left their cost with the thread. */
static void settle_clock(const gp_sim_call *call)
{
    if (call->machine->config.clock == GP_SIM_CLOCK_VIRTUAL)
        call->machine->now_ns += call->thread->pending_ns;
    call->thread->pending_ns = 0;
}

static bool is_shut_down(void)
{
    return (atomic_load_explicit(&attention, memory_order_relaxed) & GP_SIM_ATTENTION_SHUT_DOWN) !=
           0;
}

gp_sim_result gp_sim_enter(gp_sim_call *call, gp_sim_function function)
{
    call->thread = gp_sim_thread_self();
    call->machine = gp_sim_machine_lock();
    if (call->thread == NULL || call->machine == NULL)
        return GP_SIM_OUT_OF_MEMORY;

    gp_sim_thread_refresh(call->thread, call->machine->epoch);
    settle_clock(call);
    if (function == GP_SIM_FN_NONE)
        return is_shut_down() ? GP_SIM_DEINITIALIZED : GP_SIM_SUCCESS;

    gp_sim_thread_count(call->thread, function);
    if (is_shut_down())
        return GP_SIM_DEINITIALIZED;
    gp_sim_machine_charge(call, gp_sim_cost_ns[function]);
    return gp_sim_fault_strike(&call->machine->faults[function]);
}

gp_sim_result gp_sim_leave(gp_sim_result result)
{
    pthread_mutex_unlock(&mutex);
    return result;
}

bool gp_sim_enter_unlocked(gp_sim_thread **thread, gp_sim_function function)
{
    gp_sim_thread *self = gp_sim_thread_self();
    if (self == NULL || self->epoch != atomic_load_explicit(&epoch_now, memory_order_acquire) ||
        self->epoch == 0 || atomic_load_explicit(&attention, memory_order_relaxed) != 0)
        return false;

    gp_sim_thread_count(self, function);
    self->native_ns += gp_sim_cost_ns[function];
    self->pending_ns += gp_sim_cost_ns[function];
    *thread = self;
    return true;
}

void gp_sim_machine_count_dead_handle(void)
{
    atomic_fetch_add_explicit(&dead_handles, 1, memory_order_relaxed);
}

uint64_t gp_sim_dead_handle_count(void)
{
    return atomic_load_explicit(&dead_handles, memory_order_relaxed);
}

void gp_sim_machine_set_attention(unsigned flag, bool on)
{
    if (on)
        atomic_fetch_or_explicit(&attention, flag, memory_order_relaxed);
    else
        atomic_fetch_and_explicit(&attention, ~flag, memory_order_relaxed);
}

void gp_sim_shut_down(void)
{
    gp_sim_machine_set_attention(GP_SIM_ATTENTION_SHUT_DOWN, true);
}
