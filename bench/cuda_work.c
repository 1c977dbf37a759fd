/* Work for a CUDA device: kernels that touch memory. */
#include "cuda_device.h"

#include "device_error.h"

enum { THREADS_PER_BLOCK = 256, VECTOR_BYTES = 16 };

/* Enough blocks to use the memory bandwidth, and few enough for other streams
 * to run beside: an H200 holds about a thousand blocks of this size at once. */
enum { MAX_BLOCKS = 512, MAX_COMPUTE_BLOCKS = 64 };

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
    int result = cuda.launch(device->kernels[kernel], blocks, 1, 1, THREADS_PER_BLOCK, 1, 1, 0,
                             stream, parameters, NULL);
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

/*
 * The driver loads a kernel when it is first launched and may wait for the
 * device to do so: behind a closed gate that would be for ever.
 */
device_result cuda_warm_up(void)
{
    device_result result = cuda_fill(NULL, NULL, 0, 0);
    if (result == DEVICE_OK)
        result = cuda_check(NULL, NULL, 0, 0);
    if (result == DEVICE_OK)
        result = cuda_compute(NULL, NULL, NULL, NULL, 0, 0);
    if (result == DEVICE_OK)
        result = cuda_result(cuda.context_synchronize(), "cuCtxSynchronize");
    return result;
}
