/*
 * What a pool emits to its trace sinks (gp/trace.h).
 *
 * Without a sink each place that emits costs a load and a branch, and none is on the hot path:
 * that has the branch on gp_thread_cache.heard, which leads to listen.h.
 *
 * A thread announces that it is inside a sink by making its own count odd (gp_thread.tracing),
 * a plain store. Who takes a sink away empties its place first, has the kernel order memory in
 * every thread (asymmetric.h), and waits for each count that is odd to move. So either the
 * thread sees the place empty, or it is waited for.
 */
#ifndef GP_SRC_TRACE_H
#define GP_SRC_TRACE_H

#include <stdatomic.h>

#include "gp/trace.h"
#include "compiler.h"

struct gp_stream_cache;

/* An attached sink. */
typedef struct gp_trace_listener {
    gp_trace_sink sink; /* Complete: no slot is NULL. */
    void *state;
    const gp_trace_sink *given; /* With the next one, its name. */
    void *user;
    uint64_t serial; /* Of all that were ever attached, in the process; from 1. */
    _Atomic(gp_trace_level) level;
} gp_trace_listener;

typedef struct gp_trace {
    gp_pool *pool;
    uint32_t number;               /* Of the pool, in the process. */
    _Atomic(gp_trace_level) level; /* Of the sink that hears most. */
    _Atomic(uint64_t) sample_due;  /* When the next sample is, by gp_clock_ns(). */

    /* Changed under the registry's lock. */
    _Atomic(gp_trace_listener *) listeners[GP_TRACE_MOST_SINKS];
} gp_trace;

void gp_trace_init(gp_trace *trace, gp_pool *pool);

/* The name of gp's own streams. */
#define GP_TRACE_OWN_STREAM "gp: native pool"

/* Attach the NVTX sinks that the pool's config asks for, if a tool hears them. */
void gp_trace_open_nvtx(gp_trace *trace);

/* GP_ERR_INVALID_ARGUMENT, with a text, for what is no level. */
gp_status gp_trace_check_level(gp_trace_level level);

/* gp_trace_attach() to a pool that need not be in the registry yet. */
gp_status gp_trace_add(gp_trace *trace, const gp_trace_sink *sink, void *user,
                       gp_trace_level level);

/* Detach all sinks. Nobody is in a call on the pool. */
void gp_trace_destroy(gp_trace *trace);

/* ---- emitting ------------------------------------------------------------------- */

/* A range that has begun: who heard it begin shall hear it end. */
typedef struct gp_trace_scope {
    gp_trace *trace; /* NULL: nobody did. */
    gp_trace_event event;
    uint64_t heard_by[GP_TRACE_MOST_SINKS]; /* Serials, or 0. */
} gp_trace_scope;

/* Out of line: somebody hears it. `cache`, if not NULL, is the stream's. */
void gp_trace_begin_heard(gp_trace_scope *scope, gp_trace *trace, gp_trace_kind kind,
                          uint64_t value, const struct gp_stream_cache *cache, cudaStream_t stream);
void gp_trace_end_heard(gp_trace_scope *scope);
void gp_trace_mark_heard(gp_trace *trace, gp_trace_kind kind, uint64_t value,
                         const struct gp_stream_cache *cache, cudaStream_t stream);

/* Blocks, at GP_TRACE_ALL; what the library knows by itself is filled in. */
void gp_trace_alloc(gp_trace *trace, const gp_trace_block *block);
void gp_trace_free(gp_trace *trace, const gp_trace_block *block);
void gp_trace_use(gp_trace *trace, const gp_trace_block *block);

/* Memory of the native pool, at GP_TRACE_ALL. No lock of gp's is held. */
void gp_trace_take_segment(gp_trace *trace, const void *address, size_t bytes);
void gp_trace_give_segment(gp_trace *trace, const void *address, size_t bytes);

/* A stream got a name. No lock of gp's is held. */
void gp_trace_name(gp_trace *trace, cudaStream_t stream, uint64_t stream_id, const char *name);

static inline bool gp_trace_hears(const gp_trace *trace, gp_trace_level level)
{
    return atomic_load_explicit(&trace->level, memory_order_relaxed) >= level;
}

static inline gp_trace_level gp_trace_level_of(gp_trace_kind kind)
{
    return kind <= GP_TRACE_FREE ? GP_TRACE_ALL : GP_TRACE_SLOW;
}

/* A range of a stream. No lock of gp's is held, here and at its end. */
static inline void gp_trace_begin_on(gp_trace_scope *scope, gp_trace *trace, gp_trace_kind kind,
                                     uint64_t value, const struct gp_stream_cache *cache,
                                     cudaStream_t stream)
{
    scope->trace = NULL;
    if (GP_UNLIKELY(gp_trace_hears(trace, gp_trace_level_of(kind))))
        gp_trace_begin_heard(scope, trace, kind, value, cache, stream);
}

/* A range that is about no stream. */
static inline void gp_trace_begin(gp_trace_scope *scope, gp_trace *trace, gp_trace_kind kind,
                                  uint64_t value)
{
    gp_trace_begin_on(scope, trace, kind, value, NULL, NULL);
}

static inline void gp_trace_end(gp_trace_scope *scope)
{
    if (GP_UNLIKELY(scope->trace != NULL))
        gp_trace_end_heard(scope);
}

/* A mark; `cache` may be NULL. No lock of gp's is held. */
static inline void gp_trace_mark(gp_trace *trace, gp_trace_kind kind, uint64_t value,
                                 const struct gp_stream_cache *cache, cudaStream_t stream)
{
    if (GP_UNLIKELY(gp_trace_hears(trace, GP_TRACE_SLOW)))
        gp_trace_mark_heard(trace, kind, value, cache, stream);
}

#endif
