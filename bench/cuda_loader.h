/*
 * The driver's entry points as the harness needs them. Its own, apart from the
 * library's: what drives and checks gp must not share gp's mistakes.
 */
#ifndef GP_BENCH_CUDA_LOADER_H
#define GP_BENCH_CUDA_LOADER_H

#include "device.h"

typedef struct CUctx_st *cuda_context;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;
typedef struct CUevent_st *cuda_event;
typedef struct CUgraph_st *cuda_graph;
typedef struct CUgraphExec_st *cuda_graph_exec;
typedef unsigned long long cuda_address;

/* CUmemPoolProps, all fields that the harness leaves at 0 in one. */
typedef struct cuda_pool_props {
    int allocation_type;
    int handle_types;
    int location_type;
    int location_id;
    unsigned char rest[72];
} cuda_pool_props;

/* ENTRY(field, exported symbol, parameters). The ABI-changing ones carry the suffix
 * of the version wanted. */
#define CUDA_ENTRIES(ENTRY)                                                                        \
    ENTRY(init, cuInit, (unsigned flags))                                                          \
    ENTRY(error_name, cuGetErrorName, (int result, const char **name))                             \
    ENTRY(device_get, cuDeviceGet, (int *device, int ordinal))                                     \
    ENTRY(device_name, cuDeviceGetName, (char *name, int capacity, int device))                    \
    ENTRY(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device))         \
    ENTRY(device_default_pool, cuDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device))      \
    ENTRY(device_current_pool, cuDeviceGetMemPool, (cudaMemPool_t * pool, int device))             \
    ENTRY(primary_retain, cuDevicePrimaryCtxRetain, (cuda_context * context, int device))          \
    ENTRY(primary_release, cuDevicePrimaryCtxRelease_v2, (int device))                             \
    ENTRY(context_set, cuCtxSetCurrent, (cuda_context context))                                    \
    ENTRY(context_synchronize, cuCtxSynchronize, (void))                                           \
    ENTRY(module_load, cuModuleLoadData, (cuda_module * module, const void *image))                \
    ENTRY(module_unload, cuModuleUnload, (cuda_module module))                                     \
    ENTRY(module_function, cuModuleGetFunction,                                                    \
          (cuda_function * function, cuda_module module, const char *name))                        \
    ENTRY(launch, cuLaunchKernel,                                                                  \
          (cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,            \
           cudaStream_t stream, void **parameters, void **extra))                                  \
    ENTRY(mem_info, cuMemGetInfo_v2, (size_t * free_bytes, size_t * total_bytes))                  \
    ENTRY(mem_alloc, cuMemAlloc_v2, (cuda_address * address, size_t bytes))                        \
    ENTRY(mem_free, cuMemFree_v2, (cuda_address address))                                          \
    ENTRY(host_alloc, cuMemHostAlloc, (void **ptr, size_t bytes, unsigned flags))                  \
    ENTRY(host_free, cuMemFreeHost, (void *ptr))                                                   \
    ENTRY(stream_create, cuStreamCreate, (cudaStream_t * stream, unsigned flags))                  \
    ENTRY(stream_destroy, cuStreamDestroy_v2, (cudaStream_t stream))                               \
    ENTRY(stream_synchronize, cuStreamSynchronize, (cudaStream_t stream))                          \
    ENTRY(stream_query, cuStreamQuery, (cudaStream_t stream))                                      \
    ENTRY(stream_wait, cuStreamWaitEvent, (cudaStream_t stream, cuda_event event, unsigned flags)) \
    ENTRY(stream_wait_value, cuStreamWaitValue32_v2,                                               \
          (cudaStream_t stream, cuda_address address, uint32_t value, unsigned flags))             \
    ENTRY(event_create, cuEventCreate, (cuda_event * event, unsigned flags))                       \
    ENTRY(event_destroy, cuEventDestroy_v2, (cuda_event event))                                    \
    ENTRY(event_record, cuEventRecord, (cuda_event event, cudaStream_t stream))                    \
    ENTRY(event_query, cuEventQuery, (cuda_event event))                                           \
    ENTRY(event_synchronize, cuEventSynchronize, (cuda_event event))                               \
    ENTRY(capture_begin, cuStreamBeginCapture_v2, (cudaStream_t stream, int mode))                 \
    ENTRY(capture_end, cuStreamEndCapture, (cudaStream_t stream, cuda_graph * graph))              \
    ENTRY(capture_query, cuStreamIsCapturing, (cudaStream_t stream, int *capture_status))          \
    ENTRY(graph_instantiate, cuGraphInstantiateWithFlags,                                          \
          (cuda_graph_exec * exec, cuda_graph graph, unsigned long long flags))                    \
    ENTRY(graph_launch, cuGraphLaunch, (cuda_graph_exec exec, cudaStream_t stream))                \
    ENTRY(graph_exec_destroy, cuGraphExecDestroy, (cuda_graph_exec exec))                          \
    ENTRY(graph_destroy, cuGraphDestroy, (cuda_graph graph))                                       \
    ENTRY(pool_create, cuMemPoolCreate, (cudaMemPool_t * pool, const cuda_pool_props *props))      \
    ENTRY(pool_destroy, cuMemPoolDestroy, (cudaMemPool_t pool))                                    \
    ENTRY(pool_alloc, cuMemAllocFromPoolAsync,                                                     \
          (cuda_address * address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream))         \
    ENTRY(pool_free, cuMemFreeAsync, (cuda_address address, cudaStream_t stream))                  \
    ENTRY(pool_trim, cuMemPoolTrimTo, (cudaMemPool_t pool, size_t min_bytes_to_keep))              \
    ENTRY(pool_set, cuMemPoolSetAttribute, (cudaMemPool_t pool, int attribute, void *value))       \
    ENTRY(pool_get, cuMemPoolGetAttribute, (cudaMemPool_t pool, int attribute, void *value))

typedef struct cuda_driver {
#define CUDA_FIELD(field, symbol, parameters) int(*field) parameters;
    CUDA_ENTRIES(CUDA_FIELD)
#undef CUDA_FIELD
} cuda_driver;

/* Filled once cuda_load() has returned DEVICE_OK. */
extern cuda_driver cuda;

/* Load and initialise the driver, once a process. */
device_result cuda_load(void);

/* Pass a CUresult on; a failure also sets device_error(). */
device_result cuda_result(int result, const char *call);

#endif
