/*
 * Streams: identity, order and time of the work that was submitted.
 *
 * A stream outlives its handle: it stays until its work has ended and no event
 * or waiting operation refers to it.
 */
#ifndef GP_SRC_SIM_STREAM_H
#define GP_SRC_SIM_STREAM_H

#include "sim_machine.h"
#include "sim_queue.h"

typedef struct gp_sim_stream {
    struct gp_sim_stream *next; /* of the machine's streams */
    struct gp_sim_stream *previous;
    uint64_t id;
    int device;
    bool is_blocking; /* takes part in the legacy stream's implicit order */
    bool is_listed;   /* counts among the live streams of the machine */
    bool is_retired;
    size_t references;
    gp_sim_slot *slot; /* NULL once retired, or if it never had a handle */
    gp_sim_queue queue;
    gp_sim_order *order; /* what is ordered before its next operation */

    struct gp_sim_capture *capture; /* NULL while eager */
    size_t lane;                    /* of this stream in the captured graph */
} gp_sim_stream;

/* What is remembered of a stream that is gone, until the host has waited for it. */
typedef struct gp_sim_departed {
    struct gp_sim_departed *next;
    uint64_t id;
    uint64_t position; /* its last one */
    int device;
} gp_sim_departed;

/* ---- life ---- */

bool gp_sim_stream_open_device(gp_sim_machine *machine, int device);

/* A stream without a handle, for a branch of a graph. NULL: out of host memory. */
gp_sim_stream *gp_sim_stream_make_hidden(gp_sim_machine *machine, int device);

/* Take the handle away; NULL is allowed. The stream goes when it can. */
void gp_sim_stream_retire(gp_sim_machine *machine, gp_sim_stream *stream);

/* NULL is allowed. */
void gp_sim_stream_retain(gp_sim_stream *stream);
void gp_sim_stream_release(gp_sim_stream *stream);

/* Free retired streams whose time has come. */
void gp_sim_streams_sweep(gp_sim_machine *machine);

/* The host has waited for a device: so for streams of it that are gone, too. */
void gp_sim_streams_observe_departed(gp_sim_machine *machine, int device);
void gp_sim_streams_clear(gp_sim_machine *machine);

/* ---- look-up ---- */

/* The stream that a handle means to the calling thread. 400 if it is none; a
 * destroyed one is counted. */
gp_sim_result gp_sim_stream_find(const gp_sim_call *call, cudaStream_t handle,
                                 gp_sim_stream **stream);

/* ---- order and time ---- */

/* Where the stream is now. Borrows the order: share it before keeping it. */
gp_sim_moment gp_sim_stream_moment(const gp_sim_stream *stream);

/* Before eager work: 906 if the legacy stream would depend on a capture, else
 * the implicit order between the legacy stream and blocking ones is added. */
gp_sim_result gp_sim_stream_prepare(gp_sim_machine *machine, gp_sim_stream *stream);

/* The same for a note to the checker, which fails for nobody. */
void gp_sim_stream_join_legacy_order(gp_sim_machine *machine, gp_sim_stream *stream);

/* Append an operation; the machine's time is filled in. */
gp_sim_result gp_sim_stream_submit(gp_sim_machine *machine, gp_sim_stream *stream,
                                   gp_sim_task task);

/* Order all later work after a moment of another stream. */
gp_sim_result gp_sim_stream_wait_for(gp_sim_machine *machine, gp_sim_stream *stream,
                                     gp_sim_stream *source, const gp_sim_moment *moment);

/* Whether an operation has ended by now. */
bool gp_sim_stream_is_complete(gp_sim_machine *machine, gp_sim_stream *stream, uint64_t position);

/* After a gate was opened: resolve all streams. */
void gp_sim_streams_resolve(gp_sim_machine *machine);

#endif
