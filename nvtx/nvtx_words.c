#include "nvtx_words.h"

#include <pthread.h>

#include "nvtx_block.h"

typedef struct word {
    const char *name;
    gp_nvtx_category category;
    bool has_value; /* Of a kind: gp_trace_event.value says something. */
} word;

static const struct {
    const char *name;
    uint32_t argb;
} categories[GP_NVTX_COUNT] = {
    [GP_NVTX_L1] = {"L1", 0xff76b900u},
    [GP_NVTX_L2] = {"L2", 0xff1f77b4u},
    [GP_NVTX_SHARED] = {"shared", 0xff17becfu},
    [GP_NVTX_WAIT] = {"wait", 0xffff7f0eu},
    [GP_NVTX_NATIVE] = {"native", 0xffd62728u},
    [GP_NVTX_CAPTURE] = {"capture", 0xff9467bdu},
    [GP_NVTX_MEMORY] = {"out of memory", 0xff8c1515u},
    [GP_NVTX_POOL] = {"pool", 0xff7f7f7fu},
};

/* Names without @ , [ ] / * and +, which mean something to ncu's filters. */
static const word kind_words[GP_TRACE_KIND_COUNT] = {
    [GP_TRACE_ALLOC] = {"alloc", GP_NVTX_POOL, true},
    [GP_TRACE_FREE] = {"free", GP_NVTX_POOL, true},
    [GP_TRACE_MISS] = {"miss", GP_NVTX_POOL, true},
    [GP_TRACE_REFILL] = {"refill", GP_NVTX_L2, true},
    [GP_TRACE_JOIN] = {"join", GP_NVTX_L2, true},
    [GP_TRACE_SHARE] = {"share", GP_NVTX_SHARED, true},
    [GP_TRACE_GROW] = {"grow", GP_NVTX_NATIVE, true},
    [GP_TRACE_GROW_WAIT] = {"grow.wait", GP_NVTX_WAIT, false},
    [GP_TRACE_NATIVE_ALLOC] = {"native.alloc", GP_NVTX_NATIVE, true},
    [GP_TRACE_NATIVE_FREE] = {"native.free", GP_NVTX_NATIVE, true},
    [GP_TRACE_NATIVE_WAIT] = {"native.wait", GP_NVTX_WAIT, false},
    [GP_TRACE_NATIVE_TRIM] = {"native.trim", GP_NVTX_NATIVE, true},
    [GP_TRACE_SQUEEZE] = {"squeeze", GP_NVTX_SHARED, true},
    [GP_TRACE_RELEASE] = {"release", GP_NVTX_NATIVE, true},
    [GP_TRACE_FLUSH_ALL] = {"flush.all", GP_NVTX_L2, false},
    [GP_TRACE_TRIM] = {"trim", GP_NVTX_POOL, true},
    [GP_TRACE_RESERVE] = {"reserve", GP_NVTX_POOL, true},
    [GP_TRACE_OOM] = {"oom", GP_NVTX_MEMORY, true},
    [GP_TRACE_OOM_WAIT] = {"oom.wait", GP_NVTX_WAIT, true},
    [GP_TRACE_PRESSURE] = {"pressure", GP_NVTX_MEMORY, true},
    [GP_TRACE_POOL_CREATE] = {"pool.create", GP_NVTX_POOL, false},
    [GP_TRACE_POOL_DESTROY] = {"pool.destroy", GP_NVTX_POOL, false},
    [GP_TRACE_FLUSH] = {"flush", GP_NVTX_L2, true},
    [GP_TRACE_STREAM_WAIT] = {"stream.wait", GP_NVTX_WAIT, false},
    [GP_TRACE_CAPTURE_BEGIN] = {"capture.begin", GP_NVTX_CAPTURE, false},
    [GP_TRACE_CAPTURE_END] = {"capture.end", GP_NVTX_CAPTURE, false},
    [GP_TRACE_NODE_ALLOC] = {"node.alloc", GP_NVTX_CAPTURE, true},
    [GP_TRACE_NODE_FREE] = {"node.free", GP_NVTX_CAPTURE, false},
    [GP_TRACE_PARK] = {"park", GP_NVTX_CAPTURE, true},
    [GP_TRACE_UNPARK] = {"unpark", GP_NVTX_CAPTURE, true},
    [GP_TRACE_ARENA_TAKE] = {"arena.take", GP_NVTX_CAPTURE, true},
    [GP_TRACE_ARENA_GIVE] = {"arena.give", GP_NVTX_CAPTURE, true},
    [GP_TRACE_ALLOC_FAILED] = {"alloc.fails", GP_NVTX_MEMORY, true},
};

static const word alloc_words[GP_TIER_COUNT] = {
    [GP_TIER_NONE] = {"alloc.failed", GP_NVTX_MEMORY, true},
    [GP_TIER_L1] = {"alloc.l1", GP_NVTX_L1, true},
    [GP_TIER_L2] = {"alloc.l2", GP_NVTX_L2, true},
    [GP_TIER_SHARED] = {"alloc.shared", GP_NVTX_SHARED, true},
    [GP_TIER_WAITED] = {"alloc.waited", GP_NVTX_WAIT, true},
    [GP_TIER_NATIVE] = {"alloc.native", GP_NVTX_NATIVE, true},
    [GP_TIER_NODE] = {"alloc.node", GP_NVTX_CAPTURE, true},
    [GP_TIER_ARENA] = {"alloc.arena", GP_NVTX_CAPTURE, true},
};

static const word free_words[GP_TIER_COUNT] = {
    [GP_TIER_L1] = {"free.l1", GP_NVTX_L1, true},
    [GP_TIER_L2] = {"free.l2", GP_NVTX_L2, true},
    [GP_TIER_WAITED] = {"free.waited", GP_NVTX_WAIT, true},
    [GP_TIER_NATIVE] = {"free.native", GP_NVTX_NATIVE, true},
    [GP_TIER_NODE] = {"free.node", GP_NVTX_CAPTURE, true},
    [GP_TIER_ARENA] = {"free.arena", GP_NVTX_CAPTURE, true},
    [GP_TIER_PARKED] = {"free.parked", GP_NVTX_CAPTURE, true},
};

static const word use_word = {"use", GP_NVTX_POOL, true};

static gp_nvtx_words words;

/* ---- filling ------------------------------------------------------------------------ */

static void fill(nvtxEventAttributes_t *attributes, const word *from)
{
    if (from->name == NULL)
        return;
    *attributes = (nvtxEventAttributes_t){
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .category = (uint32_t)from->category,
        .colorType = NVTX_COLOR_ARGB,
        .color = categories[from->category].argb,
        .payloadType = from->has_value ? NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 : NVTX_PAYLOAD_UNKNOWN,
        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
        .message.registered = nvtxDomainRegisterStringA(words.domain, from->name),
    };
}

static void fill_words(void)
{
    words.domain = nvtxDomainCreateA("gp");
    if (words.domain == NULL)
        return;
    for (uint32_t i = 1; i < GP_NVTX_COUNT; i++)
        nvtxDomainNameCategoryA(words.domain, i, categories[i].name);
    for (int i = 0; i < GP_TRACE_KIND_COUNT; i++)
        fill(&words.kinds[i], &kind_words[i]);
    for (int i = 0; i < GP_TIER_COUNT; i++) {
        fill(&words.allocs[i], &alloc_words[i]);
        fill(&words.frees[i], &free_words[i]);
    }
    fill(&words.use, &use_word);
    words.block_schema = gp_nvtx_block_register(words.domain);
}

const gp_nvtx_words *gp_nvtx_get_words(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, fill_words);
    return &words;
}
