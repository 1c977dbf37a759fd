/* The coming and going of trace sinks, and the public calls for it. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "asymmetric.h"
#include "error.h"
#include "listen.h"
#include "pool.h"
#include "registry.h"
#include "thread.h"

static _Atomic(uint64_t) last_serial;
static _Atomic(uint32_t) last_pool;

/* ---- a complete table ------------------------------------------------------------- */

static gp_status open_none(void **state, const gp_trace_pool *pool, void *user)
{
    (void)pool;
    *state = user;
    return GP_OK;
}

static void close_none(void *state)
{
    (void)state;
}

static void hear_no_event(void *state, const gp_trace_event *event)
{
    (void)state;
    (void)event;
}

static void hear_no_block(void *state, const gp_trace_block *block)
{
    (void)state;
    (void)block;
}

static void hear_no_sample(void *state, const gp_trace_sample *sample)
{
    (void)state;
    (void)sample;
}

static void hear_no_name(void *state, const gp_trace_stream *stream)
{
    (void)state;
    (void)stream;
}

static void hear_no_segment(void *state, const gp_trace_segment *segment)
{
    (void)state;
    (void)segment;
}

static void fill_slots(gp_trace_sink *sink)
{
    if (sink->open == NULL)
        sink->open = open_none;
    if (sink->close == NULL)
        sink->close = close_none;
    if (sink->begin == NULL)
        sink->begin = hear_no_event;
    if (sink->end == NULL)
        sink->end = hear_no_event;
    if (sink->mark == NULL)
        sink->mark = hear_no_event;
    if (sink->alloc == NULL)
        sink->alloc = hear_no_block;
    if (sink->free == NULL)
        sink->free = hear_no_block;
    if (sink->use == NULL)
        sink->use = hear_no_block;
    if (sink->sample == NULL)
        sink->sample = hear_no_sample;
    if (sink->name_stream == NULL)
        sink->name_stream = hear_no_name;
    if (sink->take_segment == NULL)
        sink->take_segment = hear_no_segment;
    if (sink->give_segment == NULL)
        sink->give_segment = hear_no_segment;
}

static gp_status complete(gp_trace_sink *sink, const gp_trace_sink *given)
{
    /* The first version of the table ends with name_stream. */
    if (given->struct_bytes < offsetof(gp_trace_sink, name_stream) + sizeof(given->name_stream) ||
        given->struct_bytes > sizeof(*sink))
        return gp_error_set(GP_ERR_VERSION_MISMATCH,
                            "gp_trace_sink.struct_bytes is %u, this library knows %zu",
                            given->struct_bytes, sizeof(*sink));
    memset(sink, 0, sizeof(*sink));
    memcpy(sink, given, given->struct_bytes);
    if (sink->name == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "gp_trace_sink.name is NULL");
    fill_slots(sink);
    return GP_OK;
}

/* ---- under the registry's lock ------------------------------------------------------ */

static gp_trace_listener *at_locked(const gp_trace *trace, int place)
{
    return atomic_load_explicit(&trace->listeners[place], memory_order_relaxed);
}

static void put_locked(gp_trace *trace, int place, gp_trace_listener *listener)
{
    atomic_store_explicit(&trace->listeners[place], listener, memory_order_release);
}

/* The place of a sink; -1 if it is not attached. */
static int place_of_locked(const gp_trace *trace, const gp_trace_sink *given, const void *user)
{
    for (int i = 0; i < GP_TRACE_MOST_SINKS; i++) {
        const gp_trace_listener *listener = at_locked(trace, i);
        if (listener != NULL && listener->given == given && listener->user == user)
            return i;
    }
    return -1;
}

static int free_place_locked(const gp_trace *trace)
{
    int place = 0;
    while (place < GP_TRACE_MOST_SINKS && at_locked(trace, place) != NULL)
        place++;
    return place < GP_TRACE_MOST_SINKS ? place : -1;
}

/* The level of the pool, and whether its hits are heard, follow from its sinks. */
static void settle_level_locked(gp_trace *trace)
{
    gp_trace_level most = GP_TRACE_OFF;
    for (int i = 0; i < GP_TRACE_MOST_SINKS; i++) {
        const gp_trace_listener *listener = at_locked(trace, i);
        if (listener != NULL && atomic_load(&listener->level) > most)
            most = atomic_load(&listener->level);
    }
    atomic_store(&trace->level, most);
    gp_listen_settle_locked(trace->pool);
}

/* Nobody is inside who was inside a sink before, or still sees what was changed. */
static void wait_for_threads_locked(void)
{
    gp_asymmetric_barrier();
    for (gp_thread *thread = gp_thread_first_locked(); thread != NULL; thread = thread->next) {
        const uint32_t count = atomic_load_explicit(&thread->tracing, memory_order_acquire);
        while (count % 2 != 0 &&
               atomic_load_explicit(&thread->tracing, memory_order_acquire) == count)
            (void)sched_yield();
    }
}

static gp_status add_locked(gp_trace *trace, gp_trace_listener *listener)
{
    if (place_of_locked(trace, listener->given, listener->user) >= 0)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "the sink %s is attached already",
                            listener->sink.name);
    const int place = free_place_locked(trace);
    if (place < 0)
        return gp_error_set(GP_ERR_BUSY, "the pool has %d trace sinks already",
                            GP_TRACE_MOST_SINKS);
    put_locked(trace, place, listener);
    settle_level_locked(trace);
    return GP_OK;
}

static gp_status find_locked(const gp_trace *trace, const gp_trace_sink *given, const void *user,
                             int *place)
{
    *place = place_of_locked(trace, given, user);
    return *place >= 0 ? GP_OK
                       : gp_error_set(GP_ERR_INVALID_ARGUMENT, "the trace sink is not attached");
}

/* ---- attaching ------------------------------------------------------------------------ */

static gp_status make_listener(gp_trace *trace, const gp_trace_sink *given, void *user,
                               gp_trace_level level, gp_trace_listener **listener)
{
    gp_trace_listener *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a trace sink");
    const gp_trace_pool pool = {
        .struct_bytes = sizeof(pool),
        .number = trace->number,
        .device = trace->pool->backend->device,
        .policy = trace->pool->policy.name,
    };
    made->given = given;
    made->user = user;
    made->serial = atomic_fetch_add(&last_serial, 1) + 1;
    atomic_init(&made->level, level);
    gp_status status = complete(&made->sink, given);
    if (status == GP_OK) {
        status = made->sink.open(&made->state, &pool, user);
        if (status == GP_OK) {
            *listener = made;
            return GP_OK;
        }
        (void)gp_error_set(status, "the trace sink %s could not be opened", made->sink.name);
    }
    free(made);
    return status;
}

static void drop_listener(gp_trace_listener *listener)
{
    listener->sink.close(listener->state);
    free(listener);
}

gp_status gp_trace_add(gp_trace *trace, const gp_trace_sink *sink, void *user, gp_trace_level level)
{
    gp_trace_listener *listener = NULL;
    gp_status status = make_listener(trace, sink, user, level, &listener);
    if (status != GP_OK)
        return status;
    gp_registry_lock();
    status = add_locked(trace, listener);
    gp_registry_unlock();
    if (status != GP_OK)
        drop_listener(listener);
    return status;
}

void gp_trace_init(gp_trace *trace, gp_pool *pool)
{
    trace->pool = pool;
    trace->number = atomic_fetch_add(&last_pool, 1) + 1;
}

void gp_trace_destroy(gp_trace *trace)
{
    for (int i = 0; i < GP_TRACE_MOST_SINKS; i++) {
        gp_trace_listener *listener = at_locked(trace, i);
        put_locked(trace, i, NULL);
        if (listener != NULL)
            drop_listener(listener);
    }
}

/* ---- the calls ------------------------------------------------------------------------- */

gp_status gp_trace_check_level(gp_trace_level level)
{
    return (unsigned)level <= GP_TRACE_ALL
               ? GP_OK
               : gp_error_set(GP_ERR_INVALID_ARGUMENT, "%d is no gp_trace_level", (int)level);
}

gp_status gp_trace_attach(gp_pool *pool, const gp_trace_sink *sink, void *user,
                          gp_trace_level level)
{
    if (sink == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "sink is NULL");
    gp_status status = gp_trace_check_level(level);
    if (status == GP_OK)
        status = gp_registry_check(pool);
    if (status == GP_OK)
        status = gp_trace_add(&pool->trace, sink, user, level);
    if (status != GP_OK)
        return status;
    /* The pool may have told the name of its own stream before. */
    cudaStream_t stream;
    if (gp_global_tier_has_own_stream(&pool->global, &stream))
        gp_trace_name(&pool->trace, stream, 0, GP_TRACE_OWN_STREAM);
    return GP_OK;
}

gp_status gp_trace_set_level(gp_pool *pool, const gp_trace_sink *sink, void *user,
                             gp_trace_level level)
{
    gp_status status = gp_trace_check_level(level);
    if (status == GP_OK)
        status = gp_registry_check(pool);
    if (status != GP_OK)
        return status;

    int place;
    gp_registry_lock();
    status = find_locked(&pool->trace, sink, user, &place);
    if (status == GP_OK) {
        atomic_store(&at_locked(&pool->trace, place)->level, level);
        settle_level_locked(&pool->trace);
        wait_for_threads_locked();
    }
    gp_registry_unlock();
    return status;
}

gp_status gp_trace_detach(gp_pool *pool, const gp_trace_sink *sink, void *user)
{
    gp_status status = gp_registry_check(pool);
    if (status != GP_OK)
        return status;

    int place;
    gp_trace_listener *listener = NULL;
    gp_registry_lock();
    status = find_locked(&pool->trace, sink, user, &place);
    if (status == GP_OK) {
        listener = at_locked(&pool->trace, place);
        put_locked(&pool->trace, place, NULL);
        settle_level_locked(&pool->trace);
        wait_for_threads_locked();
    }
    gp_registry_unlock();
    if (listener != NULL)
        drop_listener(listener);
    return status;
}
