/* A user's program: one allocation on the simulated device, with the library it was built for. */
#include "gp/gp.h"
#include "gp/sim.h"

#include <stdio.h>
#include <string.h>

static gp_status allocate_once(gp_pool *pool, cudaStream_t stream)
{
    void *ptr = NULL;
    gp_status status = gp_alloc_from_pool_async(&ptr, 1 << 20, pool, stream);
    if (status != GP_OK)
        return status;
    return gp_free_async(ptr, stream);
}

static gp_status use_pool(cudaStream_t stream)
{
    gp_pool_config config;
    gp_pool_config_init(&config);
    config.backend = GP_BACKEND_SIM;

    gp_pool *pool = NULL;
    gp_status status = gp_pool_create(&pool, &config);
    if (status != GP_OK)
        return status;
    status = allocate_once(pool, stream);
    gp_status destroyed = gp_pool_destroy(pool);
    return status != GP_OK ? status : destroyed;
}

int main(void)
{
    if (strcmp(gp_version_string(), GP_VERSION_STRING) != 0) {
        printf("built for gp %s, but loaded gp %s\n", GP_VERSION_STRING, gp_version_string());
        return 1;
    }

    cudaStream_t stream = NULL;
    if (gp_sim_stream_create(&stream, true) != 0)
        return 1;
    gp_status status = use_pool(stream);
    if (gp_sim_stream_destroy(stream) != 0 || status != GP_OK) {
        printf("%s: %s\n", gp_status_string(status), gp_last_error());
        return 1;
    }
    return 0;
}
