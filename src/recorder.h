/*
 * A recorder: the rings of one recording's threads, and the thread that writes what is in them
 * to the file. Any thread asks for its ring; everything else is for whoever starts and ends the
 * recording.
 *
 * The writer makes passes (recorder_pass.c), one after the other while there is much, else every
 * half millisecond. Nothing wakes it, so that no call ever pays for that.
 */
#ifndef GP_SRC_RECORDER_H
#define GP_SRC_RECORDER_H

#include <pthread.h>

#include "gp/record.h"

#include "record_file.h"
#include "record_merge.h"
#include "record_owners.h"

typedef struct gp_recorder {
    gp_pool *pool;
    struct gp_recorder *next; /* These two under the mutex of recordings.c. */
    bool attached;

    uint64_t serial; /* Of all recorders of the process: never used again. */
    uint64_t start_stamp;
    gp_counter pass_stamp; /* When the writer last looked: no event is stamped before. */
    gp_counter captured;   /* Calls that were made inside a capture. */
    gp_counter homeless;   /* Calls that were dropped since their thread got no ring. */

    /* For who adds a ring. Taken inside of a trace sink, where no lock of gp's may be. */
    pthread_mutex_t mutex;
    size_t ring_count;
    _Atomic(gp_record_ring *) rings; /* Newest first; none leaves. */

    gp_record_owners owners;

    /* The writer's, apart from what every call reads. */
    _Alignas(GP_CACHE_LINE) pthread_t writer;
    _Atomic(bool) ending;
    uint64_t homeless_told, dropped, recorded;
    gp_record_merge merge;
    gp_record_file file;
} gp_recorder;

/* A recorder for a pool, which hears nothing yet. */
gp_status gp_recorder_create(gp_recorder **recorder, gp_pool *pool);

/* Open the file and start the writer. */
gp_status gp_recorder_begin(gp_recorder *recorder, const char *path);

/* End the writer and complete the file, of one that began. A thread that notes something meanwhile
 * comes to no harm, but may find it neither in the file nor in the totals. */
void gp_recorder_finish(gp_recorder *recorder);

/* Of one that is finished. GP_ERR_IO, text set, if the file is not complete. */
gp_status gp_recorder_get_totals(const gp_recorder *recorder, gp_trace_totals *totals);

/* Of one that never began or is finished, and that no thread knows any more. */
void gp_recorder_destroy(gp_recorder *recorder);

/* ---- noting a call ----------------------------------------------------------------- */

/* The rings this thread used last, one for each of a few recorders: known by their serials, so
 * that one of an ended recorder is never touched. The model spares a call into the loader;
 * a few words fit its reserve even when the library is loaded late. */
typedef struct gp_known_ring {
    uint64_t serial;
    gp_record_ring *ring; /* NULL: there was none for this thread. */
    uint32_t calls_left;  /* Then, before it is looked for again. */
} gp_known_ring;

#define GP_KNOWN_RINGS 4u

extern _Thread_local gp_known_ring gp_known_rings[GP_KNOWN_RINGS]
    __attribute__((tls_model("initial-exec")));

/* Out of line: the thread's first call, its first after some of other recorders, or any of one that
 * has no ring. NULL, and the call counted as dropped, if it still has none. */
gp_record_ring *gp_recorder_resolve(gp_recorder *recorder, uint32_t thread);

/* The ring of the calling thread, whose number is `thread`. */
static inline gp_record_ring *gp_recorder_ring(gp_recorder *recorder, uint32_t thread)
{
    const gp_known_ring *known = &gp_known_rings[recorder->serial % GP_KNOWN_RINGS];
    if (GP_LIKELY(known->serial == recorder->serial && known->ring != NULL))
        return known->ring;
    return gp_recorder_resolve(recorder, thread);
}

/* The next event of the calling thread is stamped anew, as one that resolves its ring is. */
static inline void gp_recorder_age(gp_recorder *recorder)
{
    const gp_known_ring *known = &gp_known_rings[recorder->serial % GP_KNOWN_RINGS];
    if (GP_LIKELY(known->serial == recorder->serial && known->ring != NULL))
        gp_record_ring_age(known->ring);
}

/* ---- the writer -------------------------------------------------------------------- */

/* One pass of the writer: what can be told in order goes to the file. */
void gp_recorder_pass(gp_recorder *recorder);

#endif
