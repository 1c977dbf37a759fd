/*
 * A CUDA driver made of paper, built as libcuda.so.1: it does nothing, answers
 * as it is told, and remembers how it was called. It shows what the CUDA backend
 * asks of a driver on machines that have none.
 */
#ifndef GP_TESTS_FAKE_DRIVER_H
#define GP_TESTS_FAKE_DRIVER_H

#include "cuda_driver.h"

enum { FAKE_LOG_LENGTH = 128, FAKE_DEVICES = 2 };

struct CUctx_st {
    int device;
};

struct CUstream_st {
    gp_cu_context context;
    int capture_result; /* what cuStreamIsCapturing returns, */
    int capture_status; /* and what it stores */
    unsigned long long id;
    unsigned long long capture_id;
};

typedef struct fake_driver {
    /* What it says. */
    int version;
    int init_result;
    int device_count;
    int pools_supported;
    bool forgets_threshold;  /* reads back 0 */
    bool hides_entry_points; /* cuGetProcAddress finds nothing */
    const char *fail_call;   /* the call that fails, always, */
    int fail_result;         /* with this */

    /* Contexts it knows. */
    struct CUctx_st primary[FAKE_DEVICES];
    unsigned resets; /* how often others took their place, under the same handles */

    /* What it saw. */
    const char *log[FAKE_LOG_LENGTH]; /* names of the calls, oldest first */
    size_t log_length;
    const char *unsafe_call; /* one that invalidates captures and was not framed, or NULL */
    int primary_holds[FAKE_DEVICES];
    size_t live_pools;
    gp_cu_pool_props props; /* of the pool made last */
    uint64_t threshold;
    uint64_t reserved_high; /* as set last */
    size_t trimmed_to;
    unsigned stream_flags;
    unsigned event_flags;
} fake_driver;

/*
 * Exported by the library; a test finds them with dlsym(). set_thread() makes a
 * context (or none) current and sets the capture mode, as a user might have.
 */
typedef fake_driver *fake_driver_get_fn(void);
typedef void fake_driver_set_thread_fn(gp_cu_context context, int capture_mode);
typedef size_t fake_driver_context_depth_fn(void);
typedef int fake_driver_capture_mode_fn(void);

#endif
