/* Matrix products by cuBLAS, loaded at run time if it is there. */
#include "cuda_device.h"

#include "device_error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef struct cublasContext *blas_handle;

enum { BLAS_NO_TRANSPOSE = 0 };

static struct {
    int (*create)(blas_handle *handle);
    int (*destroy)(blas_handle handle);
    int (*set_stream)(blas_handle handle, cudaStream_t stream);
    int (*set_workspace)(blas_handle handle, void *workspace, size_t bytes);
    int (*sgemm)(blas_handle handle, int transpose_a, int transpose_b, int m, int n, int k,
                 const float *alpha, const float *a, int lda, const float *b, int ldb,
                 const float *beta, float *c, int ldc);
} blas;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool found;

/* A handle serves one thread, one device and, until it is set anew, one stream. */
static _Thread_local struct {
    blas_handle handle;
    const cuda_device *device;
    cudaStream_t stream;
    void *workspace;
    size_t workspace_bytes;
    bool bound; /* stream and workspace are what the handle has */
} mine;

static bool take(void *library, const char *symbol, void *function)
{
    void *entry = dlsym(library, symbol);
    memcpy(function, &entry, sizeof(entry));
    return entry != NULL;
}

static void find_library(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

    found = library != NULL && take(library, "cublasCreate_v2", &blas.create) &&
            take(library, "cublasDestroy_v2", &blas.destroy) &&
            take(library, "cublasSetStream_v2", &blas.set_stream) &&
            take(library, "cublasSetWorkspace_v2", &blas.set_workspace) &&
            take(library, "cublasSgemm_v2", &blas.sgemm);
}

bool cuda_has_gemm(void)
{
    pthread_once(&once, find_library);
    return found;
}

static device_result blas_result(int status, const char *call)
{
    const int unknown_error = 999;
    if (status == 0)
        return DEVICE_OK;
    return device_fail(unknown_error, "%s: cuBLAS status %d", call, status);
}

static device_result find_handle(void)
{
    const cuda_device *device = cuda_device_current();
    if (device == NULL)
        return DEVICE_UNAVAILABLE;
    if (mine.handle != NULL && mine.device == device)
        return DEVICE_OK;

    cuda_gemm_leave();
    device_result result = blas_result(blas.create(&mine.handle), "cublasCreate");
    if (result == DEVICE_OK)
        mine.device = device;
    return result;
}

/* Setting the stream also takes the workspace away, so both are set together. */
static device_result bind(cudaStream_t stream, void *workspace, size_t workspace_bytes)
{
    if (mine.bound && mine.stream == stream && mine.workspace == workspace &&
        mine.workspace_bytes == workspace_bytes)
        return DEVICE_OK;

    device_result result = blas_result(blas.set_stream(mine.handle, stream), "cublasSetStream");
    if (result == DEVICE_OK && workspace != NULL)
        result = blas_result(blas.set_workspace(mine.handle, workspace, workspace_bytes),
                             "cublasSetWorkspace");
    mine.stream = stream;
    mine.workspace = workspace;
    mine.workspace_bytes = workspace_bytes;
    mine.bound = result == DEVICE_OK;
    return result;
}

/* cuBLAS is column-major: it sees the transposes, and c' = b' * a'. */
/* NOLINTNEXTLINE(readability-function-size): a BLAS call has that many arguments. */
device_result cuda_gemm(cudaStream_t stream, float *c, const float *a, const float *b, int m, int n,
                        int k, void *workspace, size_t workspace_bytes)
{
    const float one = 1.0F;
    const float zero = 0.0F;
    if (!cuda_has_gemm())
        return device_fail(DEVICE_NOT_SUPPORTED, "cuBLAS was not found");

    device_result result = find_handle();
    if (result == DEVICE_OK)
        result = bind(stream, workspace, workspace_bytes);
    if (result != DEVICE_OK)
        return result;
    return blas_result(blas.sgemm(mine.handle, BLAS_NO_TRANSPOSE, BLAS_NO_TRANSPOSE, n, m, k, &one,
                                  b, n, a, k, &zero, c, n),
                       "cublasSgemm");
}

void cuda_gemm_leave(void)
{
    if (mine.handle != NULL)
        blas.destroy(mine.handle);
    memset(&mine, 0, sizeof(mine));
}
