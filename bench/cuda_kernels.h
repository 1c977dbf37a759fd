/* The kernels of the CUDA device, as PTX text that the driver compiles. */
#ifndef GP_BENCH_CUDA_KERNELS_H
#define GP_BENCH_CUDA_KERNELS_H

typedef enum cuda_kernel_id {
    /* gp_fill(u64 ptr, u64 vectors, u64 bytes, u32 value, u64 cycles)
     * Set `bytes` bytes, the first 16 * vectors of them 16 at a time: ptr must be a
     * multiple of 16 unless vectors is 0. value holds the byte four times. Every
     * thread then stays until `cycles` clock cycles have passed since it began. */
    CUDA_KERNEL_FILL,

    /* gp_check(u64 ptr, u64 vectors, u64 bytes, u32 value, u64 counter)
     * Add the number of bytes that are not the value to the u64 at counter. */
    CUDA_KERNEL_CHECK,

    /* gp_compute(u64 in, u64 out, u64 workspace, u64 vectors, u64 bytes, u64 cycles)
     * out = in + 1 by 32-bit words (by bytes beyond the vectors), workspace = in;
     * workspace may be 0. `cycles` as above. */
    CUDA_KERNEL_COMPUTE,

    CUDA_KERNEL_COUNT
} cuda_kernel_id;

typedef struct cuda_kernel {
    const char *name;
    const char *ptx; /* a module of its own */
} cuda_kernel;

extern const cuda_kernel cuda_kernels[CUDA_KERNEL_COUNT];

#endif
