#include "nvtx_recorder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The types of NVTX without its implementation: a tool is what is called. */
#define NVTX_NO_IMPL
#define NVTX_AS_SYSTEM_HEADER
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>

#define MOST_EVENTS 400000
#define MOST_DEPTH 64
#define MOST_DOMAINS 4
#define MOST_CATEGORIES 16
#define MOST_SCHEMAS 8
#define MOST_ENTRIES 16
#define MOST_COUNTERS 64
#define MOST_NAMES 64
#define MOST_RANGES 1024

/* Ids that a tool makes up, told from each other and from nothing. */
#define FIRST_SCHEMA (UINT64_C(1) << 32)
#define FIRST_COUNTER (UINT64_C(2) << 32)

typedef struct domain {
    char name[RECORDED_TEXT_BYTES];
    char categories[MOST_CATEGORIES][RECORDED_TEXT_BYTES];
} domain;

typedef struct entry {
    char name[RECORDED_TEXT_BYTES];
    uint64_t type, offset, length;
    uint64_t value; /* Of an enum. */
} entry;

typedef struct schema {
    bool is_enum;
    size_t size;
    size_t count;
    entry entries[MOST_ENTRIES];
} schema;

typedef struct name {
    const void *stream;
    char text[RECORDED_TEXT_BYTES];
} name;

/* A heap or a region; its index and one are a heap's handle. */
typedef struct range {
    uintptr_t base;
    size_t bytes; /* 0: gone. */
} range;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static recorded *events;
static size_t event_count;
static bool unbalanced;
static atomic_bool hostile;
static int open_ranges;
static domain domains[MOST_DOMAINS];
static size_t domain_count;
static schema schemas[MOST_SCHEMAS];
static size_t schema_count;
static recorded_counter counters[MOST_COUNTERS];
static size_t counter_count;
static range heaps[MOST_RANGES];
static range regions[MOST_RANGES];
static bool memory_misused;
static name names[MOST_NAMES];
static size_t name_count;

static _Atomic(uint32_t) last_thread;
static _Thread_local uint32_t thread;

/* What is open in this thread, by domain. */
static _Thread_local recorded stacks[MOST_DOMAINS][MOST_DEPTH];
static _Thread_local int depths[MOST_DOMAINS];

static void copy_text(char *to, const char *from)
{
    to[0] = '\0';
    if (from != NULL)
        (void)strncat(to, from, RECORDED_TEXT_BYTES - 1);
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
    pthread_mutex_lock(&mutex);
    (void)append_locked(event);
    open_ranges += (event->as == RECORDED_PUSH) - (event->as == RECORDED_POP);
    pthread_mutex_unlock(&mutex);
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
    copy_text(event.domain, from->name);
    event.is_registered = what->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
    copy_text(event.text,
              event.is_registered ? (const char *)what->message.registered : what->message.ascii);
    if (what->category < MOST_CATEGORIES)
        copy_text(event.category_name, from->categories[what->category]);
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

/* ---- what is registered ------------------------------------------------------------- */

static nvtxDomainHandle_t hear_domain(const char *text)
{
    pthread_mutex_lock(&mutex);
    if (domain_count + 1 == MOST_DOMAINS)
        abort();
    domain *made = &domains[++domain_count]; /* The first is for no domain. */
    copy_text(made->name, text);
    pthread_mutex_unlock(&mutex);
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
        copy_text(domain_of(handle)->categories[category], text);
}

static void hear_stream(const void *stream, const char *text)
{
    pthread_mutex_lock(&mutex);
    if (name_count == MOST_NAMES)
        abort();
    names[name_count].stream = stream;
    copy_text(names[name_count++].text, text);
    pthread_mutex_unlock(&mutex);
}

static schema *make_schema(uint64_t *id)
{
    pthread_mutex_lock(&mutex);
    if (schema_count == MOST_SCHEMAS)
        abort();
    schema *made = &schemas[schema_count];
    *id = FIRST_SCHEMA + schema_count++;
    pthread_mutex_unlock(&mutex);
    return made;
}

static uint64_t hear_schema(nvtxDomainHandle_t handle, const nvtxPayloadSchemaAttr_t *attributes)
{
    uint64_t id;
    schema *made = make_schema(&id);
    (void)handle;
    made->size = attributes->payloadStaticSize;
    for (size_t i = 0; i < attributes->numEntries && i < MOST_ENTRIES; i++) {
        entry *to = &made->entries[made->count++];
        copy_text(to->name, attributes->entries[i].name);
        to->type = attributes->entries[i].type;
        to->offset = attributes->entries[i].offset;
        to->length = attributes->entries[i].arrayOrUnionDetail;
    }
    return id;
}

static uint64_t hear_enum(nvtxDomainHandle_t handle, const nvtxPayloadEnumAttr_t *attributes)
{
    uint64_t id;
    schema *made = make_schema(&id);
    (void)handle;
    made->is_enum = true;
    for (size_t i = 0; i < attributes->numEntries && i < MOST_ENTRIES; i++) {
        copy_text(made->entries[i].name, attributes->entries[i].name);
        made->entries[i].value = attributes->entries[i].value;
        made->count++;
    }
    return id;
}

static uint64_t hear_counter(nvtxDomainHandle_t handle, const nvtxCounterAttr_t *attributes)
{
    const nvtxSemanticsCounter_t *semantics =
        (const nvtxSemanticsCounter_t *)(const void *)attributes->semantics;
    (void)handle;
    pthread_mutex_lock(&mutex);
    if (counter_count == MOST_COUNTERS)
        abort();
    recorded_counter *made = &counters[counter_count];
    copy_text(made->name, attributes->name);
    copy_text(made->unit, semantics == NULL ? "" : semantics->unit);
    made->is_floating = attributes->schemaId == NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
    const uint64_t id = FIRST_COUNTER + counter_count++;
    pthread_mutex_unlock(&mutex);
    return id;
}

static void sample(uint64_t id, bool is_floating, double value)
{
    pthread_mutex_lock(&mutex);
    recorded_counter *counter = &counters[id - FIRST_COUNTER];
    if (counter->is_floating != is_floating)
        abort(); /* A tool would read the wrong type. */
    counter->value = value;
    counter->samples++;
    pthread_mutex_unlock(&mutex);
}

static void hear_int_sample(nvtxDomainHandle_t handle, uint64_t id, int64_t value)
{
    (void)handle;
    sample(id, false, (double)value);
}

static void hear_float_sample(nvtxDomainHandle_t handle, uint64_t id, double value)
{
    (void)handle;
    sample(id, true, value);
}

/* ---- memory ------------------------------------------------------------------------- */

static range *find_range(range *ranges, uintptr_t base)
{
    for (size_t i = 0; i < MOST_RANGES; i++) {
        if (ranges[i].bytes > 0 && ranges[i].base == base)
            return &ranges[i];
    }
    return NULL;
}

static range *add_range(range *ranges, const nvtxMemVirtualRangeDesc_t *from)
{
    size_t i = 0;
    while (i < MOST_RANGES && ranges[i].bytes > 0)
        i++;
    if (i == MOST_RANGES)
        abort();
    ranges[i] = (range){.base = (uintptr_t)from->ptr, .bytes = from->size};
    return &ranges[i];
}

static bool overlaps_region(const nvtxMemVirtualRangeDesc_t *with)
{
    const uintptr_t base = (uintptr_t)with->ptr;
    for (size_t i = 0; i < MOST_RANGES; i++) {
        if (regions[i].bytes > 0 && base < regions[i].base + regions[i].bytes &&
            regions[i].base < base + with->size)
            return true;
    }
    return false;
}

static nvtxMemHeapHandle_t hear_heap(nvtxDomainHandle_t handle, const nvtxMemHeapDesc_t *heap)
{
    (void)handle;
    pthread_mutex_lock(&mutex);
    memory_misused = memory_misused || heap->usage != NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR ||
                     heap->type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    range *made = add_range(heaps, heap->typeSpecificDesc);
    pthread_mutex_unlock(&mutex);
    return (nvtxMemHeapHandle_t)(void *)made;
}

static void hear_heap_end(nvtxDomainHandle_t handle, nvtxMemHeapHandle_t heap)
{
    (void)handle;
    pthread_mutex_lock(&mutex);
    ((range *)(void *)heap)->bytes = 0;
    pthread_mutex_unlock(&mutex);
}

static void hear_regions(nvtxDomainHandle_t handle, const nvtxMemRegionsRegisterBatch_t *batch)
{
    const nvtxMemVirtualRangeDesc_t *from = batch->regionDescElements;
    const range *heap = (const range *)(const void *)batch->heap;
    (void)handle;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < batch->regionCount; i++) {
        const uintptr_t base = (uintptr_t)from[i].ptr;
        memory_misused = memory_misused || overlaps_region(&from[i]) || base < heap->base ||
                         base + from[i].size > heap->base + heap->bytes;
        (void)add_range(regions, &from[i]);
    }
    pthread_mutex_unlock(&mutex);
}

static void hear_regions_end(nvtxDomainHandle_t handle,
                             const nvtxMemRegionsUnregisterBatch_t *batch)
{
    (void)handle;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < batch->refCount; i++) {
        range *region = find_range(regions, (uintptr_t)batch->refElements[i].pointer);
        if (region == NULL || batch->refType != NVTX_MEM_REGION_REF_TYPE_POINTER)
            memory_misused = true;
        else
            region->bytes = 0;
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- the attachment ----------------------------------------------------------------- */

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
    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &count))
        return 0;
    hook_core(table);
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDART, &table, &count))
        *table[NVTX_CBID_CUDART_NameCudaStreamA] = (NvtxFunctionPointer)hear_stream;
    return 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    intptr_t *slots = module->segments[0].functionSlots;
    switch (module->moduleId) {
    case NVTX_EXT_PAYLOAD_MODULEID:
        slots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = (intptr_t)hear_schema;
        slots[NVTX3EXT_CBID_nvtxPayloadEnumRegister] = (intptr_t)hear_enum;
        return 1;
    case NVTX_EXT_COUNTERS_MODULEID:
        slots[NVTX3EXT_CBID_nvtxCounterRegister] = (intptr_t)hear_counter;
        slots[NVTX3EXT_CBID_nvtxCounterSampleInt64] = (intptr_t)hear_int_sample;
        slots[NVTX3EXT_CBID_nvtxCounterSampleFloat64] = (intptr_t)hear_float_sample;
        return 1;
    case NVTX_EXT_MODULEID_MEM:
        slots[NVTX3EXT_CBID_nvtxMemHeapRegister] = (intptr_t)hear_heap;
        slots[NVTX3EXT_CBID_nvtxMemHeapUnregister] = (intptr_t)hear_heap_end;
        slots[NVTX3EXT_CBID_nvtxMemRegionsRegister] = (intptr_t)hear_regions;
        slots[NVTX3EXT_CBID_nvtxMemRegionsUnregister] = (intptr_t)hear_regions_end;
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

static const entry *find_entry(const recorded *event, const char *field)
{
    if (event->schema < FIRST_SCHEMA || event->schema >= FIRST_SCHEMA + schema_count)
        return NULL;
    const schema *from = &schemas[event->schema - FIRST_SCHEMA];
    for (size_t i = 0; i < from->count && from->size == event->payload_bytes; i++) {
        if (strcmp(from->entries[i].name, field) == 0)
            return &from->entries[i];
    }
    return NULL;
}

bool recorder_field(const recorded *event, const char *field, uint64_t *value)
{
    const entry *from = find_entry(event, field);
    if (from == NULL)
        return false;
    const bool is_short =
        from->type >= FIRST_SCHEMA || from->type == NVTX_PAYLOAD_ENTRY_TYPE_UINT32;
    *value = 0;
    memcpy(value, event->payload + from->offset, is_short ? sizeof(uint32_t) : sizeof(uint64_t));
    return true;
}

bool recorder_text_field(const recorded *event, const char *field, char *text)
{
    const entry *from = find_entry(event, field);
    if (from == NULL || from->type != NVTX_PAYLOAD_ENTRY_TYPE_CSTRING)
        return false;
    memcpy(text, event->payload + from->offset, from->length);
    return true;
}

const char *recorder_enum_field(const recorded *event, const char *field)
{
    const entry *from = find_entry(event, field);
    uint64_t value;
    if (from == NULL || from->type < FIRST_SCHEMA || !recorder_field(event, field, &value))
        return NULL;
    const schema *names_of = &schemas[from->type - FIRST_SCHEMA];
    for (size_t i = 0; names_of->is_enum && i < names_of->count; i++) {
        if (names_of->entries[i].value == value)
            return names_of->entries[i].name;
    }
    return NULL;
}

const recorded_counter *recorder_counter(const char *end)
{
    for (size_t i = counter_count; i-- > 0;) {
        const size_t length = strlen(counters[i].name);
        if (length >= strlen(end) && strcmp(counters[i].name + length - strlen(end), end) == 0)
            return &counters[i];
    }
    return NULL;
}

const char *recorder_stream_name(const void *stream)
{
    for (size_t i = name_count; i-- > 0;) {
        if (names[i].stream == stream)
            return names[i].text;
    }
    return NULL;
}

size_t recorder_stream_names(void)
{
    return name_count;
}

static size_t count_ranges(const range *ranges)
{
    size_t count = 0;
    for (size_t i = 0; i < MOST_RANGES; i++)
        count += ranges[i].bytes > 0;
    return count;
}

size_t recorder_heaps(void)
{
    return count_ranges(heaps);
}

size_t recorder_regions(void)
{
    return count_ranges(regions);
}

bool recorder_has_heap(const void *base, size_t bytes)
{
    const range *heap = find_range(heaps, (uintptr_t)base);
    return heap != NULL && heap->bytes == bytes;
}

size_t recorder_region_bytes(const void *base)
{
    const range *region = find_range(regions, (uintptr_t)base);
    return region == NULL ? 0 : region->bytes;
}

bool recorder_is_memory_misused(void)
{
    return memory_misused;
}
