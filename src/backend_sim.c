/*
 * The backend on the simulated device: a thin adapter over gp/sim.h, built to the
 * same rules as the one on CUDA, so that what would go wrong there goes wrong
 * here. In particular calls that spoil captures stand inside a relaxed exchange.
 */
#include "backend.h"

#include "gp/sim.h"

#include "cuda_status.h"
#include "error.h"
#include "sim_machine.h"
#include "sim_memory.h"

#include <stdlib.h>
#include <string.h>

static gp_status as_status(gp_sim_result result, const char *call)
{
    return result == GP_SIM_SUCCESS ? GP_OK : gp_status_from_native(result, call);
}

/* ---- the state of the calling thread that a call borrows ---- */

static gp_sim_result relax(gp_sim_capture_mode *mode)
{
    *mode = GP_SIM_CAPTURE_RELAXED;
    return gp_sim_exchange_capture_mode(mode);
}

static void unrelax(gp_sim_capture_mode mode)
{
    (void)gp_sim_exchange_capture_mode(&mode);
}

/* ---- without an instance ---- */

static gp_status sim_probe(void)
{
    return GP_OK; /* it is always there */
}

static gp_status sim_stream_device(cudaStream_t stream, int *device)
{
    return as_status(gp_sim_stream_get_device(stream, device), "gp_sim_stream_get_device");
}

static gp_status sim_current_device(int *device)
{
    *device = gp_sim_get_device();
    return GP_OK;
}

static gp_status sim_stream_inspect(cudaStream_t stream, gp_stream_view *view)
{
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    gp_sim_result result = gp_sim_stream_is_capturing(stream, &status);
    if (result == GP_SIM_CAPTURE_IMPLICIT) {
        view->capture = GP_CAPTURE_STATE_IMPLICIT;
        return GP_OK;
    }
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_stream_is_capturing");
    if (status != GP_SIM_CAPTURE_NONE) {
        view->capture = GP_CAPTURE_STATE_ACTIVE;
        return GP_OK;
    }

    uint64_t id = 0;
    result = gp_sim_stream_get_id(stream, &id);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_stream_get_id");
    *view = (gp_stream_view){.capture = GP_CAPTURE_STATE_NONE, .id = id};
    return GP_OK;
}

static gp_status sim_capture_id(cudaStream_t stream, uint64_t *id)
{
    gp_sim_capture_status status = GP_SIM_CAPTURE_NONE;
    uint64_t found = 0;
    gp_sim_result result = gp_sim_stream_get_capture_info(stream, &status, &found);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_stream_get_capture_info");
    if (status != GP_SIM_CAPTURE_ACTIVE)
        return gp_error_set(GP_ERR_CAPTURE, "the stream's capture is over, or was invalidated");
    *id = found;
    return GP_OK;
}

/* ---- open and close ---- */

static const gp_backend_ops plain_ops;
static const gp_backend_ops noting_ops;

static gp_status check_device(const gp_sim_machine *machine, int device)
{
    if (machine == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no memory for the simulated machine");
    if (device < 0 || device >= machine->config.device_count)
        return gp_error_set(GP_ERR_UNSUPPORTED,
                            "no simulated device %d: the machine has %d (gp_sim_config)", device,
                            machine->config.device_count);
    if (!machine->config.pools_supported)
        return gp_error_set(GP_ERR_UNSUPPORTED,
                            "simulated device %d has no memory pools "
                            "(pools_supported is false in gp_sim_config)",
                            device);
    return GP_OK;
}

static gp_status sim_open(int device, gp_backend **backend)
{
    gp_backend *opened = calloc(1, sizeof(*opened));
    if (opened == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no memory for a backend");

    gp_sim_machine *machine = gp_sim_machine_lock();
    gp_status status = check_device(machine, device);
    if (status == GP_OK) {
        opened->device = device;
        opened->ops = machine->config.check_hazards ? &noting_ops : &plain_ops;
        machine->open_backends++;
    }
    gp_sim_machine_unlock();

    if (status != GP_OK) {
        free(opened);
        return status;
    }
    *backend = opened;
    return GP_OK;
}

static void sim_close(gp_backend *backend)
{
    gp_sim_machine *machine = gp_sim_machine_lock();
    if (machine != NULL && machine->open_backends > 0)
        machine->open_backends--;
    gp_sim_machine_unlock();
    free(backend);
}

static void sim_describe(gp_backend *backend, gp_device_info *info)
{
    static const char name[] = "simulated device";
    _Static_assert(sizeof(name) <= sizeof(info->name), "the name fits");
    (void)backend;
    memcpy(info->name, name, sizeof(name));

    const gp_sim_machine *machine = gp_sim_machine_lock();
    if (machine != NULL)
        info->total_bytes = machine->config.device_bytes;
    gp_sim_machine_unlock();
}

/* ---- pools ---- */

/* gp alone decides when memory goes back, so nothing goes at synchronising calls. */
static gp_sim_result pool_create_keeping(cudaMemPool_t *pool, size_t max_bytes)
{
    cudaMemPool_t created = NULL;
    gp_sim_result result = gp_sim_pool_create_limited(&created, max_bytes);
    if (result != GP_SIM_SUCCESS)
        return result;
    result = gp_sim_pool_set_threshold(created, UINT64_MAX);
    if (result != GP_SIM_SUCCESS) {
        (void)gp_sim_pool_destroy(created);
        return result;
    }
    *pool = created;
    return GP_SIM_SUCCESS;
}

static gp_status sim_pool_create(gp_backend *backend, size_t max_bytes, cudaMemPool_t *pool)
{
    gp_sim_capture_mode mode;
    gp_sim_result result = relax(&mode);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_exchange_capture_mode");

    int device = gp_sim_get_device();
    result = gp_sim_set_device(backend->device);
    if (result == GP_SIM_SUCCESS)
        result = pool_create_keeping(pool, max_bytes);
    (void)gp_sim_set_device(device);
    unrelax(mode);
    return as_status(result, "gp_sim_pool_create");
}

static gp_status sim_pool_destroy(gp_backend *backend, cudaMemPool_t pool)
{
    (void)backend;
    return as_status(gp_sim_pool_destroy(pool), "gp_sim_pool_destroy");
}

static gp_status sim_pool_trim(gp_backend *backend, cudaMemPool_t pool, size_t min_bytes_to_keep)
{
    (void)backend;
    gp_sim_capture_mode mode;
    gp_sim_result result = relax(&mode);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_exchange_capture_mode");

    result = gp_sim_pool_trim_to(pool, min_bytes_to_keep);
    unrelax(mode);
    return as_status(result, "gp_sim_pool_trim_to");
}

static gp_status sim_pool_usage(gp_backend *backend, cudaMemPool_t pool, gp_native_usage *usage)
{
    (void)backend;
    gp_sim_pool_usage found;
    gp_sim_result result = gp_sim_pool_get_usage(pool, &found);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_pool_get_usage");

    *usage = (gp_native_usage){.reserved_bytes = found.reserved_bytes,
                               .reserved_bytes_high = found.reserved_bytes_high,
                               .used_bytes = found.used_bytes};
    return GP_OK;
}

static gp_status sim_pool_reset_peak(gp_backend *backend, cudaMemPool_t pool)
{
    (void)backend;
    return as_status(gp_sim_pool_reset_peak(pool), "gp_sim_pool_reset_peak");
}

/* ---- memory ---- */

static gp_status sim_alloc(gp_backend *backend, void **ptr, size_t bytes, cudaMemPool_t pool,
                           cudaStream_t stream)
{
    (void)backend;
    gp_sim_capture_mode mode;
    gp_sim_result result = relax(&mode);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_exchange_capture_mode");

    result = gp_sim_malloc_managed(ptr, bytes, pool, stream);
    unrelax(mode);
    return as_status(result, "gp_sim_malloc_async");
}

static gp_status sim_free(gp_backend *backend, void *ptr, cudaStream_t stream)
{
    (void)backend;
    return as_status(gp_sim_free_async(ptr, stream), "gp_sim_free_async");
}

static gp_status sim_fill(gp_backend *backend, void *ptr, unsigned char value, size_t bytes,
                          cudaStream_t stream)
{
    (void)backend;
    return as_status(gp_sim_memset_async(ptr, value, bytes, stream), "gp_sim_memset_async");
}

static gp_status sim_copy_to_host(gp_backend *backend, void *host, const void *ptr, size_t bytes,
                                  cudaStream_t stream)
{
    (void)backend;
    return as_status(gp_sim_memcpy_to_host_async(host, ptr, bytes, stream),
                     "gp_sim_memcpy_to_host_async");
}

static gp_status sim_host_alloc(gp_backend *backend, void **host, size_t bytes)
{
    (void)backend;
    void *made = malloc(bytes);
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for copies");
    *host = made;
    return GP_OK;
}

static void sim_host_free(gp_backend *backend, void *host)
{
    (void)backend;
    free(host);
}

static gp_status sim_mem_info(gp_backend *backend, size_t *free_bytes, size_t *total_bytes)
{
    int device = gp_sim_get_device();
    gp_sim_result result = gp_sim_set_device(backend->device);
    if (result == GP_SIM_SUCCESS)
        result = gp_sim_mem_get_info(free_bytes, total_bytes);
    (void)gp_sim_set_device(device);
    return as_status(result, "gp_sim_mem_get_info");
}

/* ---- events ---- */

static gp_sim_event as_event(gp_native_event event)
{
    return (gp_sim_event)(void *)event;
}

static gp_status sim_event_create(gp_backend *backend, gp_native_event *event)
{
    gp_sim_event created = NULL;
    int device = gp_sim_get_device();
    gp_sim_result result = gp_sim_set_device(backend->device);
    if (result == GP_SIM_SUCCESS)
        result = gp_sim_event_create(&created);
    (void)gp_sim_set_device(device);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_event_create");

    *event = (gp_native_event)(void *)created;
    return GP_OK;
}

static void sim_event_destroy(gp_backend *backend, gp_native_event event)
{
    (void)backend;
    (void)gp_sim_event_destroy(as_event(event)); /* nobody could act on a failure */
}

static gp_status sim_event_record(gp_backend *backend, gp_native_event event, cudaStream_t stream)
{
    (void)backend;
    return as_status(gp_sim_event_record(as_event(event), stream), "gp_sim_event_record");
}

static gp_status sim_stream_query(gp_backend *backend, cudaStream_t stream, bool *complete)
{
    (void)backend;
    gp_sim_capture_mode mode;
    gp_sim_result result = relax(&mode);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_exchange_capture_mode");

    result = gp_sim_stream_query(stream);
    unrelax(mode);
    if (result != GP_SIM_SUCCESS && result != GP_SIM_NOT_READY)
        return as_status(result, "gp_sim_stream_query");
    *complete = result == GP_SIM_SUCCESS;
    return GP_OK;
}

static gp_status sim_stream_synchronize(gp_backend *backend, cudaStream_t stream, bool *complete)
{
    (void)backend;
    gp_sim_capture_mode mode;
    gp_sim_result result = relax(&mode);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_exchange_capture_mode");

    result = gp_sim_stream_synchronize(stream);
    unrelax(mode);
    if (result != GP_SIM_SUCCESS && result != GP_SIM_NOT_READY)
        return as_status(result, "gp_sim_stream_synchronize");
    *complete = result == GP_SIM_SUCCESS;
    return GP_OK;
}

static gp_status sim_event_query(gp_backend *backend, gp_native_event event, bool *complete)
{
    (void)backend;
    gp_sim_capture_mode mode;
    gp_sim_result result = relax(&mode);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_exchange_capture_mode");

    result = gp_sim_event_query(as_event(event));
    unrelax(mode);
    if (result != GP_SIM_SUCCESS && result != GP_SIM_NOT_READY)
        return as_status(result, "gp_sim_event_query");
    *complete = result == GP_SIM_SUCCESS;
    return GP_OK;
}

/* ---- streams ---- */

static gp_status sim_stream_wait(gp_backend *backend, cudaStream_t stream, gp_native_event event)
{
    (void)backend;
    return as_status(gp_sim_stream_wait_event(stream, as_event(event)), "gp_sim_stream_wait_event");
}

static gp_status sim_stream_create(gp_backend *backend, cudaStream_t *stream)
{
    int device = gp_sim_get_device();
    gp_sim_result result = gp_sim_set_device(backend->device);
    if (result == GP_SIM_SUCCESS)
        result = gp_sim_stream_create(stream, true);
    (void)gp_sim_set_device(device);
    return as_status(result, "gp_sim_stream_create");
}

static void sim_stream_destroy(gp_backend *backend, cudaStream_t stream)
{
    (void)backend;
    (void)gp_sim_stream_destroy(stream); /* nobody could act on a failure */
}

static gp_status sim_synchronize(gp_backend *backend)
{
    gp_sim_capture_mode mode;
    gp_sim_result result = relax(&mode);
    if (result != GP_SIM_SUCCESS)
        return as_status(result, "gp_sim_exchange_capture_mode");

    int device = gp_sim_get_device();
    result = gp_sim_set_device(backend->device);
    if (result == GP_SIM_SUCCESS)
        result = gp_sim_device_synchronize();
    (void)gp_sim_set_device(device);
    unrelax(mode);
    return as_status(result, "gp_sim_device_synchronize");
}

/* ---- the table ---- */

/* The hot path asks a note for NULL instead of calling into a checker that is off,
 * so there are two tables that differ in nothing else. */
#define SIM_OPS                                                                                    \
    .name = "sim", .kind = GP_BACKEND_SIM, .probe = sim_probe, .stream_device = sim_stream_device, \
    .current_device = sim_current_device, .stream_inspect = sim_stream_inspect,                    \
    .capture_id = sim_capture_id, .open = sim_open, .close = sim_close, .describe = sim_describe,  \
    .pool_create = sim_pool_create, .pool_destroy = sim_pool_destroy, .pool_trim = sim_pool_trim,  \
    .pool_usage = sim_pool_usage, .pool_reset_peak = sim_pool_reset_peak, .alloc = sim_alloc,      \
    .free = sim_free, .fill = sim_fill, .copy_to_host = sim_copy_to_host,                          \
    .host_alloc = sim_host_alloc, .host_free = sim_host_free, .event_create = sim_event_create,    \
    .event_destroy = sim_event_destroy, .event_record = sim_event_record,                          \
    .event_query = sim_event_query, .stream_query = sim_stream_query,                              \
    .stream_synchronize = sim_stream_synchronize, .stream_wait = sim_stream_wait,                  \
    .stream_create = sim_stream_create, .stream_destroy = sim_stream_destroy,                      \
    .synchronize = sim_synchronize, .mem_info = sim_mem_info

static const gp_backend_ops plain_ops = {SIM_OPS};

static const gp_backend_ops noting_ops = {
    SIM_OPS,
    .note_alloc = gp_sim_note_alloc,
    .note_free = gp_sim_note_free,
    .note_use = gp_sim_note_use,
};

const gp_backend_ops *gp_backend_sim(void)
{
    return &plain_ops;
}
