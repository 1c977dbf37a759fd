/*
 * Gates that hold a stream of a CUDA device: the stream waits for a word of host memory.
 *
 * No kernel waits there, so a tool that runs kernels one at a time, as memory checkers do,
 * does not keep other streams behind the gate too.
 */
#include "cuda_device.h"

#include <errno.h>
#include <time.h>

#include "device_error.h"

enum { GATE_SECONDS = 10, WAIT_UNTIL_EQUAL = 1 };

/* Opens the gate unless it is destroyed in time. */
static void *watch(void *argument)
{
    device_gate gate = argument;
    struct timespec end;
    int status = 0;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += GATE_SECONDS;

    (void)pthread_mutex_lock(&gate->lock);
    while (!gate->is_done && status != ETIMEDOUT)
        status = pthread_cond_timedwait(&gate->done, &gate->lock, &end);
    gate->timed_out = !gate->is_done && atomic_exchange(gate->open, 1) == 0;
    (void)pthread_mutex_unlock(&gate->lock);
    return NULL;
}

static device_result start(device_gate gate, _Atomic uint32_t *word)
{
    gate->open = word;
    gate->is_done = false;
    gate->timed_out = false;
    atomic_store(word, 0);
    (void)pthread_mutex_init(&gate->lock, NULL);
    (void)pthread_cond_init(&gate->done, NULL);
    if (pthread_create(&gate->watchdog, NULL, watch, gate) == 0)
        return DEVICE_OK;
    atomic_store(&gate->is_taken, false);
    return device_fail(DEVICE_OUT_OF_MEMORY, "no thread for a gate");
}

/* The words lie in memory shared since the device was opened: making such memory now could
 * wait for a stream that another gate holds. */
device_result cuda_gate_create(device_gate *gate)
{
    cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;

    for (int i = 0; i < CUDA_MAX_GATES; i++) {
        device_gate taken = &device->gates[i];
        if (atomic_exchange(&taken->is_taken, true))
            continue;
        *gate = taken;
        return start(taken, &device->shared->open[i]);
    }
    return device_fail(DEVICE_OUT_OF_MEMORY, "more than %d gates at once", CUDA_MAX_GATES);
}

device_result cuda_gate_wait(cudaStream_t stream, device_gate gate)
{
    return cuda_result(cuda.stream_wait_value(stream, (uintptr_t)gate->open, 1, WAIT_UNTIL_EQUAL),
                       "cuStreamWaitValue32");
}

device_result cuda_gate_open(device_gate gate)
{
    atomic_store(gate->open, 1);
    return DEVICE_OK;
}

device_result cuda_gate_destroy(device_gate gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->is_done = true;
    (void)pthread_cond_signal(&gate->done);
    (void)pthread_mutex_unlock(&gate->lock);
    (void)pthread_join(gate->watchdog, NULL);

    const bool timed_out = gate->timed_out;
    (void)pthread_cond_destroy(&gate->done);
    (void)pthread_mutex_destroy(&gate->lock);
    atomic_store(&gate->is_taken, false);
    return timed_out ? device_fail(DEVICE_TIMED_OUT, "a gate stayed closed for too long")
                     : DEVICE_OK;
}
