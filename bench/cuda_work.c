/* Work for a CUDA device: kernels that touch memory, and gates that hold a stream. */
#include "cuda_device.h"

#include "device_error.h"

enum { THREADS_PER_BLOCK = 256, VECTOR_BYTES = 16 };

/* Enough blocks to use the memory bandwidth, and few enough for other streams
 * to run beside: an H200 holds about a thousand blocks of this size at once. */
enum { MAX_BLOCKS = 512, MAX_COMPUTE_BLOCKS = 64 };

static const uint64_t gate_timeout_ns = 10000000000u;

/* How many 16-byte vectors of a span the kernels may use. */
static uint64_t vectors_of(uintptr_t addresses, size_t bytes)
{
    return addresses % VECTOR_BYTES == 0 ? bytes / VECTOR_BYTES : 0;
}

static unsigned blocks_for(uint64_t vectors, size_t bytes, unsigned most)
{
    uint64_t items = vectors != 0 ? vectors : bytes;
    uint64_t blocks = (items + THREADS_PER_BLOCK - 1) / THREADS_PER_BLOCK;
    if (blocks > most)
        return most;
    return blocks != 0 ? (unsigned)blocks : 1;
}

static device_result launch(const cuda_device *device, cuda_kernel_id kernel, unsigned blocks,
                            cudaStream_t stream, void **parameters)
{
    unsigned threads = kernel == CUDA_KERNEL_GATE ? 1 : THREADS_PER_BLOCK;
    int result = cuda.launch(device->kernels[kernel], blocks, 1, 1, threads, 1, 1, 0, stream,
                             parameters, NULL);
    return cuda_result(result, cuda_kernels[kernel].name);
}

static uint64_t cycles_of(const cuda_device *device, uint64_t ns)
{
    return ns * device->clock_khz / 1000000;
}

static uint32_t four_times(uint8_t value)
{
    return value * 0x01010101u;
}

static device_result run_fill(cudaStream_t stream, void *ptr, size_t bytes, uint8_t value,
                              uint64_t duration_ns)
{
    const cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;

    uint64_t address = (uintptr_t)ptr;
    uint64_t vectors = vectors_of((uintptr_t)ptr, bytes);
    uint64_t length = bytes;
    uint32_t word = four_times(value);
    uint64_t cycles = cycles_of(device, duration_ns);
    void *parameters[] = {&address, &vectors, &length, &word, &cycles};
    return launch(device, CUDA_KERNEL_FILL, blocks_for(vectors, bytes, MAX_BLOCKS), stream,
                  parameters);
}

device_result cuda_fill(cudaStream_t stream, void *ptr, size_t bytes, uint8_t value)
{
    return run_fill(stream, ptr, bytes, value, 0);
}

device_result cuda_touch(cudaStream_t stream, void *ptr, size_t bytes, uint64_t duration_ns)
{
    return run_fill(stream, ptr, bytes, 0xA5, duration_ns);
}

device_result cuda_check(cudaStream_t stream, const void *ptr, size_t bytes, uint8_t value)
{
    const cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;

    uint64_t address = (uintptr_t)ptr;
    uint64_t vectors = vectors_of((uintptr_t)ptr, bytes);
    uint64_t length = bytes;
    uint32_t word = four_times(value);
    uint64_t counter = (uintptr_t)&device->shared->mismatches;
    void *parameters[] = {&address, &vectors, &length, &word, &counter};
    return launch(device, CUDA_KERNEL_CHECK, blocks_for(vectors, bytes, MAX_BLOCKS), stream,
                  parameters);
}

device_result cuda_compute(cudaStream_t stream, const void *in, void *out, void *workspace,
                           size_t bytes, uint64_t cost_ns)
{
    const cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;

    uint64_t from = (uintptr_t)in;
    uint64_t to = (uintptr_t)out;
    uint64_t scratch = (uintptr_t)workspace;
    uint64_t vectors = vectors_of((uintptr_t)in | (uintptr_t)out | (uintptr_t)workspace, bytes);
    uint64_t length = bytes;
    uint64_t cycles = cycles_of(device, cost_ns);
    void *parameters[] = {&from, &to, &scratch, &vectors, &length, &cycles};
    return launch(device, CUDA_KERNEL_COMPUTE, blocks_for(vectors, bytes, MAX_COMPUTE_BLOCKS),
                  stream, parameters);
}

static device_result run_gate(const cuda_device *device, cudaStream_t stream, device_gate gate)
{
    uint64_t words = (uintptr_t)gate;
    uint64_t timeout_ns = gate_timeout_ns;
    void *parameters[] = {&words, &timeout_ns};
    return launch(device, CUDA_KERNEL_GATE, 1, stream, parameters);
}

/* Gates lie in memory shared since the device was opened: making such memory
 * now could wait for a stream that another gate holds. */
device_result cuda_gate_create(device_gate *gate)
{
    cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;

    for (int i = 0; i < CUDA_MAX_GATES; i++) {
        if (atomic_exchange(&device->gate_taken[i], true))
            continue;
        device_gate taken = &device->shared->gates[i];
        atomic_store(&taken->open, 0);
        atomic_store(&taken->timed_out, 0);
        *gate = taken;
        return DEVICE_OK;
    }
    return device_fail(DEVICE_OUT_OF_MEMORY, "more than %d gates at once", CUDA_MAX_GATES);
}

device_result cuda_gate_wait(cudaStream_t stream, device_gate gate)
{
    const cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;
    return run_gate(device, stream, gate);
}

device_result cuda_gate_open(device_gate gate)
{
    atomic_store(&gate->open, 1);
    return DEVICE_OK;
}

device_result cuda_gate_destroy(device_gate gate)
{
    cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;

    bool timed_out = atomic_load(&gate->timed_out) != 0;
    atomic_store(&device->gate_taken[gate - device->shared->gates], false);
    if (timed_out)
        return device_fail(DEVICE_TIMED_OUT, "a gate stayed closed for too long");
    return DEVICE_OK;
}

/*
 * The driver loads a kernel when it is first launched and may wait for the
 * device to do so: behind a closed gate that would be for ever.
 */
device_result cuda_warm_up(void)
{
    device_gate gate = NULL;
    device_result result = cuda_gate_create(&gate);
    if (result != DEVICE_OK)
        return result;

    cuda_gate_open(gate);
    result = cuda_gate_wait(NULL, gate);
    if (result == DEVICE_OK)
        result = cuda_fill(NULL, NULL, 0, 0);
    if (result == DEVICE_OK)
        result = cuda_check(NULL, NULL, 0, 0);
    if (result == DEVICE_OK)
        result = cuda_compute(NULL, NULL, NULL, NULL, 0, 0);
    if (result == DEVICE_OK)
        result = cuda_result(cuda.context_synchronize(), "cuCtxSynchronize");

    device_result closed = cuda_gate_destroy(gate);
    return result != DEVICE_OK ? result : closed;
}
