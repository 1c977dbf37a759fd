/*
 * A tool for tests: what a process tells NVTX, in the order in which it came.
 *
 * Linked into a program it hears the NVTX calls of that program and of the static libraries in
 * it (NVTX_RECORDER_STATIC); as a shared library named by NVTX_INJECTION64_PATH, those of
 * everything. It is there from the first NVTX call of the process to its end. With
 * NVTX_RECORDER_ONLY_MEMORY in the environment it knows of memory and of nothing else, as a memory
 * checker may.
 */
#ifndef GP_TESTS_NVTX_RECORDER_H
#define GP_TESTS_NVTX_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDER_API __attribute__((visibility("default")))

#define RECORDED_TEXT_BYTES 64
#define RECORDED_PAYLOAD_BYTES 128

typedef enum recorded_as {
    RECORDED_PUSH,
    RECORDED_POP,
    RECORDED_MARK,
    RECORDED_START_END /* Of either: gp emits none. */
} recorded_as;

typedef struct recorded {
    recorded_as as;
    uint32_t thread; /* From 1. */
    int depth;       /* Of the thread in the domain, before a push and after a pop. */
    char domain[RECORDED_TEXT_BYTES];
    char text[RECORDED_TEXT_BYTES]; /* A pop has that of its push. */
    bool is_registered;             /* The text is a registered string. */
    uint32_t category;
    char category_name[RECORDED_TEXT_BYTES];
    uint32_t argb;
    bool has_value;
    uint64_t value;
    uint64_t schema; /* Of the payload; 0: none. */
    size_t payload_bytes;
    uint8_t payload[RECORDED_PAYLOAD_BYTES];
} recorded;

/* A counter and its last sample. */
typedef struct recorded_counter {
    char name[RECORDED_TEXT_BYTES];
    char unit[RECORDED_TEXT_BYTES];
    bool is_floating;
    size_t samples;
    double value;
} recorded_counter;

RECORDER_API size_t recorder_count(void);
RECORDER_API const recorded *recorder_at(size_t i);

/* Forget the events so far; domains, strings, schemas and counters stay. */
RECORDER_API void recorder_clear(void);

/* From here on calls take 0.1 ms longer, and pushes and pops return what they return on failure. */
RECORDER_API void recorder_set_hostile(bool hostile);

/* Events of domain gp with this text, which are no pops. */
RECORDER_API size_t recorder_count_text(const char *text);

/* The n-th of these; NULL if there are fewer. */
RECORDER_API const recorded *recorder_find(const char *text, size_t n);

/* Is every push popped? Also false if there was a pop too many. */
RECORDER_API bool recorder_is_balanced(void);

/* A field of the payload, found by the schema that the program registered; false without it. */
RECORDER_API bool recorder_field(const recorded *event, const char *field, uint64_t *value);
RECORDER_API bool recorder_text_field(const recorded *event, const char *field, char *text);

/* The name that an enum of the program gives to the value of a field; NULL if it gives none. */
RECORDER_API const char *recorder_enum_field(const recorded *event, const char *field);

/* The last that was registered with a name that ends so; NULL if none was. */
RECORDER_API const recorded_counter *recorder_counter(const char *end);

/* Memory that was registered and not unregistered since. */
RECORDER_API size_t recorder_heaps(void);
RECORDER_API size_t recorder_regions(void);
RECORDER_API bool recorder_has_heap(const void *base, size_t bytes);

/* The bytes of a region; 0 if there is none that begins here. */
RECORDER_API size_t recorder_region_bytes(const void *base);

/* Did regions overlap, lie in no heap, or go without having been there? */
RECORDER_API bool recorder_is_memory_misused(void);

/* The name of a stream's handle; NULL if it got none. */
RECORDER_API const char *recorder_stream_name(const void *stream);
RECORDER_API size_t recorder_stream_names(void);

#endif
