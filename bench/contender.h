/*
 * What can be measured: an allocator on a device, behind one table. gp with each
 * of its policies is one contender, the driver's own pool another. The peers are
 * files of bench/peers/; those that need C++ are shared objects that contender.c
 * loads, so that gp-bench itself needs nothing of theirs.
 *
 * Calls return 0 or the contender's own code; error() turns it into text.
 * open(), enter() and leave() are called by one thread at a time, alloc(), free()
 * and run_pairs() by many, each with a stream of its own or not.
 *
 * Also included from C++, by the peers.
 */
#ifndef GP_BENCH_CONTENDER_H
#define GP_BENCH_CONTENDER_H

#include "device.h"
#include "pairs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_mode {
    BENCH_MODE_ATTACHED, /* gp_stream_attach() on every stream */
    BENCH_MODE_CHECKED
} bench_mode;

/* What a contender holds and has done. The tiers are 0 where there are none. */
typedef struct bench_usage {
    uint64_t reserved_bytes;      /* Held from the device now. */
    uint64_t reserved_bytes_high; /* Held from the device, peak since reset_peak(). */
    uint64_t pool_bytes_high;     /* Of it, held by gp itself; the native pool: the same. */
    uint64_t l1_hits, l2_hits, shared_hits;
    uint64_t refills, flushes;            /* Between the tiers. */
    uint64_t queries, records, waits;     /* Of streams and events. */
    uint64_t native_allocs, native_frees; /* 0 if passes_through: every call is one. */
    uint64_t native_trims;
} bench_usage;

/* What of a contender's memory is free, as far as it knows. */
typedef struct bench_holes {
    uint64_t free_bytes;         /* Reserved and not live. */
    uint64_t largest_free_bytes; /* The longest of it in one piece. */
} bench_holes;

/* Implementations put this first in a struct of their own. */
typedef struct bench_contender {
    const struct bench_contender_ops *ops;
    const device_ops *device;
} bench_contender;

typedef struct bench_contender_ops {
    size_t struct_bytes; /* sizeof(bench_contender_ops): a peer of another build is refused */
    const char *name;    /* as in --policy */
    const void *context; /* the implementation's own */
    bool has_modes;      /* attached and checked differ */
    bool passes_through; /* every call is a native call */
    bool keeps_nothing;  /* holds just what is live, by its nature */
    bool needs_gpu;      /* does not run on the simulated device */
    bool is_slow;        /* calls of tens of microseconds: measured in fewer rounds */

    int (*open)(const struct bench_contender_ops *ops, bench_contender **contender,
                const device_ops *device, bench_mode mode);
    /* Every block is freed and every stream has left. */
    void (*close)(bench_contender *contender);

    /* Optional. open() of one that holds no more than so many bytes; is_refusal() tells whether a
     * code of its alloc() stands for want of memory. */
    int (*open_limited)(const struct bench_contender_ops *ops, bench_contender **contender,
                        const device_ops *device, bench_mode mode, size_t max_bytes);
    bool (*is_refusal)(int code);

    /* Optional. Get ready for a run that was recorded in a file, before any stream enters. */
    int (*warm)(bench_contender *contender, const char *path);

    /* A stream is about to be used, or will not be used again. */
    int (*enter)(bench_contender *contender, cudaStream_t stream);
    int (*leave)(bench_contender *contender, cudaStream_t stream);

    /* `bytes` of free() are those of the allocation, which its caller knows. */
    int (*alloc)(bench_contender *contender, void **ptr, size_t bytes, cudaStream_t stream);
    int (*free)(bench_contender *contender, void *ptr, size_t bytes, cudaStream_t stream);

    /* bench_pairs_run() around the calls above, made here so that they are direct
     * calls, as a user's are. */
    int (*run_pairs)(bench_contender *contender, bench_pairs *pairs, size_t count,
                     cudaStream_t stream);

    int (*get_usage)(bench_contender *contender, bench_usage *usage);
    int (*reset_peak)(bench_contender *contender);

    /* Optional. Called after an allocation, outside of what is timed: to follow a
     * peak that the allocator does not keep itself. */
    void (*observe)(bench_contender *contender);

    /* Optional. No other call is in progress. May be slow. */
    int (*get_holes)(bench_contender *contender, bench_holes *holes);

    /* Text for a code that a call of this thread has just returned. */
    const char *(*error)(int code);
} bench_contender_ops;

/* gp with a policy, called by its name with '-' for '_'. The table lives as long as
 * the process; NULL if there are too many. From one thread at a time. */
const bench_contender_ops *bench_contender_gp(const gp_policy_ops *policy);

/* gp with its default policy, every call recorded (gp/record.h). */
const bench_contender_ops *bench_contender_recorded(void);

/* bench/peers/ */
const bench_contender_ops *bench_peer_native(void);
const bench_contender_ops *bench_peer_cuda_malloc(void);

/* malloc and free of the host, which find() does not know. */
const bench_contender_ops *bench_contender_malloc(void);

const char *bench_mode_name(bench_mode mode);

#ifdef __cplusplus
}
#endif

#endif
