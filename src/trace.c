#include "trace.h"

#include "asymmetric.h"
#include "clock.h"
#include "lock.h"
#include "pool.h"
#include "process.h"
#include "stats.h"
#include "thread.h"

/* ---- in and out of sinks ---------------------------------------------------------- */

/* NULL: nobody is to hear this, since the process ends or the host's memory has. */
static gp_thread *enter(void)
{
    if (!gp_process_is_running())
        return NULL;
    gp_thread *self = gp_thread_get();
    if (self == NULL)
        return NULL;
    const uint32_t count = atomic_load_explicit(&self->tracing, memory_order_relaxed);
    GP_ASSERT(count % 2 == 0); /* Else a sink has called gp. */
    gp_lock_order_forbid();
    gp_asymmetric_store(&self->tracing, count + 1);
    return self;
}

static void leave(gp_thread *self)
{
    const uint32_t count = atomic_load_explicit(&self->tracing, memory_order_relaxed);
    atomic_store_explicit(&self->tracing, count + 1, memory_order_release);
    gp_lock_order_allow();
}

/* Inside: the sink at a place, if there is one that hears so much. */
static gp_trace_listener *listener_at(gp_trace *trace, int place, gp_trace_level level)
{
    gp_trace_listener *listener =
        atomic_load_explicit(&trace->listeners[place], memory_order_acquire);
    if (listener == NULL || atomic_load_explicit(&listener->level, memory_order_relaxed) < level)
        return NULL;
    return listener;
}

typedef void (*tell_fn)(const gp_trace_listener *listener, const void *what);

static void tell_all(gp_trace *trace, gp_trace_level level, tell_fn tell, const void *what)
{
    for (int i = 0; i < GP_TRACE_MOST_SINKS; i++) {
        const gp_trace_listener *listener = listener_at(trace, i, level);
        if (listener != NULL)
            tell(listener, what);
    }
}

static void sample_if_due(gp_trace *trace);

/* ---- ranges and marks --------------------------------------------------------------- */

static gp_trace_event make_event(gp_trace_kind kind, uint64_t value, const gp_stream_cache *cache,
                                 cudaStream_t stream, const gp_thread *self)
{
    return (gp_trace_event){
        .struct_bytes = sizeof(gp_trace_event),
        .kind = kind,
        .value = value,
        .stream = stream,
        .stream_id = cache == NULL ? 0 : cache->stream_id,
        .thread = self->number,
        .stream_name = cache == NULL ? NULL : gp_stream_cache_name(cache),
    };
}

void gp_trace_begin_heard(gp_trace_scope *scope, gp_trace *trace, gp_trace_kind kind,
                          uint64_t value, const gp_stream_cache *cache, cudaStream_t stream)
{
    gp_thread *self = enter();
    if (self == NULL)
        return;
    scope->trace = trace;
    scope->event = make_event(kind, value, cache, stream, self);
    for (int i = 0; i < GP_TRACE_MOST_SINKS; i++) {
        const gp_trace_listener *listener = listener_at(trace, i, gp_trace_level_of(kind));
        scope->heard_by[i] = listener == NULL ? 0 : listener->serial;
        if (listener != NULL)
            listener->sink.begin(listener->state, &scope->event);
    }
    leave(self);
}

void gp_trace_end_heard(gp_trace_scope *scope)
{
    gp_trace *trace = scope->trace;
    gp_thread *self = enter();
    if (self == NULL)
        return;
    for (int i = 0; i < GP_TRACE_MOST_SINKS; i++) {
        const gp_trace_listener *listener = listener_at(trace, i, GP_TRACE_OFF);
        if (listener != NULL && listener->serial == scope->heard_by[i])
            listener->sink.end(listener->state, &scope->event);
    }
    leave(self);
    sample_if_due(trace);
}

static void tell_mark(const gp_trace_listener *listener, const void *what)
{
    listener->sink.mark(listener->state, what);
}

void gp_trace_mark_heard(gp_trace *trace, gp_trace_kind kind, uint64_t value,
                         const gp_stream_cache *cache, cudaStream_t stream)
{
    gp_thread *self = enter();
    if (self == NULL)
        return;
    const gp_trace_event mark = make_event(kind, value, cache, stream, self);
    tell_all(trace, GP_TRACE_SLOW, tell_mark, &mark);
    leave(self);
}

/* ---- blocks ------------------------------------------------------------------------- */

static void tell_alloc(const gp_trace_listener *listener, const void *what)
{
    listener->sink.alloc(listener->state, what);
}

static void tell_free(const gp_trace_listener *listener, const void *what)
{
    listener->sink.free(listener->state, what);
}

static void tell_use(const gp_trace_listener *listener, const void *what)
{
    listener->sink.use(listener->state, what);
}

static void tell_block(gp_trace *trace, tell_fn tell, const gp_trace_block *block)
{
    if (!gp_trace_hears(trace, GP_TRACE_ALL))
        return;
    gp_thread *self = enter();
    if (self == NULL)
        return;
    gp_trace_block complete = *block;
    complete.struct_bytes = sizeof(complete);
    complete.thread = self->number;
    tell_all(trace, GP_TRACE_ALL, tell, &complete);
    leave(self);
}

void gp_trace_alloc(gp_trace *trace, const gp_trace_block *block)
{
    tell_block(trace, tell_alloc, block);
    sample_if_due(trace);
}

void gp_trace_free(gp_trace *trace, const gp_trace_block *block)
{
    tell_block(trace, tell_free, block);
}

void gp_trace_use(gp_trace *trace, const gp_trace_block *block)
{
    tell_block(trace, tell_use, block);
}

/* ---- segments ------------------------------------------------------------------------ */

static void tell_take(const gp_trace_listener *listener, const void *what)
{
    listener->sink.take_segment(listener->state, what);
}

static void tell_give(const gp_trace_listener *listener, const void *what)
{
    listener->sink.give_segment(listener->state, what);
}

static void tell_segment(gp_trace *trace, tell_fn tell, const void *address, size_t bytes)
{
    if (!gp_trace_hears(trace, GP_TRACE_ALL))
        return;
    const gp_trace_segment segment = {
        .struct_bytes = sizeof(segment), .address = address, .bytes = bytes};
    gp_thread *self = enter();
    if (self == NULL)
        return;
    tell_all(trace, GP_TRACE_ALL, tell, &segment);
    leave(self);
}

void gp_trace_take_segment(gp_trace *trace, const void *address, size_t bytes)
{
    tell_segment(trace, tell_take, address, bytes);
}

void gp_trace_give_segment(gp_trace *trace, const void *address, size_t bytes)
{
    tell_segment(trace, tell_give, address, bytes);
}

/* ---- samples ------------------------------------------------------------------------ */

static void tell_sample(const gp_trace_listener *listener, const void *what)
{
    listener->sink.sample(listener->state, what);
}

/* One of the threads that find it due takes it. */
static bool take_sample_turn(gp_trace *trace)
{
    const uint64_t now = gp_clock_ns();
    const uint64_t interval = UINT64_C(1000) * trace->pool->config.trace_sample_us;
    uint64_t due = atomic_load_explicit(&trace->sample_due, memory_order_relaxed);
    return now >= due &&
           atomic_compare_exchange_strong_explicit(&trace->sample_due, &due, now + interval,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* Takes the registry's lock, so not from within a thread cache. */
static void sample_if_due(gp_trace *trace)
{
    if (!gp_trace_hears(trace, GP_TRACE_SLOW) || !take_sample_turn(trace))
        return;
    gp_trace_sample sample;
    gp_stats_sample(trace->pool, &sample);
    gp_thread *self = enter();
    if (self == NULL)
        return;
    tell_all(trace, GP_TRACE_SLOW, tell_sample, &sample);
    leave(self);
}

/* ---- names -------------------------------------------------------------------------- */

static void tell_name(const gp_trace_listener *listener, const void *what)
{
    listener->sink.name_stream(listener->state, what);
}

void gp_trace_name(gp_trace *trace, cudaStream_t stream, uint64_t stream_id, const char *name)
{
    const gp_trace_stream named = {
        .struct_bytes = sizeof(named),
        .stream = stream,
        .stream_id = stream_id,
        .name = name,
    };
    gp_thread *self = enter();
    if (self == NULL)
        return;
    tell_all(trace, GP_TRACE_OFF, tell_name, &named);
    leave(self);
}
