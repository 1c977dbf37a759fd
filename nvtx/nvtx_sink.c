/*
 * The trace sink over NVTX: a pool's ranges, marks, blocks and counters as a tool sees them.
 *
 * Ranges are push/pop ranges of domain "gp". Blocks are ranges too, named by the tier that served
 * them; a hit takes less time than a tool needs to note that it begins, and so does its range.
 */
#include <stdlib.h>
#include <string.h>

#include "nvtx_block.h"
#include "nvtx_counters.h"
#include "nvtx_words.h"

/* Of one pool. */
typedef struct gp_nvtx_pool {
    const gp_nvtx_words *words;
    gp_nvtx_counters counters;
    char policy[GP_NVTX_NAME_BYTES];
} gp_nvtx_pool;

static gp_status open_pool(void **state, const gp_trace_pool *from, void *user)
{
    (void)user;
    const gp_nvtx_words *words = gp_nvtx_get_words();
    if (words->domain == NULL)
        return GP_ERR_UNSUPPORTED;
    gp_nvtx_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return GP_ERR_OUT_OF_HOST_MEMORY;
    pool->words = words;
    memcpy(pool->policy, from->policy, strnlen(from->policy, sizeof(pool->policy) - 1));
    gp_nvtx_counters_open(&pool->counters, words->domain, from->number);
    *state = pool;
    return GP_OK;
}

static void close_pool(void *state)
{
    gp_nvtx_pool *pool = state;
    gp_nvtx_counters_close(&pool->counters);
    free(pool);
}

/* ---- ranges and marks --------------------------------------------------------------- */

static void begin(void *state, const gp_trace_event *range)
{
    const gp_nvtx_words *words = ((gp_nvtx_pool *)state)->words;
    nvtxEventAttributes_t attributes = words->kinds[range->kind];
    attributes.payload.ullValue = range->value;
    (void)nvtxDomainRangePushEx(words->domain, &attributes);
}

static void end(void *state, const gp_trace_event *range)
{
    (void)range;
    (void)nvtxDomainRangePop(((gp_nvtx_pool *)state)->words->domain);
}

static void mark(void *state, const gp_trace_event *event)
{
    const gp_nvtx_words *words = ((gp_nvtx_pool *)state)->words;
    nvtxEventAttributes_t attributes = words->kinds[event->kind];
    attributes.payload.ullValue = event->value;
    nvtxDomainMarkEx(words->domain, &attributes);
}

/* ---- blocks ------------------------------------------------------------------------- */

/* What the tool copies during the call: the payload, and where it is. */
typedef struct block_event {
    gp_nvtx_block block;
    nvtxPayloadData_t data;
    nvtxEventAttributes_t attributes;
} block_event;

static void prepare(block_event *event, const gp_nvtx_pool *pool, const gp_trace_block *block,
                    const nvtxEventAttributes_t *template)
{
    event->attributes = *template;
    gp_nvtx_block_fill(&event->block, block);
    memcpy(event->block.policy, pool->policy, sizeof(pool->policy));
    if (pool->words->block_schema == 0) {
        event->attributes.payload.ullValue = event->block.bytes;
        return;
    }
    event->data = (nvtxPayloadData_t){
        .schemaId = pool->words->block_schema,
        .size = sizeof(event->block),
        .payload = &event->block,
    };
    event->attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event->attributes.reserved0 = 1; /* Number of payloads. */
    event->attributes.payload.ullValue = (uint64_t)(uintptr_t)&event->data;
}

static void show(const gp_nvtx_pool *pool, const gp_trace_block *block,
                 const nvtxEventAttributes_t *template)
{
    block_event event;
    prepare(&event, pool, block, template);
    (void)nvtxDomainRangePushEx(pool->words->domain, &event.attributes);
    (void)nvtxDomainRangePop(pool->words->domain);
}

static void show_alloc(void *state, const gp_trace_block *block)
{
    const gp_nvtx_pool *pool = state;
    show(pool, block, &pool->words->allocs[block->tier]);
}

static void show_free(void *state, const gp_trace_block *block)
{
    const gp_nvtx_pool *pool = state;
    show(pool, block, &pool->words->frees[block->tier]);
}

static void show_use(void *state, const gp_trace_block *block)
{
    const gp_nvtx_pool *pool = state;
    block_event event;
    prepare(&event, pool, block, &pool->words->use);
    nvtxDomainMarkEx(pool->words->domain, &event.attributes);
}

/* ---- counters and names ------------------------------------------------------------- */

static void sample(void *state, const gp_trace_sample *counters)
{
    gp_nvtx_pool *pool = state;
    gp_nvtx_counters_sample(&pool->counters, pool->words->domain, counters);
}

/* Without CUDA's headers NVTX does not offer the call; payloads carry the name all the same. */
static void name_stream(void *state, const gp_trace_stream *stream)
{
    (void)state;
#if GP_HAVE_CUDA_H
    nvtxNameCudaStreamA(stream->stream, stream->name);
#else
    (void)stream;
#endif
}

const gp_trace_sink *gp_trace_nvtx(void)
{
    static const gp_trace_sink sink = {
        .struct_bytes = sizeof(sink),
        .name = "nvtx",
        .open = open_pool,
        .close = close_pool,
        .begin = begin,
        .end = end,
        .mark = mark,
        .alloc = show_alloc,
        .free = show_free,
        .use = show_use,
        .sample = sample,
        .name_stream = name_stream,
    };
    return &sink;
}
