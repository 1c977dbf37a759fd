/* The public calls about streams. */
#include "gp/stream.h"

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
