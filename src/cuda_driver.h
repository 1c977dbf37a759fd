/*
 * The CUDA driver's entry points, taken at run time, so that one binary runs
 * with and without a GPU and no link to libcuda is needed.
 *
 * The few types of the driver's interface that gp needs are declared here and
 * used always, with and without the CUDA Toolkit: the interface is a binary
 * one and does not change. Where <cuda.h> is there, cuda_driver.c checks these
 * declarations against it.
 */
#ifndef GP_SRC_CUDA_DRIVER_H
#define GP_SRC_CUDA_DRIVER_H

#include "gp/base.h"
#include "gp/status.h"

typedef struct CUctx_st *gp_cu_context;
typedef struct CUevent_st *gp_cu_event;
typedef unsigned long long gp_cu_address;

/* Values of CUresult that gp acts upon. */
enum {
    GP_CU_SUCCESS = 0,
    GP_CU_INVALID_CONTEXT = 201,
    GP_CU_NOT_READY = 600,
    GP_CU_STREAM_CAPTURE_IMPLICIT = 906
};

enum { GP_CU_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115 };                   /* CUdevice_attribute */
enum { GP_CU_STREAM_NON_BLOCKING = 1 };                                  /* CUstream_flags */
enum { GP_CU_EVENT_DISABLE_TIMING = 2 };                                 /* CUevent_flags */
enum { GP_CU_CAPTURE_STATUS_NONE = 0, GP_CU_CAPTURE_STATUS_ACTIVE = 1 }; /* CUstreamCaptureStatus */
enum { GP_CU_CAPTURE_MODE_RELAXED = 2 };                                 /* CUstreamCaptureMode */
enum { GP_CU_ALLOCATION_PINNED = 1 };                                    /* CUmemAllocationType */
enum { GP_CU_HANDLE_NONE = 0 };     /* CUmemAllocationHandleType */
enum { GP_CU_LOCATION_DEVICE = 1 }; /* CUmemLocationType */

/* CUmemPool_attribute; the values are uint64_t. */
enum {
    GP_CU_POOL_RELEASE_THRESHOLD = 4,
    GP_CU_POOL_RESERVED = 5,
    GP_CU_POOL_RESERVED_HIGH = 6,
    GP_CU_POOL_USED = 7
};

/* CUmemPoolProps. Toolkits before 12.2 know max_bytes as reserved, to be 0. */
typedef struct gp_cu_pool_props {
    int allocation_type;
    int handle_types;
    int location_type;
    int location_id;
    void *security_attributes;
    size_t max_bytes;
    unsigned char reserved[56];
} gp_cu_pool_props;

/*
 * ENTRY(field, symbol, suffix, version, parameters): `symbol` with the meaning
 * it has had since CUDA `version` (1000 * major + 10 * minor), when the driver
 * began to export it as symbol and suffix. All are required.
 *
 * cuStreamGetId is the youngest and makes CUDA 12.0 the oldest driver gp runs
 * on: without it a stream destroyed and made again cannot be told from itself.
 */
#define GP_CUDA_ENTRIES(ENTRY)                                                                     \
    ENTRY(init, "cuInit", "", 2000, (unsigned flags))                                              \
    ENTRY(device_get_count, "cuDeviceGetCount", "", 2000, (int *count))                            \
    ENTRY(device_get, "cuDeviceGet", "", 2000, (int *device, int ordinal))                         \
    ENTRY(device_get_name, "cuDeviceGetName", "", 2000, (char *name, int capacity, int device))    \
    ENTRY(device_total_mem, "cuDeviceTotalMem", "_v2", 3020, (size_t * bytes, int device))         \
    ENTRY(device_get_attribute, "cuDeviceGetAttribute", "", 2000,                                  \
          (int *value, int attribute, int device))                                                 \
    ENTRY(primary_retain, "cuDevicePrimaryCtxRetain", "", 7000,                                    \
          (gp_cu_context * context, int device))                                                   \
    ENTRY(primary_release, "cuDevicePrimaryCtxRelease", "_v2", 11000, (int device))                \
    ENTRY(primary_get_state, "cuDevicePrimaryCtxGetState", "", 7000,                               \
          (int device, unsigned *flags, int *active))                                              \
    ENTRY(context_get_current, "cuCtxGetCurrent", "", 4000, (gp_cu_context * context))             \
    ENTRY(context_get_device, "cuCtxGetDevice", "", 2000, (int *device))                           \
    ENTRY(context_get_id, "cuCtxGetId", "", 12000,                                                 \
          (gp_cu_context context, unsigned long long *id))                                         \
    ENTRY(context_push, "cuCtxPushCurrent", "_v2", 4000, (gp_cu_context context))                  \
    ENTRY(context_pop, "cuCtxPopCurrent", "_v2", 4000, (gp_cu_context * context))                  \
    ENTRY(context_synchronize, "cuCtxSynchronize", "", 2000, (void))                               \
    ENTRY(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", "", 10010, (int *mode))      \
    ENTRY(stream_create, "cuStreamCreate", "", 2000, (cudaStream_t * stream, unsigned flags))      \
    ENTRY(stream_destroy, "cuStreamDestroy", "_v2", 4000, (cudaStream_t stream))                   \
    ENTRY(stream_get_context, "cuStreamGetCtx", "", 9020,                                          \
          (cudaStream_t stream, gp_cu_context * context))                                          \
    ENTRY(stream_is_capturing, "cuStreamIsCapturing", "", 10000,                                   \
          (cudaStream_t stream, int *capture_status))                                              \
    ENTRY(stream_get_capture_info, "cuStreamGetCaptureInfo", "", 10010,                            \
          (cudaStream_t stream, int *capture_status, unsigned long long *id))                      \
    ENTRY(stream_get_id, "cuStreamGetId", "", 12000,                                               \
          (cudaStream_t stream, unsigned long long *id))                                           \
    ENTRY(stream_wait_event, "cuStreamWaitEvent", "", 3020,                                        \
          (cudaStream_t stream, gp_cu_event event, unsigned flags))                                \
    ENTRY(event_create, "cuEventCreate", "", 2000, (gp_cu_event * event, unsigned flags))          \
    ENTRY(event_destroy, "cuEventDestroy", "_v2", 4000, (gp_cu_event event))                       \
    ENTRY(event_record, "cuEventRecord", "", 2000, (gp_cu_event event, cudaStream_t stream))       \
    ENTRY(event_query, "cuEventQuery", "", 2000, (gp_cu_event event))                              \
    ENTRY(stream_query, "cuStreamQuery", "", 2000, (cudaStream_t stream))                          \
    ENTRY(stream_synchronize, "cuStreamSynchronize", "", 2000, (cudaStream_t stream))              \
    ENTRY(mem_get_info, "cuMemGetInfo", "_v2", 3020, (size_t * free_bytes, size_t * total_bytes))  \
    ENTRY(alloc, "cuMemAlloc", "_v2", 3020, (gp_cu_address * address, size_t bytes))               \
    ENTRY(free, "cuMemFree", "_v2", 3020, (gp_cu_address address))                                 \
    ENTRY(pool_create, "cuMemPoolCreate", "", 11020,                                               \
          (cudaMemPool_t * pool, const gp_cu_pool_props *props))                                   \
    ENTRY(pool_destroy, "cuMemPoolDestroy", "", 11020, (cudaMemPool_t pool))                       \
    ENTRY(pool_trim_to, "cuMemPoolTrimTo", "", 11020,                                              \
          (cudaMemPool_t pool, size_t min_bytes_to_keep))                                          \
    ENTRY(pool_set_attribute, "cuMemPoolSetAttribute", "", 11020,                                  \
          (cudaMemPool_t pool, int attribute, void *value))                                        \
    ENTRY(pool_get_attribute, "cuMemPoolGetAttribute", "", 11020,                                  \
          (cudaMemPool_t pool, int attribute, void *value))                                        \
    ENTRY(alloc_from_pool, "cuMemAllocFromPoolAsync", "", 11020,                                   \
          (gp_cu_address * address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream))        \
    ENTRY(free_async, "cuMemFreeAsync", "", 11020, (gp_cu_address address, cudaStream_t stream))   \
    ENTRY(memset_async, "cuMemsetD8Async", "", 3020,                                               \
          (gp_cu_address address, unsigned char value, size_t bytes, cudaStream_t stream))         \
    ENTRY(copy_to_host_async, "cuMemcpyDtoHAsync", "_v2", 3020,                                    \
          (void *host, gp_cu_address address, size_t bytes, cudaStream_t stream))                  \
    ENTRY(host_alloc, "cuMemHostAlloc", "", 2020, (void **host, size_t bytes, unsigned flags))     \
    ENTRY(host_free, "cuMemFreeHost", "", 2000, (void *host))

/* The entry points; each returns a CUresult. */
typedef struct gp_cuda_driver {
#define GP_CUDA_FIELD(field, symbol, suffix, version, parameters) int(*field) parameters;
    GP_CUDA_ENTRIES(GP_CUDA_FIELD)
#undef GP_CUDA_FIELD
} gp_cuda_driver;

/* Filled by the first gp_cuda_driver_load() that succeeds, read-only afterwards. */
extern gp_cuda_driver gp_cuda;

/* CUDA version of the driver, for example 13000; 0 before it is loaded. */
int gp_cuda_driver_version(void);

/*
 * Load the driver, once a process, and find out whether it has a device.
 * GP_ERR_UNSUPPORTED, with the reason as text, if it cannot serve gp.
 */
gp_status gp_cuda_driver_load(void);

#endif
