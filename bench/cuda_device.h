/* One opened CUDA device: its context, its kernels, and the words they share with the host. */
#ifndef GP_BENCH_CUDA_DEVICE_H
#define GP_BENCH_CUDA_DEVICE_H

#include "cuda_kernels.h"
#include "cuda_loader.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CUDA_MAX_DEVICES = 16, CUDA_MAX_GATES = 64 };

/* A gate: the word a stream waits for, and the thread that opens it in the end. */
struct device_gate_handle {
    _Atomic uint32_t *open; /* Among the shared words. */
    atomic_bool is_taken;
    bool is_done; /* Of the watchdog; under the lock. */
    bool timed_out;
    pthread_t watchdog;
    pthread_mutex_t lock;
    pthread_cond_t done;
};

/*
 * Host memory that the device reads and writes. With unified addressing, which
 * every 64-bit driver has, both use the same address.
 */
typedef struct cuda_shared_words {
    _Atomic uint64_t mismatches;
    _Atomic uint32_t open[CUDA_MAX_GATES];
} cuda_shared_words;

typedef struct cuda_device {
    unsigned opens;
    cuda_context context;
    cuda_module modules[CUDA_KERNEL_COUNT];
    cuda_function kernels[CUDA_KERNEL_COUNT];
    cuda_shared_words *shared;
    struct device_gate_handle gates[CUDA_MAX_GATES];
    uint64_t clock_khz;
} cuda_device;

/* The calling thread's device, or NULL and an error text. */
cuda_device *cuda_device_current(void);

/* ---- cuda_work.c: what the table of device_cuda.c does with kernels ---- */

device_result cuda_touch(cudaStream_t stream, void *ptr, size_t bytes, uint64_t duration_ns);
device_result cuda_compute(cudaStream_t stream, const void *in, void *out, void *workspace,
                           size_t bytes, uint64_t cost_ns);
device_result cuda_fill(cudaStream_t stream, void *ptr, size_t bytes, uint8_t value);
device_result cuda_check(cudaStream_t stream, const void *ptr, size_t bytes, uint8_t value);

/* Run every kernel once on the current device, doing nothing. */
device_result cuda_warm_up(void);

/* ---- cuda_gate.c ---- */

device_result cuda_gate_create(device_gate *gate);
device_result cuda_gate_wait(cudaStream_t stream, device_gate gate);
device_result cuda_gate_open(device_gate gate);
device_result cuda_gate_destroy(device_gate gate);

/* ---- cuda_gemm.c ---- */

bool cuda_has_gemm(void);
device_result cuda_gemm(cudaStream_t stream, float *c, const float *a, const float *b, int m, int n,
                        int k, void *workspace, size_t workspace_bytes);
void cuda_gemm_leave(void);

#endif
