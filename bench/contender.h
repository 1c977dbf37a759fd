/*
 * What can be measured: an allocator on a device, behind one table. gp is one
 * contender, the driver's own pool another; a new one is a file with a table,
 * and a line in contender.c.
 *
 * Calls return 0 or the contender's own code; error() turns it into text.
 * open(), enter() and leave() are called by one thread at a time, alloc(), free()
 * and run_pairs() by many, each with a stream of its own or not.
 */
#ifndef GP_BENCH_CONTENDER_H
#define GP_BENCH_CONTENDER_H

#include "device.h"
#include "pairs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum bench_mode {
    BENCH_MODE_ATTACHED, /* gp_stream_attach() on every stream */
    BENCH_MODE_CHECKED
} bench_mode;

/* What a contender holds and has done. The tiers are 0 where there are none. */
typedef struct bench_usage {
    uint64_t reserved_bytes_high; /* Held from the device, peak since reset_peak(). */
    uint64_t pool_bytes_high;     /* Of it, held by gp itself; the native pool: the same. */
    uint64_t l1_hits, l2_hits, shared_hits;
    uint64_t queries, records, waits;     /* Of streams and events. */
    uint64_t native_allocs, native_frees; /* 0 if passes_through: every call is one. */
} bench_usage;

/* Implementations put this first in a struct of their own. */
typedef struct bench_contender {
    const struct bench_contender_ops *ops;
    const device_ops *device;
} bench_contender;

typedef struct bench_contender_ops {
    const char *name;    /* as in --policy */
    bool has_modes;      /* attached and checked differ */
    bool passes_through; /* every call is a native call */

    int (*open)(bench_contender **contender, const device_ops *device, bench_mode mode);
    /* Every block is freed and every stream has left. */
    void (*close)(bench_contender *contender);

    /* A stream is about to be used, or will not be used again. */
    int (*enter)(bench_contender *contender, cudaStream_t stream);
    int (*leave)(bench_contender *contender, cudaStream_t stream);

    int (*alloc)(bench_contender *contender, void **ptr, size_t bytes, cudaStream_t stream);
    int (*free)(bench_contender *contender, void *ptr, cudaStream_t stream);

    /* bench_pairs_run() around the calls above, made here so that they are direct
     * calls, as a user's are. */
    int (*run_pairs)(bench_contender *contender, bench_pairs *pairs, size_t count,
                     cudaStream_t stream);

    int (*get_usage)(bench_contender *contender, bench_usage *usage);
    int (*reset_peak)(bench_contender *contender);

    /* Text for a code that a call of this thread has just returned. */
    const char *(*error)(int code);
} bench_contender_ops;

const bench_contender_ops *bench_contender_cache_first(void);
const bench_contender_ops *bench_contender_native(void);

/* malloc and free of the host, which find() does not know. */
const bench_contender_ops *bench_contender_malloc(void);

/* The contender of a name, or NULL. */
const bench_contender_ops *bench_contender_find(const char *name);

/* All names, for help and messages: "cache-first, native". */
const char *bench_contender_names(void);

const char *bench_mode_name(bench_mode mode);

#endif
