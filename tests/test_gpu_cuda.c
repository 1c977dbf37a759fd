/*
 * What belongs to the program and not to gp is left as it was; and the witnesses
 * that the other GPU tests rely on see what they are to see. Needs CUDA.
 */
#include "gpu_fixture.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void take_symbol(void *library, const char *name, void *function)
{
    void *entry = dlsym(library, name);
    cr_assert(ne(ptr, entry, NULL), "%s", name);
    memcpy(function, &entry, sizeof(entry));
}

/* Every kind of call, the failing ones too. */
static void use_the_pool(void)
{
    cudaStream_t stream = gpu_stream();
    void *block = gpu_alloc(MIB(8), stream);
    void *none = NULL;
    RUN(device->fill(stream, block, MIB(8), 1));
    GP(gp_record_use(block, stream));
    cr_assert(ne(int, (int)gp_alloc_from_pool_async(&none, SIZE_MAX, pool, stream), GP_OK));
    cr_assert(ne(int, (int)gp_alloc_from_pool_async(&none, (size_t)1 << 45, pool, stream), GP_OK));
    GP(gp_free_async(block, stream));
    cr_assert(ne(int, (int)gp_free_async(block, stream), GP_OK));
    RUN(device->stream_synchronize(stream));
    GP(gp_pool_trim_to(pool, 0));
}

/* C53. */
GPU_TEST(gpu_cuda, leaves_the_devices_default_pool_alone)
{
    cudaMemPool_t default_pool = NULL;
    cudaMemPool_t current_before = NULL;
    cudaMemPool_t current_after = NULL;
    cudaMemPool_t native = NULL;
    uint64_t threshold = 0;
    device_pool_usage before;
    device_pool_usage after;
    RUN(device->default_pool(0, &default_pool));
    RUN(device->current_pool(0, &current_before));
    RUN(device->pool_set_threshold(default_pool, MIB(123)));
    RUN(device->pool_get_usage(default_pool, &before));
    gp_pool_config config = gpu_config();

    gpu_reopen(&config);
    use_the_pool();
    GP(gp_pool_native_handle(pool, &native));

    RUN(device->pool_get_threshold(default_pool, &threshold));
    RUN(device->pool_get_usage(default_pool, &after));
    RUN(device->current_pool(0, &current_after));
    cr_assert(eq(u64, threshold, MIB(123)));
    cr_assert(eq(ptr, current_after, current_before));
    cr_assert(ne(ptr, native, default_pool));
    cr_assert(eq(u64, after.reserved_bytes, before.reserved_bytes));
    cr_assert(eq(u64, after.reserved_bytes_high, before.reserved_bytes_high));
}

static void use_a_pool_without_a_current_context(void *get_current)
{
    int (*get)(void **context) = NULL;
    void *current = &current;
    void *block = NULL;
    memcpy(&get, get_current, sizeof(get));
    EXPECT_GP(gp_alloc_from_pool_async(&block, MIB(1), pool, NULL));
    EXPECT_GP(gp_free_async(block, NULL));
    gpu_expect(get(&current) == 0 && current == NULL, "no context is current afterwards", "");
}

static void *plain_thread(void *get_current)
{
    use_a_pool_without_a_current_context(get_current);
    return NULL;
}

GPU_TEST(gpu_cuda, leaves_the_current_context_of_a_thread_alone)
{
    int (*get_current)(void **context) = NULL;
    void *before = NULL;
    void *after = NULL;
    pthread_t thread;
    take_symbol(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxGetCurrent", &get_current);
    cr_assert(eq(int, get_current(&before), 0));

    use_the_pool();
    cr_assert(eq(int, pthread_create(&thread, NULL, plain_thread, &get_current), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));

    cr_assert(eq(int, get_current(&after), 0));
    cr_assert(ne(ptr, before, NULL));
    cr_assert(eq(ptr, after, before));
}

static void *open_runtime(void)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = dlopen(names[i], RTLD_NOW);
        if (library != NULL) {
            printf("the runtime is %s\n", names[i]);
            return library;
        }
    }
    printf("no CUDA runtime library: only its absence was tried\n");
    return NULL;
}

/* gp makes driver calls only, so a program that has the runtime keeps its error. */
GPU_TEST(gpu_cuda, leaves_the_last_error_of_the_runtime_alone)
{
    void *runtime = open_runtime();
    if (runtime == NULL) {
        use_the_pool();
        cr_assert(eq(ptr, dlsym(RTLD_DEFAULT, "cudaGetLastError"), NULL));
        return;
    }
    int (*set_device)(int device) = NULL;
    int (*peek)(void) = NULL;
    take_symbol(runtime, "cudaSetDevice", &set_device);
    take_symbol(runtime, "cudaPeekAtLastError", &peek);

    use_the_pool();
    cr_assert(eq(int, peek(), 0));
    int error = set_device(9999);
    cr_assert(ne(int, error, 0));
    use_the_pool();

    cr_assert(eq(int, peek(), error));
}

/* ---- the witnesses ---- */

static uint64_t wrong_bytes(cudaStream_t stream, const void *ptr, size_t bytes, uint8_t value)
{
    uint64_t before = device->mismatches();
    RUN(device->check(stream, ptr, bytes, value));
    RUN(device->stream_synchronize(stream));
    return device->mismatches() - before;
}

Test(gpu_cuda, a_check_counts_every_wrong_byte_and_no_other)
{
    const size_t sizes[] = {1, 15, 16, 17, 4095, 4096, 100003, MIB(32) + 5};
    gpu_open();
    cudaStream_t stream = gpu_stream();

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t offset = 0; offset < 2; offset++) {
            size_t bytes = sizes[i];
            char *block = gpu_alloc(bytes + 2, stream);
            RUN(device->fill(stream, block, bytes + 2, 0x80));
            RUN(device->fill(stream, block + offset, bytes, 0x7F));
            cr_assert(eq(u64, wrong_bytes(stream, block + offset, bytes, 0x7F), 0));
            cr_assert(eq(u64, wrong_bytes(stream, block + offset, bytes, 0x80), bytes));
            cr_assert(eq(u64, wrong_bytes(stream, block + offset + bytes, 1, 0x80), 0));

            RUN(device->fill(stream, block + offset + bytes - 1, 1, 0x7E));
            cr_assert(eq(u64, wrong_bytes(stream, block + offset, bytes, 0x7F), 1));
            GP(gp_free_async(block, stream));
        }
    }
    GP(gp_pool_destroy(pool));
    device->close(0);
}

GPU_TEST(gpu_cuda, a_gate_holds_its_stream_and_no_other)
{
    cudaStream_t held = gpu_stream();
    cudaStream_t free_stream = gpu_stream();
    device_event passed = NULL;
    RUN(device->event_create(&passed));
    device_gate gate = gpu_close_gate(held);

    /* No kernel, which a memory checker would not end before the gate is open. */
    RUN(device->event_record(passed, free_stream));
    while (device->event_query(passed) == DEVICE_NOT_READY) {
    }
    cr_assert(eq(int, device->stream_query(held), DEVICE_NOT_READY));

    gpu_open_gate(gate);
    RUN(device->stream_synchronize(held));
    gpu_destroy_gate(gate);
    RUN(device->event_destroy(passed));
}

/* A layer reads its input and writes its output and workspace, all of them. */
GPU_TEST(gpu_cuda, a_computation_writes_what_it_says)
{
    const size_t bytes = MIB(1) + 7;
    cudaStream_t stream = gpu_stream();
    void *in = gpu_alloc(bytes, stream);
    void *out = gpu_alloc(bytes, stream);
    void *workspace = gpu_alloc(bytes, stream);
    RUN(device->fill(stream, in, bytes, 0xFF));

    RUN(device->compute(stream, in, out, workspace, bytes, 1000));

    RUN(device->check(stream, out, bytes, 0));
    RUN(device->check(stream, workspace, bytes, 0xFF));
    GP(gp_free_async(workspace, stream));
    GP(gp_free_async(out, stream));
    GP(gp_free_async(in, stream));
}

GPU_TEST(gpu_cuda, a_matrix_product_is_right_where_there_is_cublas)
{
    enum { N = 32 };
    const size_t bytes = sizeof(float) * N * N;
    cudaStream_t stream = gpu_stream();
    if (!device->has_gemm()) {
        printf("no cuBLAS library: only its absence was tried\n");
        cr_assert(ne(int, device->gemm(stream, NULL, NULL, NULL, N, N, N, NULL, 0), DEVICE_OK));
        return;
    }
    float *a = gpu_alloc(bytes, stream);
    float *c = gpu_alloc(bytes, stream);
    void *workspace = gpu_alloc(MIB(32), stream);
    RUN(device->fill(stream, a, bytes, 0)); /* zeros, whose product is zeros */
    RUN(device->fill(stream, c, bytes, 0x41));

    RUN(device->gemm(stream, c, a, a, N, N, N, workspace, MIB(32)));

    RUN(device->check(stream, c, bytes, 0));
    RUN(device->stream_synchronize(stream));
    device->leave();
    RUN(device->set_current(0));
    GP(gp_free_async(workspace, stream));
    GP(gp_free_async(c, stream));
    GP(gp_free_async(a, stream));
}
