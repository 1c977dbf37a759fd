/* The public calls about streams. */
#include "gp/stream.h"

#include "error.h"
#include "pool.h"
#include "process.h"
#include "stream_registry.h"
#include "thread.h"

gp_status gp_stream_attach(gp_pool *pool, cudaStream_t stream)
{
    gp_status status = gp_process_check();
    return status != GP_OK ? status : gp_stream_registry_attach(pool, stream);
}

gp_status gp_stream_detach(gp_pool *pool, cudaStream_t stream)
{
    gp_status status = gp_process_check();
    return status != GP_OK ? status : gp_stream_registry_detach(pool, stream);
}

gp_status gp_stream_set_budget(gp_pool *pool, cudaStream_t stream, size_t bytes)
{
    gp_stream_identity identity;
    gp_status status = gp_process_check();
    if (status == GP_OK)
        status = gp_stream_registry_identify(pool, stream, &identity);
    if (status != GP_OK)
        return status;
    if (identity.capturing)
        return gp_error_set(GP_ERR_CAPTURE, "the stream captures now");
    gp_counter_set(&identity.cache->budget_bytes, bytes);
    return GP_OK;
}

gp_status gp_capture_begin(gp_pool *pool, cudaStream_t stream)
{
    gp_status status = gp_process_check();
    return status != GP_OK ? status : gp_stream_registry_set_capturing(pool, stream, true);
}

gp_status gp_capture_end(gp_pool *pool, cudaStream_t stream)
{
    gp_status status = gp_process_check();
    return status != GP_OK ? status : gp_stream_registry_set_capturing(pool, stream, false);
}

static gp_status keep_name(gp_pool *pool, const char *name, const char **kept)
{
    *kept = NULL;
    return name == NULL ? GP_OK : gp_stream_names_keep(&pool->names, name, kept);
}

gp_status gp_stream_set_name(gp_pool *pool, cudaStream_t stream, const char *name)
{
    gp_target target;
    gp_status status = gp_thread_target(pool, stream, &target);
    if (status != GP_OK)
        return status;
    if (target.cache == NULL)
        return gp_error_set(GP_ERR_CAPTURE, "a stream that captures cannot be named");

    const char *kept;
    gp_stream_cache *cache = target.cache->stream;
    status = keep_name(target.pool, name, &kept);
    if (status != GP_OK)
        return status;
    atomic_store_explicit(&cache->name, kept, memory_order_release);
    if (kept != NULL)
        gp_trace_name(&target.pool->trace, stream, cache->stream_id, kept);
    return GP_OK;
}
