/* The one place where a native result becomes a gp_status. */
#include "cuda_status.h"

#include "error.h"

/*
 * The codes gp distinguishes or is likely to meet. They are written out since
 * this file is compiled without the CUDA Toolkit too, and the simulated device
 * returns the same values.
 */
static const struct native_code {
    int code;
    const char *name;
} native_codes[] = {
    {0, "CUDA_SUCCESS"},
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "CUDA_ERROR_DEINITIALIZED"},
    {34, "CUDA_ERROR_STUB_LIBRARY"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {200, "CUDA_ERROR_INVALID_IMAGE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM"},
    {400, "CUDA_ERROR_INVALID_HANDLE"},
    {401, "CUDA_ERROR_ILLEGAL_STATE"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, "CUDA_ERROR_ASSERT"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {800, "CUDA_ERROR_NOT_PERMITTED"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
    {907, "CUDA_ERROR_CAPTURED_EVENT"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {999, "CUDA_ERROR_UNKNOWN"},
};

const char *gp_native_error_name(int native)
{
    for (size_t i = 0; i < sizeof(native_codes) / sizeof(native_codes[0]); i++) {
        if (native_codes[i].code == native)
            return native_codes[i].name;
    }
    return "unnamed CUDA error";
}

static gp_status status_of(int native)
{
    if (native >= 900 && native <= 908)
        return GP_ERR_CAPTURE;

    switch (native) {
    case 0:
        return GP_OK;
    case 2:
        return GP_ERR_OUT_OF_MEMORY;
    case 4:
        return GP_ERR_SHUTDOWN;
    case 400: /* the handle gp passes on from the caller is a stream */
    case 709: /* the stream's context was destroyed, and the stream with it */
        return GP_ERR_INVALID_STREAM;
    case 801:
        return GP_ERR_UNSUPPORTED;
    default:
        return GP_ERR_CUDA;
    }
}

gp_status gp_status_from_native(int native, const char *call)
{
    gp_status status = status_of(native);
    if (status == GP_OK)
        return GP_OK;

    gp_error_set(status, "%s: %s (%d)", call, gp_native_error_name(native), native);
    gp_error_set_native(native);
    return status;
}
