/*
 * The streams of a pool: from a handle to the one stream cache that belongs to
 * the stream it means now.
 *
 * A stream is its unique id. A handle is not: the driver issues the handle of a
 * destroyed stream again at once, and the per-thread handle means another stream
 * in each thread. Only while a stream is attached is its handle as good as its id.
 */
#ifndef GP_SRC_STREAM_REGISTRY_H
#define GP_SRC_STREAM_REGISTRY_H

#include "tree.h"

#include "gp/status.h"
#include "stream_cache.h"

RB_HEAD(gp_streams_by_id, gp_stream_cache);
RB_HEAD(gp_streams_by_handle, gp_stream_cache);
RB_HEAD(gp_streams_by_seen, gp_stream_cache);

/* All under the registry's lock. */
typedef struct gp_stream_registry {
    struct gp_streams_by_id by_id;
    struct gp_streams_by_handle by_handle; /* Attached ones. */
    struct gp_streams_by_seen by_seen;     /* By the handle that a stream was met with. */
    gp_stream_cache *retired;              /* Detached or gone; a new stream inherits one. */
    gp_stream_cache **retired_end; /* The last link, if there is any: the oldest goes first. */
    uint32_t count;                /* Streams in by_id. */
} gp_stream_registry;

typedef struct gp_stream_identity {
    gp_pool *pool;
    gp_stream_cache *cache; /* NULL while capturing. */
    bool attached;          /* No call needs to ask the driver. */
    bool capturing;
} gp_stream_identity;

/*
 * Who is this stream? `pool` NULL: the default pool of the stream's device. Makes
 * the stream's cache if it has none.
 *
 * GP_ERR_INVALID_POOL, GP_ERR_INVALID_STREAM, GP_ERR_WRONG_DEVICE, GP_ERR_CAPTURE
 * (the legacy stream during another's capture), GP_ERR_OUT_OF_HOST_MEMORY.
 */
gp_status gp_stream_registry_identify(gp_pool *pool, cudaStream_t stream,
                                      gp_stream_identity *identity);

/* gp_stream_attach() and its kin, on a pool that exists; NULL: a default pool. */
gp_status gp_stream_registry_attach(gp_pool *pool, cudaStream_t stream);
gp_status gp_stream_registry_detach(gp_pool *pool, cudaStream_t stream);
gp_status gp_stream_registry_set_capturing(gp_pool *pool, cudaStream_t stream, bool capturing);

#endif
