/**
 * @file
 * What every gp header needs: export and attribute macros, and the CUDA types
 * that appear in gp's signatures.
 *
 * The CUDA types are forward-declared exactly as the CUDA Toolkit declares
 * them, so a translation unit may include both, in either order, and a machine
 * without the Toolkit can still compile against gp.
 */
#ifndef GP_BASE_H
#define GP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GP_API __attribute__((visibility("default")))
#define GP_NODISCARD __attribute__((warn_unused_result))
#define GP_PRINTF(format_index, first_index)                                                       \
    __attribute__((format(printf, format_index, first_index)))
#else
#define GP_API
#define GP_NODISCARD
#define GP_PRINTF(format_index, first_index)
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
struct CUmemPoolHandle_st;

/** A CUDA stream; on the simulated device, a stream of gp/sim.h. */
typedef struct CUstream_st *cudaStream_t;

/** A CUDA memory pool; on the simulated device, a pool of gp/sim.h. */
typedef struct CUmemPoolHandle_st *cudaMemPool_t;

/** A pool of device memory. Opaque. @see gp/pool.h */
typedef struct gp_pool gp_pool;

#ifdef __cplusplus
}
#endif

#endif
