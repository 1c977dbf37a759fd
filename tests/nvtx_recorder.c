#include "nvtx_recorder_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_EVENTS 400000
#define MOST_DEPTH 64
#define MOST_DOMAINS 4
#define MOST_CATEGORIES 16

typedef struct domain {
    char name[RECORDED_TEXT_BYTES];
    char categories[MOST_CATEGORIES][RECORDED_TEXT_BYTES];
} domain;

pthread_mutex_t recorder_mutex = PTHREAD_MUTEX_INITIALIZER;

static recorded *events;
static size_t event_count;
static bool unbalanced;
static atomic_bool hostile;
static int open_ranges;
static domain domains[MOST_DOMAINS];
static size_t domain_count;

static _Atomic(uint32_t) last_thread;
static _Thread_local uint32_t thread;

/* What is open in this thread, by domain. */
static _Thread_local recorded stacks[MOST_DOMAINS][MOST_DEPTH];
static _Thread_local int depths[MOST_DOMAINS];

void recorder_copy_text(char *to, const char *from)
{
    (void)snprintf(to, RECORDED_TEXT_BYTES, "%s", from == NULL ? "" : from);
}

/* ---- events ------------------------------------------------------------------------- */

static recorded *append_locked(const recorded *event)
{
    if (events == NULL)
        events = calloc(MOST_EVENTS, sizeof(*events));
    if (events == NULL || event_count == MOST_EVENTS)
        abort();
    events[event_count] = *event;
    return &events[event_count++];
}

static void append(const recorded *event)
{
    const struct timespec delay = {.tv_nsec = 100000};
    if (atomic_load(&hostile))
        (void)nanosleep(&delay, NULL);
    pthread_mutex_lock(&recorder_mutex);
    (void)append_locked(event);
    open_ranges += (event->as == RECORDED_PUSH) - (event->as == RECORDED_POP);
    pthread_mutex_unlock(&recorder_mutex);
}

static void read_payload(recorded *event, const nvtxEventAttributes_t *from)
{
    if (from->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64) {
        event->has_value = true;
        event->value = from->payload.ullValue;
    } else if (from->payloadType == NVTX_PAYLOAD_TYPE_EXT && from->reserved0 == 1) {
        const nvtxPayloadData_t *data =
            (const nvtxPayloadData_t *)(uintptr_t)from->payload.ullValue;
        event->schema = data->schemaId;
        event->payload_bytes = data->size;
        if (data->size <= sizeof(event->payload))
            memcpy(event->payload, data->payload, data->size);
    }
}

static recorded read_event(recorded_as as, const domain *from, const nvtxEventAttributes_t *what)
{
    recorded event = {.as = as, .category = what->category, .argb = what->color};
    if (thread == 0)
        thread = atomic_fetch_add(&last_thread, 1) + 1;
    event.thread = thread;
    recorder_copy_text(event.domain, from->name);
    event.is_registered = what->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
    recorder_copy_text(event.text, event.is_registered ? (const char *)what->message.registered
                                                       : what->message.ascii);
    if (what->category < MOST_CATEGORIES)
        recorder_copy_text(event.category_name, from->categories[what->category]);
    read_payload(&event, what);
    return event;
}

static domain *domain_of(nvtxDomainHandle_t handle)
{
    return handle == NULL ? &domains[0] : (domain *)(void *)handle;
}

static int hear_push(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *what)
{
    const domain *from = domain_of(handle);
    int *depth = &depths[from - domains];
    recorded event = read_event(RECORDED_PUSH, from, what);
    event.depth = *depth;
    append(&event);
    if (*depth == MOST_DEPTH)
        abort();
    stacks[from - domains][*depth] = event;
    (*depth)++;
    return atomic_load(&hostile) ? NVTX_NO_PUSH_POP_TRACKING : event.depth;
}

static int hear_pop(nvtxDomainHandle_t handle)
{
    const domain *from = domain_of(handle);
    int *depth = &depths[from - domains];
    if (*depth == 0) {
        unbalanced = true;
        return -1;
    }
    recorded event = stacks[from - domains][--*depth];
    event.as = RECORDED_POP;
    event.depth = *depth;
    append(&event);
    return atomic_load(&hostile) ? NVTX_NO_PUSH_POP_TRACKING : *depth;
}

static void hear_mark(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *what)
{
    const recorded event = read_event(RECORDED_MARK, domain_of(handle), what);
    append(&event);
}

static nvtxRangeId_t hear_start(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *what)
{
    const recorded event = read_event(RECORDED_START_END, domain_of(handle), what);
    append(&event);
    return 1;
}

/* ---- domains and strings ------------------------------------------------------------- */

static nvtxDomainHandle_t hear_domain(const char *text)
{
    pthread_mutex_lock(&recorder_mutex);
    if (domain_count + 1 == MOST_DOMAINS)
        abort();
    domain *made = &domains[++domain_count]; /* The first is for no domain. */
    recorder_copy_text(made->name, text);
    pthread_mutex_unlock(&recorder_mutex);
    return (nvtxDomainHandle_t)(void *)made;
}

static nvtxStringHandle_t hear_string(nvtxDomainHandle_t handle, const char *text)
{
    (void)handle;
    return (nvtxStringHandle_t)(void *)strdup(text);
}

static void hear_category(nvtxDomainHandle_t handle, uint32_t category, const char *text)
{
    if (category < MOST_CATEGORIES)
        recorder_copy_text(domain_of(handle)->categories[category], text);
}

/* ---- the attachment ----------------------------------------------------------------- */

static bool hears_only_memory(void)
{
    return getenv("NVTX_RECORDER_ONLY_MEMORY") != NULL;
}

static void hook_core(NvtxFunctionTable table)
{
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)hear_domain;
    *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)hear_string;
    *table[NVTX_CBID_CORE2_DomainNameCategoryA] = (NvtxFunctionPointer)hear_category;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)hear_push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)hear_pop;
    *table[NVTX_CBID_CORE2_DomainMarkEx] = (NvtxFunctionPointer)hear_mark;
    *table[NVTX_CBID_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)hear_start;
}

RECORDER_API int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
RECORDER_API int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned count;
    if (callbacks == NULL || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    if (hears_only_memory())
        return 1;
    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &count))
        return 0;
    hook_core(table);
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDART, &table, &count))
        *table[NVTX_CBID_CUDART_NameCudaStreamA] = (NvtxFunctionPointer)recorder_hear_stream;
    return 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    intptr_t *slots = module->segments[0].functionSlots;
    if (hears_only_memory() && module->moduleId != NVTX_EXT_MODULEID_MEM)
        return 0;
    switch (module->moduleId) {
    case NVTX_EXT_PAYLOAD_MODULEID:
        slots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = (intptr_t)recorder_hear_schema;
        slots[NVTX3EXT_CBID_nvtxPayloadEnumRegister] = (intptr_t)recorder_hear_enum;
        return 1;
    case NVTX_EXT_COUNTERS_MODULEID:
        slots[NVTX3EXT_CBID_nvtxCounterRegister] = (intptr_t)recorder_hear_counter;
        slots[NVTX3EXT_CBID_nvtxCounterSampleInt64] = (intptr_t)recorder_hear_int_sample;
        slots[NVTX3EXT_CBID_nvtxCounterSampleFloat64] = (intptr_t)recorder_hear_float_sample;
        return 1;
    case NVTX_EXT_MODULEID_MEM:
        slots[NVTX3EXT_CBID_nvtxMemHeapRegister] = (intptr_t)recorder_hear_heap;
        slots[NVTX3EXT_CBID_nvtxMemHeapUnregister] = (intptr_t)recorder_hear_heap_end;
        slots[NVTX3EXT_CBID_nvtxMemRegionsRegister] = (intptr_t)recorder_hear_regions;
        slots[NVTX3EXT_CBID_nvtxMemRegionsUnregister] = (intptr_t)recorder_hear_regions_end;
        return 1;
    default:
        return 0;
    }
}

#ifdef NVTX_RECORDER_STATIC
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;
NvtxExtInitializeInjectionFunc_t InitializeInjectionNvtxExtension_fnptr =
    InitializeInjectionNvtxExtension;
#endif

/* ---- questions ---------------------------------------------------------------------- */

size_t recorder_count(void)
{
    return event_count;
}

const recorded *recorder_at(size_t i)
{
    return &events[i];
}

void recorder_set_hostile(bool is_hostile)
{
    atomic_store(&hostile, is_hostile);
}

void recorder_clear(void)
{
    event_count = 0;
}

static bool is_of_gp(const recorded *event, const char *text)
{
    return event->as != RECORDED_POP && strcmp(event->domain, "gp") == 0 &&
           strcmp(event->text, text) == 0;
}

size_t recorder_count_text(const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < event_count; i++)
        count += is_of_gp(&events[i], text);
    return count;
}

const recorded *recorder_find(const char *text, size_t n)
{
    for (size_t i = 0; i < event_count; i++) {
        if (is_of_gp(&events[i], text) && n-- == 0)
            return &events[i];
    }
    return NULL;
}

bool recorder_is_balanced(void)
{
    return !unbalanced && open_ranges == 0;
}
