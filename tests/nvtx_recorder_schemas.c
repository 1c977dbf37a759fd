/* What a program registers: schemas of payloads, enums, counters, and names of streams. */
#include "nvtx_recorder_internal.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SCHEMAS 8
#define MOST_ENTRIES 16
#define MOST_COUNTERS 64
#define MOST_NAMES 64

/* Ids that a tool makes up, told from each other and from nothing. */
#define FIRST_SCHEMA (UINT64_C(1) << 32)
#define FIRST_COUNTER (UINT64_C(2) << 32)

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

static schema schemas[MOST_SCHEMAS];
static size_t schema_count;
static recorded_counter counters[MOST_COUNTERS];
static size_t counter_count;
static name names[MOST_NAMES];
static size_t name_count;

/* ---- what NVTX calls ---- */

void recorder_hear_stream(const void *stream, const char *text)
{
    pthread_mutex_lock(&recorder_mutex);
    if (name_count == MOST_NAMES)
        abort();
    names[name_count].stream = stream;
    recorder_copy_text(names[name_count++].text, text);
    pthread_mutex_unlock(&recorder_mutex);
}

static schema *make_schema(uint64_t *id)
{
    pthread_mutex_lock(&recorder_mutex);
    if (schema_count == MOST_SCHEMAS)
        abort();
    schema *made = &schemas[schema_count];
    *id = FIRST_SCHEMA + schema_count++;
    pthread_mutex_unlock(&recorder_mutex);
    return made;
}

uint64_t recorder_hear_schema(nvtxDomainHandle_t handle, const nvtxPayloadSchemaAttr_t *attributes)
{
    uint64_t id;
    schema *made = make_schema(&id);
    (void)handle;
    made->size = attributes->payloadStaticSize;
    for (size_t i = 0; i < attributes->numEntries && i < MOST_ENTRIES; i++) {
        entry *to = &made->entries[made->count++];
        recorder_copy_text(to->name, attributes->entries[i].name);
        to->type = attributes->entries[i].type;
        to->offset = attributes->entries[i].offset;
        to->length = attributes->entries[i].arrayOrUnionDetail;
    }
    return id;
}

uint64_t recorder_hear_enum(nvtxDomainHandle_t handle, const nvtxPayloadEnumAttr_t *attributes)
{
    uint64_t id;
    schema *made = make_schema(&id);
    (void)handle;
    made->is_enum = true;
    for (size_t i = 0; i < attributes->numEntries && i < MOST_ENTRIES; i++) {
        recorder_copy_text(made->entries[i].name, attributes->entries[i].name);
        made->entries[i].value = attributes->entries[i].value;
        made->count++;
    }
    return id;
}

uint64_t recorder_hear_counter(nvtxDomainHandle_t handle, const nvtxCounterAttr_t *attributes)
{
    const nvtxSemanticsCounter_t *semantics =
        (const nvtxSemanticsCounter_t *)(const void *)attributes->semantics;
    (void)handle;
    pthread_mutex_lock(&recorder_mutex);
    if (counter_count == MOST_COUNTERS)
        abort();
    recorded_counter *made = &counters[counter_count];
    recorder_copy_text(made->name, attributes->name);
    recorder_copy_text(made->unit, semantics == NULL ? "" : semantics->unit);
    made->is_floating = attributes->schemaId == NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
    const uint64_t id = FIRST_COUNTER + counter_count++;
    pthread_mutex_unlock(&recorder_mutex);
    return id;
}

static void sample(uint64_t id, bool is_floating, double value)
{
    pthread_mutex_lock(&recorder_mutex);
    recorded_counter *counter = &counters[id - FIRST_COUNTER];
    if (counter->is_floating != is_floating)
        abort(); /* A tool would read the wrong type. */
    counter->value = value;
    counter->samples++;
    pthread_mutex_unlock(&recorder_mutex);
}

void recorder_hear_int_sample(nvtxDomainHandle_t handle, uint64_t id, int64_t value)
{
    (void)handle;
    sample(id, false, (double)value);
}

void recorder_hear_float_sample(nvtxDomainHandle_t handle, uint64_t id, double value)
{
    (void)handle;
    sample(id, true, value);
}

/* ---- questions ---- */

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
