#include "trace_builder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of an id whose block was freed. */
#define NO_BLOCK UINT64_MAX

__attribute__((format(printf, 2, 3))) static void describe(bench_trace_builder *builder,
                                                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(builder->problem, sizeof(builder->problem), format, arguments);
    va_end(arguments);
}

/* False, for the caller to pass on. */
#define REJECT(builder, ...) (describe(builder, __VA_ARGS__), false)

/* ---- room ---- */

/* Room for one more element, by doubling. NULL: out of memory, and the array as it was. */
static void *make_room(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    if (count < *capacity)
        return array;
    size_t wanted = *capacity == 0 ? 1024 : *capacity * 2;
    void *larger = reallocarray(array, wanted, element_bytes);
    if (larger != NULL)
        *capacity = wanted;
    return larger;
}

static bool push_event(bench_trace_builder *builder, const bench_trace_event *event)
{
    bench_trace *trace = builder->trace;
    bench_trace_event *events =
        make_room(trace->events, trace->event_count, &builder->event_capacity, sizeof(*events));
    if (events == NULL)
        return REJECT(builder, "out of memory");
    trace->events = events;
    trace->events[trace->event_count++] = *event;
    return true;
}

static bool push_initial(bench_trace_builder *builder, const bench_trace_event *event)
{
    size_t *count = &builder->trace->gaps.initial_blocks;
    bench_trace_event *initial =
        make_room(builder->initial, *count, &builder->initial_capacity, sizeof(*initial));
    if (initial == NULL)
        return REJECT(builder, "out of memory");
    builder->initial = initial;
    builder->initial[(*count)++] = *event;
    return true;
}

static bool push_block(bench_trace_builder *builder, const bench_trace_record *record,
                       uint32_t *block)
{
    bench_trace *trace = builder->trace;
    bench_trace_block *blocks =
        make_room(trace->blocks, trace->block_count, &builder->block_capacity, sizeof(*blocks));
    if (blocks == NULL)
        return REJECT(builder, "out of memory");
    trace->blocks = blocks;
    *block = (uint32_t)trace->block_count++;
    trace->blocks[*block] =
        (bench_trace_block){.bytes = record->bytes, .stream = (uint16_t)record->stream};
    return true;
}

/* ---- events ---- */

static bench_trace_event event_of(const bench_trace_record *record, uint64_t block)
{
    return (bench_trace_event){
        .time_ns = record->time_ns,
        .block = (uint32_t)block,
        .stream = (uint16_t)record->stream,
        .thread = (uint16_t)record->thread,
        .frees = record->frees,
    };
}

static bool set_block(bench_trace_builder *builder, uint64_t id, uint64_t block)
{
    uint64_t *value = bench_names_find(&builder->ids, id);
    if (value == NULL)
        return bench_names_add(&builder->ids, id, block) || REJECT(builder, "out of memory");
    *value = block;
    return true;
}

static bool check_size(bench_trace_builder *builder, const bench_trace_record *record)
{
    if (record->bytes > BENCH_TRACE_MAX_BYTES)
        return REJECT(builder, "size %" PRIu64 " is more than any device holds", record->bytes);
    if (record->bytes == 0 && (!record->frees || builder->rules == BENCH_TRACE_CLOSED))
        return REJECT(builder, "size is 0");
    return true;
}

/* The free of a block whose address another one gets. */
static bool free_unseen(bench_trace_builder *builder, const bench_trace_record *record,
                        uint64_t block)
{
    bench_trace_event event = event_of(record, block);
    event.stream = builder->trace->blocks[block].stream;
    event.frees = true;
    builder->trace->gaps.missing_frees++;
    return push_event(builder, &event);
}

static bool add_alloc(bench_trace_builder *builder, const bench_trace_record *record)
{
    const uint64_t *known = bench_names_find(&builder->ids, record->id);
    bool live = known != NULL && *known != NO_BLOCK;
    if (known != NULL &&
        (builder->rules == BENCH_TRACE_CLOSED || (live && builder->rules == BENCH_TRACE_OPEN)))
        return REJECT(builder, "id %" PRIu64 " is allocated a second time", record->id);
    if (live && !free_unseen(builder, record, *known))
        return false;

    uint32_t block = 0;
    if (!push_block(builder, record, &block))
        return false;
    bench_trace_event event = event_of(record, block);
    return set_block(builder, record->id, block) && push_event(builder, &event);
}

static bool allocate_before(bench_trace_builder *builder, const bench_trace_record *record,
                            uint32_t *block)
{
    if (!push_block(builder, record, block))
        return false;
    bench_trace_event event = event_of(record, *block);
    event.time_ns = 0;
    event.frees = false;
    return push_initial(builder, &event);
}

/* A free of an id that the file never allocated. */
static bool free_initial(bench_trace_builder *builder, const bench_trace_record *record)
{
    if (builder->rules == BENCH_TRACE_CLOSED)
        return REJECT(builder, "id %" PRIu64 " is freed but was never allocated", record->id);
    if (record->bytes == 0)
        return REJECT(builder, "id %" PRIu64 " is freed but was never allocated: size is missing",
                      record->id);
    uint32_t block = 0;
    if (!allocate_before(builder, record, &block))
        return false;
    bench_trace_event event = event_of(record, block);
    return set_block(builder, record->id, NO_BLOCK) && push_event(builder, &event);
}

static bool add_free(bench_trace_builder *builder, const bench_trace_record *record)
{
    bench_trace *trace = builder->trace;
    uint64_t *known = bench_names_find(&builder->ids, record->id);
    if (known == NULL)
        return free_initial(builder, record);
    if (*known == NO_BLOCK && builder->rules != BENCH_TRACE_LOSSY)
        return REJECT(builder, "id %" PRIu64 " is freed a second time", record->id);
    if (*known == NO_BLOCK) {
        trace->gaps.ignored_frees++;
        return true;
    }
    size_t allocated = trace->blocks[*known].bytes;
    if (builder->rules == BENCH_TRACE_CLOSED && record->bytes != allocated)
        return REJECT(builder,
                      "size %" PRIu64 " is freed, but id %" PRIu64 " was allocated with %zu",
                      record->bytes, record->id, allocated);
    bench_trace_event event = event_of(record, *known);
    *known = NO_BLOCK;
    return push_event(builder, &event);
}

/* Events of a call are at most two, blocks one; indexes have 32 bits. */
static bool check_count(bench_trace_builder *builder)
{
    return builder->trace->block_count < UINT32_MAX || REJECT(builder, "too many blocks");
}

bool bench_trace_builder_add(bench_trace_builder *builder, const bench_trace_record *record)
{
    if (!check_count(builder) || !check_size(builder, record))
        return false;
    return record->frees ? add_free(builder, record) : add_alloc(builder, record);
}

bool bench_trace_builder_add_initial(bench_trace_builder *builder, const bench_trace_record *record)
{
    uint32_t block = 0;
    return check_count(builder) && check_size(builder, record) &&
           allocate_before(builder, record, &block) && set_block(builder, record->id, block);
}

bool bench_trace_builder_knows(const bench_trace_builder *builder, uint64_t id)
{
    return bench_names_find(&builder->ids, id) != NULL;
}

/* ---- the end ---- */

static bool put_initial_first(bench_trace_builder *builder)
{
    bench_trace *trace = builder->trace;
    size_t count = trace->gaps.initial_blocks;
    if (count == 0)
        return true;
    bench_trace_event *events =
        reallocarray(builder->initial, count + trace->event_count, sizeof(*events));
    if (events == NULL)
        return REJECT(builder, "out of memory");
    if (trace->event_count > 0)
        memcpy(events + count, trace->events, trace->event_count * sizeof(*events));
    free(trace->events);
    builder->initial = NULL;
    trace->events = events;
    trace->event_count += count;
    return true;
}

static void measure(bench_trace *trace)
{
    size_t live_bytes = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const bench_trace_event *event = &trace->events[i];
        size_t bytes = trace->blocks[event->block].bytes;
        live_bytes = event->frees ? live_bytes - bytes : live_bytes + bytes;
        if (live_bytes > trace->peak_live_bytes)
            trace->peak_live_bytes = live_bytes;
        if (event->stream >= trace->stream_count)
            trace->stream_count = (size_t)event->stream + 1;
        if (event->thread >= trace->thread_count)
            trace->thread_count = (size_t)event->thread + 1;
    }
}

bool bench_trace_builder_finish(bench_trace_builder *builder)
{
    if (!put_initial_first(builder))
        return false;
    if (builder->trace->event_count == 0)
        return REJECT(builder, "the file has no events");
    measure(builder->trace);
    return true;
}

void bench_trace_builder_destroy(bench_trace_builder *builder)
{
    bench_names_destroy(&builder->ids);
    free(builder->initial);
}
