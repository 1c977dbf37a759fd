/* The public calls about streams. */
#include "gp/stream.h"

#include "error.h"
#include "process.h"
#include "stream_registry.h"

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
