#include "recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"

#define PAUSE_NS 500000

/* Of a thread that got no ring, before it tries again: that takes a while. */
#define CALLS_WITHOUT_RING 1000

_Thread_local gp_known_ring gp_known_rings[GP_KNOWN_RINGS];

/* ---- the threads' side ------------------------------------------------------------- */

static gp_record_ring *find_ring_locked(gp_recorder *recorder, uint32_t thread)
{
    gp_record_ring *ring = atomic_load(&recorder->rings);
    while (ring != NULL && atomic_load_explicit(&ring->thread, memory_order_relaxed) != thread)
        ring = ring->next;
    return ring;
}

static gp_record_ring *inherit_ring_locked(gp_recorder *recorder, uint32_t thread)
{
    gp_record_ring *ring = atomic_load(&recorder->rings);
    while (ring != NULL && !gp_record_ring_inherit(ring, thread))
        ring = ring->next;
    return ring;
}

static bool has_room(gp_recorder *recorder)
{
    (void)pthread_mutex_lock(&recorder->mutex);
    const bool has = recorder->ring_count < GP_RECORD_MOST_RINGS;
    (void)pthread_mutex_unlock(&recorder->mutex);
    return has;
}

static bool add_ring(gp_recorder *recorder, gp_record_ring *ring)
{
    (void)pthread_mutex_lock(&recorder->mutex);
    const bool fits = recorder->ring_count < GP_RECORD_MOST_RINGS;
    if (fits) {
        ring->index = (uint32_t)recorder->ring_count++;
        ring->next = atomic_load(&recorder->rings);
        atomic_store(&recorder->rings, ring);
    }
    (void)pthread_mutex_unlock(&recorder->mutex);
    return fits;
}

static gp_record_ring *make_ring(gp_recorder *recorder, uint32_t thread)
{
    gp_record_ring *ring = has_room(recorder) ? gp_record_ring_create(thread) : NULL;
    if (ring == NULL || add_ring(recorder, ring))
        return ring;
    gp_record_ring_destroy(ring);
    return NULL;
}

static gp_record_ring *get_ring(gp_recorder *recorder, uint32_t thread)
{
    (void)pthread_mutex_lock(&recorder->mutex);
    gp_record_ring *ring = find_ring_locked(recorder, thread);
    if (ring == NULL)
        ring = inherit_ring_locked(recorder, thread);
    (void)pthread_mutex_unlock(&recorder->mutex);
    return ring != NULL ? ring : make_ring(recorder, thread);
}

gp_record_ring *gp_recorder_resolve(gp_recorder *recorder, uint32_t thread)
{
    gp_known_ring *known = &gp_known_rings[recorder->serial % GP_KNOWN_RINGS];
    if (known->serial != recorder->serial || known->calls_left-- == 0)
        *known = (gp_known_ring){.serial = recorder->serial,
                                 .ring = get_ring(recorder, thread),
                                 .calls_left = CALLS_WITHOUT_RING};
    if (known->ring == NULL)
        (void)gp_counter_add_shared(&recorder->homeless, 1);
    else /* While it was not known, blocks may have come that the ring was not told of. */
        gp_record_ring_age(known->ring);
    return known->ring;
}

/* ---- the writer -------------------------------------------------------------------- */

static void *write_until_ending(void *argument)
{
    gp_recorder *recorder = argument;
    static const struct timespec rest = {.tv_nsec = PAUSE_NS};
    while (!atomic_load_explicit(&recorder->ending, memory_order_acquire)) {
        uint64_t before = recorder->recorded;
        gp_recorder_pass(recorder);
        /* Much came in during the pass itself: go on at once. */
        if (recorder->recorded - before >= GP_RECORD_RING_EVENTS / 4)
            continue;
        (void)gp_record_file_flush(&recorder->file);
        (void)nanosleep(&rest, NULL);
    }
    return NULL;
}

/* The user's signals are for the user's threads. */
static int start_writer(gp_recorder *recorder)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&recorder->writer, NULL, write_until_ending, recorder);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* ---- from begin to end ------------------------------------------------------------- */

static uint64_t next_serial(void)
{
    static _Atomic(uint64_t) last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

gp_status gp_recorder_create(gp_recorder **recorder, gp_pool *pool)
{
    gp_recorder *made = aligned_alloc(GP_CACHE_LINE, sizeof(*made));
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "out of host memory for a recording");
    memset(made, 0, sizeof(*made));
    gp_asymmetric_init();
    gp_record_clock_init();
    made->pool = pool;
    made->serial = next_serial();
    (void)pthread_mutex_init(&made->mutex, NULL);
    *recorder = made;
    return GP_OK;
}

gp_status gp_recorder_begin(gp_recorder *recorder, const char *path)
{
    recorder->start_stamp = gp_record_clock_now();
    if (!gp_record_file_open(&recorder->file, path))
        return gp_error_set(GP_ERR_IO, "%s: %s", path, strerror(errno));
    const int code = start_writer(recorder);
    if (code == 0)
        return GP_OK;
    gp_record_file_close(&recorder->file);
    return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no thread for a recording: %s", strerror(code));
}

void gp_recorder_finish(gp_recorder *recorder)
{
    atomic_store_explicit(&recorder->ending, true, memory_order_release);
    (void)pthread_join(recorder->writer, NULL);
    /* Twice: a thread that was caught in the middle of a note has had a pass's time to end it. */
    gp_recorder_pass(recorder);
    gp_recorder_pass(recorder);
    gp_record_file_close(&recorder->file);
}

gp_status gp_recorder_get_totals(const gp_recorder *recorder, gp_trace_totals *totals)
{
    if (totals != NULL)
        *totals = (gp_trace_totals){
            .struct_bytes = sizeof(*totals),
            .recorded_events = recorder->recorded,
            .dropped_events = recorder->dropped,
            .captured_events = gp_counter_get(&recorder->captured),
        };
    if (recorder->file.failure == 0)
        return GP_OK;
    return gp_error_set(GP_ERR_IO, "the recording could not be written: %s",
                        strerror(recorder->file.failure));
}

void gp_recorder_destroy(gp_recorder *recorder)
{
    gp_record_ring *ring = atomic_load(&recorder->rings);
    while (ring != NULL) {
        gp_record_ring *next = ring->next;
        gp_record_ring_destroy(ring);
        ring = next;
    }
    (void)pthread_mutex_destroy(&recorder->mutex);
    free(recorder);
}
