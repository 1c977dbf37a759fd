/* The simulated device of device.h, on gp/sim.h. Its results are CUresults already. */
#include "device.h"

#include "device_error.h"

#include "gp/sim.h"

#include <pthread.h>
#include <stdio.h>

enum { MAX_DEVICES = 8 };

/* What a kernel costs on the simulated clock: a start, and 3 bytes a picosecond. */
static const uint64_t kernel_start_ns = 2000;
static const uint64_t bytes_per_ns = 3000;

/* Plain allocations of a device, which the simulated driver has no call for,
 * come from a pool that nobody else uses. */
static struct {
    pthread_mutex_t lock;
    cudaMemPool_t pools[MAX_DEVICES];
    cudaStream_t streams[MAX_DEVICES];
} plain = {.lock = PTHREAD_MUTEX_INITIALIZER};

static device_result sim_result(gp_sim_result result, const char *call)
{
    if (result == DEVICE_OK || result == DEVICE_NOT_READY)
        return result;
    return device_fail(result, "%s: simulated CUresult %d", call, result);
}

/* ---- the device ---- */

static device_result sim_set_current(int device)
{
    return sim_result(gp_sim_set_device(device), "gp_sim_set_device");
}

static void sim_close(int device)
{
    (void)device;
}

static void sim_leave(void)
{
}

static device_result sim_get_name(int device, char *name, size_t capacity)
{
    (void)device;
    snprintf(name, capacity, "simulated device");
    return DEVICE_OK;
}

static device_result sim_mem_info(size_t *free_bytes, size_t *total_bytes)
{
    return sim_result(gp_sim_mem_get_info(free_bytes, total_bytes), "gp_sim_mem_get_info");
}

static device_result sim_synchronize(void)
{
    return sim_result(gp_sim_device_synchronize(), "gp_sim_device_synchronize");
}

static uint64_t sim_mismatches(void)
{
    return 0;
}

static int64_t sim_hazards(void)
{
    return (int64_t)gp_sim_hazard_count();
}

/* ---- streams and events ---- */

static gp_sim_event event_of(device_event event)
{
    return (gp_sim_event)(void *)event;
}

static device_result sim_stream_create(cudaStream_t *stream, bool non_blocking)
{
    return sim_result(gp_sim_stream_create(stream, non_blocking), "gp_sim_stream_create");
}

static device_result sim_stream_destroy(cudaStream_t stream)
{
    return sim_result(gp_sim_stream_destroy(stream), "gp_sim_stream_destroy");
}

static device_result sim_stream_synchronize(cudaStream_t stream)
{
    return sim_result(gp_sim_stream_synchronize(stream), "gp_sim_stream_synchronize");
}

static device_result sim_stream_query(cudaStream_t stream)
{
    return sim_result(gp_sim_stream_query(stream), "gp_sim_stream_query");
}

static device_result sim_event_create(device_event *event)
{
    gp_sim_event created = NULL;
    device_result result = sim_result(gp_sim_event_create(&created), "gp_sim_event_create");
    if (result == DEVICE_OK)
        *event = (device_event)(void *)created;
    return result;
}

static device_result sim_event_destroy(device_event event)
{
    return sim_result(gp_sim_event_destroy(event_of(event)), "gp_sim_event_destroy");
}

static device_result sim_event_record(device_event event, cudaStream_t stream)
{
    return sim_result(gp_sim_event_record(event_of(event), stream), "gp_sim_event_record");
}

static device_result sim_event_query(device_event event)
{
    return sim_result(gp_sim_event_query(event_of(event)), "gp_sim_event_query");
}

static device_result sim_event_synchronize(device_event event)
{
    return sim_result(gp_sim_event_synchronize(event_of(event)), "gp_sim_event_synchronize");
}

static device_result sim_stream_wait(cudaStream_t stream, device_event event)
{
    return sim_result(gp_sim_stream_wait_event(stream, event_of(event)),
                      "gp_sim_stream_wait_event");
}

/* ---- work ---- */

static device_result launch(cudaStream_t stream, const gp_sim_access *accesses, size_t count,
                            uint64_t least_ns)
{
    uint64_t ns = kernel_start_ns;
    for (size_t i = 0; i < count; i++)
        ns += accesses[i].bytes / bytes_per_ns;
    return sim_result(gp_sim_launch(stream, accesses, count, ns > least_ns ? ns : least_ns),
                      "gp_sim_launch");
}

static device_result sim_touch(cudaStream_t stream, void *ptr, size_t bytes, uint64_t duration_ns)
{
    const gp_sim_access access = {.base = ptr, .bytes = bytes, .writes = true};
    return launch(stream, &access, 1, duration_ns);
}

static device_result sim_fill(cudaStream_t stream, void *ptr, size_t bytes, uint8_t value)
{
    (void)value;
    return sim_touch(stream, ptr, bytes, 0);
}

static device_result sim_check(cudaStream_t stream, const void *ptr, size_t bytes, uint8_t value)
{
    const gp_sim_access access = {.base = ptr, .bytes = bytes, .writes = false};
    (void)value;
    return launch(stream, &access, 1, 0);
}

static device_result sim_compute(cudaStream_t stream, const void *in, void *out, void *workspace,
                                 size_t bytes, uint64_t cost_ns)
{
    const gp_sim_access accesses[] = {
        {.base = in, .bytes = bytes, .writes = false},
        {.base = out, .bytes = bytes, .writes = true},
        {.base = workspace, .bytes = bytes, .writes = true},
    };
    return launch(stream, accesses, workspace != NULL ? 3 : 2, cost_ns);
}

static device_result sim_gate_create(device_gate *gate)
{
    gp_sim_gate created = NULL;
    device_result result = sim_result(gp_sim_gate_create(&created), "gp_sim_gate_create");
    if (result == DEVICE_OK)
        *gate = (device_gate)(void *)created;
    return result;
}

static gp_sim_gate gate_of(device_gate gate)
{
    return (gp_sim_gate)(void *)gate;
}

static device_result sim_gate_wait(cudaStream_t stream, device_gate gate)
{
    return sim_result(gp_sim_gate_wait(stream, gate_of(gate)), "gp_sim_gate_wait");
}

static device_result sim_gate_open(device_gate gate)
{
    return sim_result(gp_sim_gate_open(gate_of(gate)), "gp_sim_gate_open");
}

static device_result sim_gate_destroy(device_gate gate)
{
    return sim_result(gp_sim_gate_destroy(gate_of(gate)), "gp_sim_gate_destroy");
}

/* ---- captures ---- */

static device_result sim_capture_begin(cudaStream_t stream, device_capture_mode mode)
{
    return sim_result(gp_sim_begin_capture(stream, (gp_sim_capture_mode)mode),
                      "gp_sim_begin_capture");
}

static device_result sim_capture_end(cudaStream_t stream, device_graph *graph)
{
    gp_sim_graph captured = NULL;
    device_result result = sim_result(gp_sim_end_capture(stream, &captured), "gp_sim_end_capture");
    if (result == DEVICE_OK)
        *graph = (device_graph)(void *)captured;
    return result;
}

static device_result sim_capture_query(cudaStream_t stream, device_capture_status *status)
{
    gp_sim_capture_status found = GP_SIM_CAPTURE_NONE;
    device_result result =
        sim_result(gp_sim_stream_is_capturing(stream, &found), "gp_sim_stream_is_capturing");
    if (result == DEVICE_OK)
        *status = (device_capture_status)found;
    return result;
}

static gp_sim_graph graph_of(device_graph graph)
{
    return (gp_sim_graph)(void *)graph;
}

static device_result sim_graph_launch(device_graph graph, cudaStream_t stream)
{
    return sim_result(gp_sim_graph_launch(graph_of(graph), stream), "gp_sim_graph_launch");
}

static device_result sim_graph_destroy(device_graph graph)
{
    return sim_result(gp_sim_graph_destroy(graph_of(graph)), "gp_sim_graph_destroy");
}

/* ---- the native allocator ---- */

static device_result sim_pool_set_threshold(cudaMemPool_t pool, uint64_t bytes)
{
    return sim_result(gp_sim_pool_set_threshold(pool, bytes), "gp_sim_pool_set_threshold");
}

static device_result sim_pool_get_threshold(cudaMemPool_t pool, uint64_t *bytes)
{
    return sim_result(gp_sim_pool_get_threshold(pool, bytes), "gp_sim_pool_get_threshold");
}

static device_result sim_pool_create(cudaMemPool_t *pool)
{
    cudaMemPool_t created = NULL;
    device_result result = sim_result(gp_sim_pool_create(&created), "gp_sim_pool_create");
    if (result != DEVICE_OK)
        return result;
    result = sim_pool_set_threshold(created, UINT64_MAX);
    if (result == DEVICE_OK)
        *pool = created;
    else
        (void)gp_sim_pool_destroy(created);
    return result;
}

static device_result sim_pool_destroy(cudaMemPool_t pool)
{
    return sim_result(gp_sim_pool_destroy(pool), "gp_sim_pool_destroy");
}

static device_result sim_pool_alloc(void **ptr, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    return sim_result(gp_sim_malloc_async(ptr, bytes, pool, stream), "gp_sim_malloc_async");
}

static device_result sim_pool_free(void *ptr, cudaStream_t stream)
{
    return sim_result(gp_sim_free_async(ptr, stream), "gp_sim_free_async");
}

static device_result sim_pool_get_usage(cudaMemPool_t pool, device_pool_usage *usage)
{
    gp_sim_pool_usage found;
    device_result result = sim_result(gp_sim_pool_get_usage(pool, &found), "gp_sim_pool_get_usage");
    if (result == DEVICE_OK)
        *usage = (device_pool_usage){.reserved_bytes = found.reserved_bytes,
                                     .reserved_bytes_high = found.reserved_bytes_high,
                                     .used_bytes = found.used_bytes};
    return result;
}

static device_result sim_pool_reset_peak(cudaMemPool_t pool)
{
    return sim_result(gp_sim_pool_reset_peak(pool), "gp_sim_pool_reset_peak");
}

static device_result sim_pool_trim_to(cudaMemPool_t pool, size_t min_bytes_to_keep)
{
    return sim_result(gp_sim_pool_trim_to(pool, min_bytes_to_keep), "gp_sim_pool_trim_to");
}

static device_result no_such_pool(int device, cudaMemPool_t *pool)
{
    (void)device;
    (void)pool;
    return device_fail(DEVICE_NOT_SUPPORTED, "the simulated device has no default pool");
}

/* With plain.lock held: the pool and the stream of a device, made on first use. */
static device_result find_plain_pool(int device)
{
    if (plain.pools[device] != NULL)
        return DEVICE_OK;

    cudaStream_t stream = NULL;
    device_result result = sim_stream_create(&stream, true);
    if (result != DEVICE_OK)
        return result;
    result = sim_pool_create(&plain.pools[device]);
    if (result != DEVICE_OK)
        (void)gp_sim_stream_destroy(stream);
    else
        plain.streams[device] = stream;
    return result;
}

static device_result sim_plain_alloc(void **ptr, size_t bytes)
{
    int device = gp_sim_get_device();
    pthread_mutex_lock(&plain.lock);
    device_result result = find_plain_pool(device);
    cudaMemPool_t pool = plain.pools[device];
    cudaStream_t stream = plain.streams[device];
    pthread_mutex_unlock(&plain.lock);

    if (result == DEVICE_OK)
        result = sim_pool_alloc(ptr, bytes, pool, stream);
    if (result == DEVICE_OK)
        result = sim_stream_synchronize(stream);
    return result;
}

/* As cudaFree does, after all work of the device. */
static device_result sim_plain_free(void *ptr)
{
    device_result result = sim_synchronize();
    if (result != DEVICE_OK)
        return result;
    return sim_pool_free(ptr, plain.streams[gp_sim_get_device()]);
}

static bool sim_has_gemm(void)
{
    return false;
}

const device_ops *device_sim(void)
{
    static const device_ops ops = {
        .name = "sim",
        .kind = GP_BACKEND_SIM,
        .open = sim_set_current,
        .close = sim_close,
        .set_current = sim_set_current,
        .leave = sim_leave,
        .get_name = sim_get_name,
        .mem_info = sim_mem_info,
        .synchronize = sim_synchronize,
        .now_ns = gp_sim_now_ns,
        .native_call_ns = gp_sim_thread_native_ns,
        .stream_create = sim_stream_create,
        .stream_destroy = sim_stream_destroy,
        .stream_synchronize = sim_stream_synchronize,
        .stream_query = sim_stream_query,
        .event_create = sim_event_create,
        .event_destroy = sim_event_destroy,
        .event_record = sim_event_record,
        .event_query = sim_event_query,
        .event_synchronize = sim_event_synchronize,
        .stream_wait = sim_stream_wait,
        .touch = sim_touch,
        .compute = sim_compute,
        .fill = sim_fill,
        .check = sim_check,
        .mismatches = sim_mismatches,
        .hazards = sim_hazards,
        .gate_create = sim_gate_create,
        .gate_wait = sim_gate_wait,
        .gate_open = sim_gate_open,
        .gate_destroy = sim_gate_destroy,
        .capture_begin = sim_capture_begin,
        .capture_end = sim_capture_end,
        .capture_query = sim_capture_query,
        .graph_launch = sim_graph_launch,
        .graph_destroy = sim_graph_destroy,
        .pool_create = sim_pool_create,
        .pool_destroy = sim_pool_destroy,
        .pool_alloc = sim_pool_alloc,
        .pool_free = sim_pool_free,
        .pool_get_usage = sim_pool_get_usage,
        .pool_reset_peak = sim_pool_reset_peak,
        .pool_trim_to = sim_pool_trim_to,
        .pool_set_threshold = sim_pool_set_threshold,
        .pool_get_threshold = sim_pool_get_threshold,
        .default_pool = no_such_pool,
        .current_pool = no_such_pool,
        .plain_alloc = sim_plain_alloc,
        .plain_free = sim_plain_free,
        .has_gemm = sim_has_gemm,
        .gemm = NULL,
    };
    return &ops;
}
