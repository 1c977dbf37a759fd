/* A trace sink that remembers all it hears, in order. */
#ifndef GP_TESTS_SINK_FIXTURE_H
#define GP_TESTS_SINK_FIXTURE_H

#include "pool_fixture.h"

/* Which function of the sink was called. */
typedef enum heard_as {
    HEARD_BEGIN,
    HEARD_END,
    HEARD_MARK,
    HEARD_ALLOC,
    HEARD_FREE,
    HEARD_USE,
    HEARD_NAME
} heard_as;

typedef struct heard {
    heard_as as;
    gp_trace_event event; /* Of the first three. */
    gp_trace_block block; /* Of the next three. */
    gp_trace_stream stream;
    char name[GP_STREAM_NAME_BYTES];
} heard;

/* The state of one attachment: the `user` of gp_trace_attach(). */
typedef struct hearer {
    heard *log;
    size_t count;
    size_t room;
    gp_trace_pool pool;
    gp_trace_sample sample; /* The last. */
    size_t samples;
    size_t opened;
    size_t closed;
} hearer;

/* A sink with every slot. */
extern const gp_trace_sink hearing_sink;

/* The hearer of a test, of the fixture's pool from ear_attach() on. */
extern hearer ear;

/* Suite's .init and .fini: as those of the pool. */
void ear_open(void);
void ear_close(void);

void ear_attach(gp_trace_level level);

void hearer_free(hearer *hearer);

/* Forget what was heard. */
void hearer_clear(hearer *hearer);

size_t hearer_count(const hearer *hearer, heard_as as);
size_t hearer_count_kind(const hearer *hearer, heard_as as, gp_trace_kind kind);

/* The first of a kind, or of blocks the n-th; fails the test if there is none. */
const gp_trace_event *hearer_event(const hearer *hearer, heard_as as, gp_trace_kind kind);
const gp_trace_block *hearer_block(const hearer *hearer, heard_as as, size_t n);

/* The n-th name that was heard. */
const heard *hearer_name(const hearer *hearer, size_t n);

/* Every begin has its end, and the ranges of each thread nest. */
void hearer_expect_balance(const hearer *hearer);

#endif
