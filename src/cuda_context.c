/* Primary contexts that gp holds, and the frame of its native calls. */
#include "cuda_context.h"

#include "cuda_status.h"
#include "error.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * The held contexts, so that the device of a stream is found without a driver
 * call. Read without the lock: an entry that is missed costs a slower answer.
 */
static struct {
    pthread_mutex_t lock; /* of holds[], and of changes to contexts[] */
    _Atomic(gp_cu_context) contexts[GP_CUDA_MAX_DEVICES];
    unsigned holds[GP_CUDA_MAX_DEVICES];
    atomic_int end; /* one past the highest device ever held */
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic(gp_cu_context) default_context;

static void add_hold(int device, gp_cu_context context)
{
    pthread_mutex_lock(&held.lock);
    held.holds[device]++;
    atomic_store_explicit(&held.contexts[device], context, memory_order_relaxed);
    if (device >= atomic_load_explicit(&held.end, memory_order_relaxed))
        atomic_store_explicit(&held.end, device + 1, memory_order_relaxed);
    pthread_mutex_unlock(&held.lock);
}

static void drop_hold(int device)
{
    pthread_mutex_lock(&held.lock);
    if (--held.holds[device] == 0)
        atomic_store_explicit(&held.contexts[device], NULL, memory_order_relaxed);
    pthread_mutex_unlock(&held.lock);
}

static gp_status check_ordinal(int device)
{
    int native_device = 0;
    int result = gp_cuda.device_get(&native_device, device);
    if (result != GP_CU_SUCCESS || device < 0 || device >= GP_CUDA_MAX_DEVICES)
        return gp_error_set(GP_ERR_UNSUPPORTED, "there is no CUDA device %d: %s (%d)", device,
                            gp_native_error_name(result), result);
    return GP_OK;
}

gp_status gp_cuda_context_retain(int device, gp_cu_context *context)
{
    gp_status status = check_ordinal(device);
    if (status != GP_OK)
        return status;

    /* Ordinals and CUdevice values are the same numbers. */
    gp_cu_context primary = NULL;
    int capture_mode = GP_CU_CAPTURE_MODE_RELAXED; /* the context may have to be made */
    (void)gp_cuda.exchange_capture_mode(&capture_mode);
    int result = gp_cuda.primary_retain(&primary, device);
    (void)gp_cuda.exchange_capture_mode(&capture_mode);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuDevicePrimaryCtxRetain");

    add_hold(device, primary);
    *context = primary;
    return GP_OK;
}

void gp_cuda_context_release(int device)
{
    drop_hold(device);
    (void)gp_cuda.primary_release(device);
}

gp_status gp_cuda_context_default(gp_cu_context *context)
{
    gp_cu_context known = atomic_load(&default_context);
    if (known != NULL) {
        *context = known;
        return GP_OK;
    }

    gp_cu_context retained = NULL;
    gp_status status = gp_cuda_context_retain(0, &retained);
    if (status != GP_OK)
        return status;
    /* Two threads may come here at once: one hold is enough. */
    if (!atomic_compare_exchange_strong(&default_context, &known, retained))
        gp_cuda_context_release(0);
    *context = retained;
    return GP_OK;
}

static bool find_held(gp_cu_context context, int *device)
{
    int end = atomic_load_explicit(&held.end, memory_order_relaxed);
    for (int i = 0; i < end; i++) {
        if (atomic_load_explicit(&held.contexts[i], memory_order_relaxed) == context) {
            *device = i;
            return true;
        }
    }
    return false;
}

/* Retaining one that is not active would create it, so its state is asked first. */
static bool is_primary(gp_cu_context context, int device)
{
    unsigned flags = 0;
    int active = 0;
    if (gp_cuda.primary_get_state(device, &flags, &active) != GP_CU_SUCCESS || active == 0)
        return false;

    gp_cu_context primary = NULL;
    if (gp_cuda.primary_retain(&primary, device) != GP_CU_SUCCESS)
        return false;
    (void)gp_cuda.primary_release(device);
    return primary == context;
}

gp_status gp_cuda_context_device(gp_cu_context context, int *device)
{
    if (find_held(context, device))
        return GP_OK;

    gp_cuda_frame frame;
    gp_status status = gp_cuda_frame_enter(&frame, context);
    if (status != GP_OK)
        return status;
    int owner = 0;
    int result = gp_cuda.context_get_device(&owner);
    bool primary = result == GP_CU_SUCCESS && is_primary(context, owner);
    gp_cuda_frame_leave(&frame);

    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuCtxGetDevice");
    if (!primary)
        return gp_error_set(GP_ERR_UNSUPPORTED,
                            "the stream is of a context other than the primary one of device %d",
                            owner);
    *device = owner;
    return GP_OK;
}

int gp_cuda_context_enter(gp_cu_context context, bool *pushed)
{
    *pushed = false;
    gp_cu_context current = NULL;
    int result = gp_cuda.context_get_current(&current);
    if (result != GP_CU_SUCCESS || current == context)
        return result;

    result = gp_cuda.context_push(context);
    *pushed = result == GP_CU_SUCCESS;
    return result;
}

void gp_cuda_context_leave(bool pushed)
{
    gp_cu_context popped = NULL;
    if (pushed)
        (void)gp_cuda.context_pop(&popped);
}

gp_status gp_cuda_frame_enter(gp_cuda_frame *frame, gp_cu_context context)
{
    frame->capture_mode = GP_CU_CAPTURE_MODE_RELAXED;
    int result = gp_cuda.exchange_capture_mode(&frame->capture_mode);
    if (result != GP_CU_SUCCESS)
        return gp_status_from_native(result, "cuThreadExchangeStreamCaptureMode");

    result = gp_cuda_context_enter(context, &frame->pushed);
    if (result != GP_CU_SUCCESS) {
        (void)gp_cuda.exchange_capture_mode(&frame->capture_mode);
        return gp_status_from_native(result, "cuCtxPushCurrent");
    }
    return GP_OK;
}

void gp_cuda_frame_leave(gp_cuda_frame *frame)
{
    gp_cuda_context_leave(frame->pushed);
    (void)gp_cuda.exchange_capture_mode(&frame->capture_mode);
}
