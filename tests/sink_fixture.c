#include "sink_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 64
#define MOST_OPEN 32

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- the sink ---- */

static gp_status hear_open(void **state, const gp_trace_pool *from, void *user)
{
    hearer *self = user;
    self->pool = *from;
    self->opened++;
    *state = self;
    return GP_OK;
}

static void hear_close(void *state)
{
    ((hearer *)state)->closed++;
}

static void append(hearer *self, const heard *entry)
{
    pthread_mutex_lock(&mutex);
    if (self->count == self->room) {
        self->room = self->room == 0 ? 256 : 2 * self->room;
        self->log = realloc(self->log, self->room * sizeof(*self->log));
    }
    self->log[self->count++] = *entry;
    pthread_mutex_unlock(&mutex);
}

static void hear_begin(void *state, const gp_trace_event *range)
{
    append(state, &(heard){.as = HEARD_BEGIN, .event = *range});
}

static void hear_end(void *state, const gp_trace_event *range)
{
    append(state, &(heard){.as = HEARD_END, .event = *range});
}

static void hear_mark(void *state, const gp_trace_event *mark)
{
    append(state, &(heard){.as = HEARD_MARK, .event = *mark});
}

static void hear_alloc(void *state, const gp_trace_block *block)
{
    append(state, &(heard){.as = HEARD_ALLOC, .block = *block});
}

static void hear_free(void *state, const gp_trace_block *block)
{
    append(state, &(heard){.as = HEARD_FREE, .block = *block});
}

static void hear_use(void *state, const gp_trace_block *block)
{
    append(state, &(heard){.as = HEARD_USE, .block = *block});
}

static void hear_name(void *state, const gp_trace_stream *stream)
{
    heard entry = {.as = HEARD_NAME, .stream = *stream};
    (void)strncpy(entry.name, stream->name, sizeof(entry.name) - 1);
    append(state, &entry);
}

static void hear_sample(void *state, const gp_trace_sample *sample)
{
    hearer *self = state;
    pthread_mutex_lock(&mutex);
    self->sample = *sample;
    self->samples++;
    pthread_mutex_unlock(&mutex);
}

const gp_trace_sink hearing_sink = {
    .struct_bytes = sizeof(hearing_sink),
    .name = "hearing",
    .open = hear_open,
    .close = hear_close,
    .begin = hear_begin,
    .end = hear_end,
    .mark = hear_mark,
    .alloc = hear_alloc,
    .free = hear_free,
    .use = hear_use,
    .sample = hear_sample,
    .name_stream = hear_name,
};

/* ---- what was heard ---- */

void hearer_free(hearer *self)
{
    free(self->log);
    *self = (hearer){0};
}

void hearer_clear(hearer *self)
{
    self->count = 0;
}

size_t hearer_count(const hearer *self, heard_as as)
{
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++)
        count += self->log[i].as == as;
    return count;
}

size_t hearer_count_kind(const hearer *self, heard_as as, gp_trace_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++)
        count += self->log[i].as == as && self->log[i].event.kind == kind;
    return count;
}

const gp_trace_event *hearer_event(const hearer *self, heard_as as, gp_trace_kind kind)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->log[i].as == as && self->log[i].event.kind == kind)
            return &self->log[i].event;
    }
    cr_fatal("nothing of kind %d was heard", (int)kind);
    return NULL;
}

static const heard *nth(const hearer *self, heard_as as, size_t n)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->log[i].as == as && n-- == 0)
            return &self->log[i];
    }
    cr_fatal("less was heard");
    return NULL;
}

const gp_trace_block *hearer_block(const hearer *self, heard_as as, size_t n)
{
    return &nth(self, as, n)->block;
}

const heard *hearer_name(const hearer *self, size_t n)
{
    return nth(self, HEARD_NAME, n);
}

void hearer_expect_balance(const hearer *self)
{
    static gp_trace_kind open[MOST_THREADS][MOST_OPEN];
    size_t depth[MOST_THREADS] = {0};
    for (size_t i = 0; i < self->count; i++) {
        const gp_trace_event *event = &self->log[i].event;
        if (self->log[i].as > HEARD_END)
            continue;
        cr_assert(lt(u32, event->thread, MOST_THREADS));
        size_t *here = &depth[event->thread];
        if (self->log[i].as == HEARD_BEGIN) {
            cr_assert(lt(sz, *here, MOST_OPEN));
            open[event->thread][(*here)++] = event->kind;
        } else {
            cr_assert(lt(sz, 0, *here));
            cr_assert(eq(int, (int)open[event->thread][--*here], (int)event->kind));
        }
    }
    for (size_t i = 0; i < MOST_THREADS; i++)
        cr_assert(eq(sz, depth[i], 0));
}

/* ---- set up ---- */

hearer ear;

/* A tool that the tests themselves run under has no part in this. */
void ear_open(void)
{
    setenv("GP_TRACE_LEVEL", "0", 1);
    pool_open();
}

void ear_close(void)
{
    pool_close();
    hearer_free(&ear);
}

void ear_attach(gp_trace_level level)
{
    GP(gp_trace_attach(pool, &hearing_sink, &ear, level));
}
